package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

var tiny = struct {
	scale
	effort
}{scale{10, 100, 1_000, 1_500}, effort{rounds: 2, turns: 1, turn: 20 * time.Microsecond}}

// Every job of the report runs, and what it measures can be rendered.
func TestEveryJobRuns(t *testing.T) {
	var all []samples
	each, once := tiny.jobs()
	for _, j := range append(each, once...) {
		p, _ := peerOf(j.Peer)
		if p.module == coherence {
			all = append(all, j.skipped(tiny.scale, "skipped: no Python")...)
			continue
		}
		got, err := j.run(tiny.scale, tiny.effort)
		if err != nil {
			t.Fatalf("%s: %v", j, err)
		}
		if len(got) == 0 {
			t.Errorf("%s: measured nothing", j)
		}
		for _, s := range got {
			if s.Left == "" && len(s.Values) == 0 {
				t.Errorf("%s: %+v is without a value", j, s.cell)
			}
			for _, v := range s.Values {
				if v <= 0 && s.Work != memory {
					t.Errorf("%s: %v in %+v", j, v, s.cell)
				}
			}
		}
		all = append(all, got...)
	}
	r := &report{Results: pool(all), Versions: versions()}
	dir := t.TempDir()
	if err := r.save(filepath.Join(dir, resultsFile)); err != nil {
		t.Fatal(err)
	}
	if err := r.render(dir); err != nil {
		t.Fatal(err)
	}
	table := contents(t, dir, "RESULTS.md")
	for _, p := range peerNames() {
		if strings.Count(table, "\n| "+p+" |") < 6 {
			t.Errorf("there are not six rows of %s in\n%s", p, table)
		}
	}
	if !strings.Contains(table, "Skipped: no Python.") {
		t.Error("the table does not say what was skipped")
	}
	read, err := load(filepath.Join(dir, resultsFile))
	if err != nil {
		t.Fatal(err)
	}
	again := t.TempDir()
	if err := read.render(again); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"RESULTS.md", "commit.svg", "growth.svg"} {
		if contents(t, dir, name) != contents(t, again, name) {
			t.Errorf("%s differs where it is rendered from the results file", name)
		}
	}
}

// Only what asks for too much memory is said to: any other death is a fault.
func TestKilled(t *testing.T) {
	for script, want := range map[string]bool{"kill -KILL $$": true, "kill -TERM $$": false, "exit 1": false} {
		_, err := harness.Output(exec.Command("sh", "-c", script))
		if err == nil {
			t.Fatalf("%q ends well", script)
		}
		if killed(err) != want {
			t.Errorf("%q counts as killed: %v, want %v", script, !want, want)
		}
	}
}

func contents(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What is shown is what was measured: nobody has edited it, and rendering has not
// changed since.
func TestPublishedIsRendered(t *testing.T) {
	r, err := load(filepath.Join("..", resultsFile))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := r.render(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"RESULTS.md", "commit.svg", "growth.svg"} {
		if contents(t, dir, name) != contents(t, "..", name) {
			t.Errorf("%s is not what the results file renders to: go run ./peers -render", name)
		}
	}
}

// No record is in two lanes, or goroutines would share a grant.
func TestLanesAreDisjoint(t *testing.T) {
	for _, n := range []int{10, 1_001} {
		owner := make(map[int32]int)
		for p, lane := range lanesOf(setting{N: n, Procs: 2}) {
			for _, i := range lane.window(500) {
				if of, ok := owner[i]; ok && of != p {
					t.Fatalf("record %d of %d is in two lanes", i, n)
				}
				owner[i] = p
			}
		}
		if n == 10 && len(owner) != n {
			t.Fatalf("%d of %d records are visited", len(owner), n)
		}
	}
}

func TestHotIsOneRecord(t *testing.T) {
	lanes := lanesOf(setting{N: 10, Hot: true, Procs: 2})
	for _, lane := range lanes {
		for _, i := range lane.window(500) {
			if i != lanes[0][0][0] {
				t.Fatalf("records %d and %d are visited", i, lanes[0][0][0])
			}
		}
	}
}
