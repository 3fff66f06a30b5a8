package main

import (
	"bytes"
	"strings"
	"testing"
)

// The floor is a versioned compare-and-swap, or every ratio to it is wrong.
func TestFloorSwaps(t *testing.T) {
	f := newFloor()
	in := []byte("one")
	for _, step := range []struct {
		version uint64 // presented
		value   string
		at      uint64 // then
		ok      bool
	}{
		{1, "of nothing", 0, false},
		{0, "one", 1, true},
		{0, "again", 1, false},
		{1, "two, which is longer", 2, true},
		{1, "stale", 2, false},
		{2, "3", 3, true},
	} {
		in = append(in[:0], step.value...)
		at, ok := f.swap("k", step.version, in)
		if at != step.at || ok != step.ok {
			t.Fatalf("swap of %q from %d: at %d, %v; want at %d, %v", step.value, step.version, at, ok, step.at, step.ok)
		}
		clear(in) // the floor keeps a copy
		got, version := f.read("k")
		if version != step.at || ok && string(got) != step.value {
			t.Fatalf("after %q: read %q at %d", step.value, got, version)
		}
		clear(got) // and hands out another
	}
	if got, version := f.read("k"); string(got) != "3" || version != 3 {
		t.Fatalf("read %q at %d, want the last value written", got, version)
	}
	if got, version := f.read("another"); got != nil || version != 0 {
		t.Fatalf("read %q at %d of a key never written", got, version)
	}
}

// The floor's writes reuse the space of the value, as those of the store do.
func TestFloorWritesInPlace(t *testing.T) {
	f, records := floorOf(1)
	if n := testing.AllocsPerRun(100, func() { f.write(&records[0], value) }); n != 0 {
		t.Fatalf("%v allocations a write, want none", n)
	}
}

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

func TestQuartiles(t *testing.T) {
	q1, median, q3 := quartiles([]float64{5, 1, 4, 2, 3})
	if q1 != 2 || median != 3 || q3 != 4 {
		t.Fatalf("quartiles %v, %v, %v, want 2, 3, 4", q1, median, q3)
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
