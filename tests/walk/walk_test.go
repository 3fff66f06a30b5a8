package walk_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/tests/effort"
	"github.com/fencedgo/fenced/tests/trace"
	"github.com/fencedgo/fenced/tests/walk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // the stores of past histories are all garbage at once
	goleak.VerifyTestMain(m)
}

// batch is how many histories share a store.
const batch = 50_000

// TestEveryHistory takes every step in every order, to a depth, and joins no two
// histories however alike.
func TestEveryHistory(t *testing.T) {
	depth := effort.Deeper(6)
	seen := map[walk.Sight]int{}
	histories := 0
	synctest.Test(t, func(t *testing.T) {
		var choices []int // the step taken at each depth
		var s *walk.Store
		for from := 0; from >= 0; histories++ {
			if histories%batch == 0 {
				done(t, s)
				s = walk.NewStore(fenced.Options{})
				s.Seen = seen
			}
			w := s.Begin()
			next := -1 // the deepest step that has an alternative left
			for i := range depth {
				steps := w.Steps()
				if i == len(choices) {
					choices = append(choices, 0)
				}
				if choices[i]+1 < len(steps) {
					next = i
				}
				if err := w.Take(steps[choices[i]], i >= from); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.End(); err != nil {
				t.Fatal(err)
			}
			if from = next; from >= 0 {
				choices[from]++
				choices = choices[:from+1]
			}
		}
		done(t, s)
	})
	t.Logf("%d histories of %d steps", histories, depth)
	for _, sight := range walk.Sights {
		t.Logf("%8d x %s", seen[sight], sight)
		require.NotZero(t, seen[sight], sight)
	}
}

// TestEveryState goes deeper, from each state of the model but once: every step
// out of every state that the model tells apart. What it would miss, and
// TestEveryHistory would not, is a store whose answer depends on something that
// neither its answers so far nor the record as read had shown.
func TestEveryState(t *testing.T) {
	depth := effort.Deeper(9)
	states, steps := 0, 0
	synctest.Test(t, func(t *testing.T) {
		var s *walk.Store
		seen := map[string]bool{walk.NewStore(fenced.Options{}).Begin().State(): true}
		level := [][]int{nil} // a way to each state
		for range depth {
			var deeper [][]int
			for _, way := range level {
				states++
				for choice, width := 0, 1; choice < width; choice++ {
					if steps%batch == 0 {
						done(t, s)
						s = walk.NewStore(fenced.Options{})
					}
					steps++
					w := s.Begin()
					for _, c := range way {
						if err := w.Take(w.Steps()[c], false); err != nil {
							t.Fatal(err)
						}
					}
					now := w.Steps()
					width = len(now)
					if err := w.Take(now[choice], true); err != nil {
						t.Fatal(err)
					}
					if state := w.State(); !seen[state] {
						seen[state] = true
						deeper = append(deeper, append(slices.Clone(way), choice))
					}
					if err := w.End(); err != nil {
						t.Fatal(err)
					}
				}
			}
			level = deeper
		}
		done(t, s)
	})
	t.Logf("%d steps out of %d states, to depth %d", steps, states, depth)
}

func done(t *testing.T, s *walk.Store) {
	t.Helper()
	if s != nil {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTraces checks the events of random histories against those that the model
// predicts, and writes each history as a trace to the directory FENCED_TRACES,
// if that is set, for other checkers of the same events.
func TestTraces(t *testing.T) {
	random := rand.New(rand.NewPCG(effort.Seed(t), 0))
	dir := os.Getenv("FENCED_TRACES")
	for i := range effort.Of(500) {
		synctest.Test(t, func(t *testing.T) {
			lines, err := walk.Trace(20, random.IntN)
			require.NoError(t, err)
			var file bytes.Buffer
			require.NoError(t, trace.Write(&file, lines))
			if dir != "" {
				name := filepath.Join(dir, fmt.Sprintf("walk-%04d.jsonl", i))
				require.NoError(t, os.WriteFile(name, file.Bytes(), 0o644))
			}
			again, err := trace.Read(&file)
			require.NoError(t, err)
			require.Equal(t, lines, again)
		})
	}
}
