package trace_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/tests/effort"
	"github.com/fencedgo/fenced/tests/trace"
	"github.com/fencedgo/fenced/tests/walk"
)

// record writes the traces of stores to a file of the directory FENCED_TRACES,
// if that is set, a blank line between one store and the next. The
// specification is then checked against them: see tla/README.md.
func record(t *testing.T, name string, stores ...[]trace.Line) {
	t.Helper()
	for _, lines := range stores {
		require.NotEmpty(t, lines, "a trace without events shows nothing")
	}
	dir := os.Getenv("FENCED_TRACES")
	if dir == "" {
		return
	}
	file, err := os.Create(filepath.Join(dir, name+".jsonl"))
	require.NoError(t, err)
	for i, lines := range stores {
		if i > 0 {
			_, err := fmt.Fprintln(file)
			require.NoError(t, err)
		}
		require.NoError(t, trace.Write(file, lines))
	}
	require.NoError(t, file.Close())
}

// TestRecordWalk records every history of the walk's world to a depth.
func TestRecordWalk(t *testing.T) {
	depth := 4
	if effort.Long() {
		depth = 5
	}
	var stores [][]trace.Line
	synctest.Test(t, func(t *testing.T) {
		for way := make([]int, depth); way != nil; {
			var of []int // how many choices there were at each step
			lines, err := walk.Trace(depth, func(n int) int {
				of = append(of, n)
				return way[len(of)-1]
			})
			require.NoError(t, err)
			if len(lines) > 0 {
				stores = append(stores, lines)
			}
			way = next(way, of)
		}
	})
	t.Logf("%d histories of %d steps", len(stores), depth)
	record(t, "every-history", stores...)
}

// next counts way up by one, each digit below that of of; nil after the last.
func next(way, of []int) []int {
	for i := len(way) - 1; i >= 0; i-- {
		if way[i]++; way[i] < of[i] {
			return way
		}
		way[i] = 0
	}
	return nil
}

// TestRecordConcurrent records goroutines that claim, write, delete, swap, renew,
// release and reclaim a few records at once, under grants new and old and leases
// that lapse.
func TestRecordConcurrent(t *testing.T) {
	seed := effort.Seed(t)
	var recorder trace.Recorder
	s := fenced.NewStore(fenced.Options{OnEvent: recorder.OnEvent})
	var workers sync.WaitGroup
	for id := range 8 {
		workers.Go(func() {
			w := worker{s, rand.New(rand.NewPCG(seed, uint64(id))), fmt.Sprintf("w%d", id%5), nil}
			for range effort.Of(400) {
				w.call(fmt.Sprintf("r%d", w.random.IntN(4)))
			}
		})
	}
	workers.Wait()
	require.NoError(t, s.Close())
	record(t, "concurrent", recorder.Lines())
}

type worker struct {
	s      *fenced.Store
	random *rand.Rand
	name   string
	grants []fenced.Grant // it ever had
}

// call makes one call at random. Whether it is granted is for the trace to say.
func (w *worker) call(key string) {
	ctx := context.Background()
	if len(w.grants) == 0 || w.random.IntN(4) == 0 {
		lease := time.Duration(1 + w.random.IntN(int(50*time.Microsecond)))
		if g, err := w.s.TryAcquire(ctx, key, w.name, lease); err == nil {
			w.grants = append(w.grants, g)
		}
		return
	}
	g := &w.grants[len(w.grants)-1-w.random.IntN(min(3, len(w.grants)))]
	r, _ := w.s.Read(ctx, key)
	switch w.random.IntN(9) {
	case 0, 1, 2:
		if n, err := w.s.Commit(ctx, *g, []byte(w.name)); err == nil {
			*g = n
		}
	case 3:
		if n, err := w.s.Delete(ctx, *g); err == nil {
			*g = n
		}
	case 4:
		_, _ = w.s.Renew(ctx, *g, time.Minute)
	case 5:
		_ = w.s.Release(ctx, *g)
	case 6:
		_, _ = w.s.Reclaim(ctx, key, r.Generation)
	case 7:
		_, _ = w.s.CompareAndSwap(ctx, key, r.Version, []byte(w.name))
	case 8:
		_, _ = w.s.CompareAndDelete(ctx, key, r.Version)
	}
}

// TestRecordCollected records many records that come and go, and some that come
// back above the floor of their stripe.
func TestRecordCollected(t *testing.T) {
	const records = 256 * 24
	ctx := context.Background()
	var recorder trace.Recorder
	s := fenced.NewStore(fenced.Options{OnEvent: recorder.OnEvent})
	above := 0
	for i := range records * 5 / 4 {
		g, err := s.TryAcquire(ctx, fmt.Sprintf("r%d", i%records), "A", time.Minute)
		require.NoError(t, err)
		if g.Generation > 1 {
			above++
		}
		g, err = s.Commit(ctx, g, []byte("a"))
		require.NoError(t, err)
		g, err = s.Delete(ctx, g)
		require.NoError(t, err)
		require.NoError(t, s.Release(ctx, g))
	}
	require.NotZero(t, above, "nothing was collected")
	require.NoError(t, s.Close())
	record(t, "collected", recorder.Lines())
}
