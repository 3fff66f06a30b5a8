package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestEveryRowRuns(t *testing.T) {
	var lines []row
	var results []result
	for _, r := range rows(sizes{tiny: 10, small: 50, mid: 100, large: 500}) {
		if r.measure == nil {
			continue // is measured by the tests of the store
		}
		t.Run(r.name, func(t *testing.T) {
			got := r.measure(effort{rounds: 2, turns: 2, batch: 50})
			if len(got.Values) == 0 {
				t.Fatal("measured nothing")
			}
			for _, v := range got.Values {
				if v <= 0 && r.unit != "B" {
					t.Errorf("measured %v", got.Values)
				}
			}
			lines, results = append(lines, r), append(results, got)
		})
	}
	var b bytes.Buffer
	printTable(&b, lines, results)
	for _, r := range lines {
		if !strings.Contains(b.String(), r.what) {
			t.Errorf("the table has no line for %q:\n%s", r.what, b.String())
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name    string
		bar     float64
		allocs  float64
		got     result
		verdict string
	}{
		{"below the bar", 1, -1, result{Values: []float64{0.9}}, "yes"},
		{"above the bar", 1, -1, result{Values: []float64{1.1}}, "MISSED"},
		{"an allocation too many", 1, 0, result{Values: []float64{0.9}, Allocs: 1}, "MISSED"},
		{"no bar", 0, -1, result{Values: []float64{9}}, "-"},
	} {
		line := row{bar: c.bar, allocs: c.allocs}.line(c.got)
		if got := line[len(line)-1]; got != c.verdict {
			t.Errorf("%s: %q, want %q", c.name, got, c.verdict)
		}
	}
}

// No record is visited twice in a window, or goroutines would share a grant.
func TestWindow(t *testing.T) {
	s := contender{"nothing", func(int) run { return func([]int32) {} }}.on(1_000, 100)
	for range 100 {
		visited := make(map[int32]bool)
		for _, i := range s.window(100) {
			visited[i] = true
		}
		if len(visited) != 100 {
			t.Fatalf("%d records in a window of 100", len(visited))
		}
	}
}
