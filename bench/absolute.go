package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/bench/internal/harness"
)

// What is no ratio: a sweep in µs, a record in bytes.

// sweep measures ReclaimExpired over live leases that have not lapsed and the
// given number that have, in µs of the whole sweep.
func sweep(live, lapsed int) func(effort) result {
	return func(e effort) result {
		s, _ := leased(live, live)
		dead := make([]string, lapsed)
		for i := range dead {
			dead[i] = fmt.Sprintf("dead/%011d", i)
			harness.Must(s.CompareAndSwap(ctx, dead[i], 0, value))
		}
		once := func() time.Duration {
			for _, k := range dead {
				harness.Must(s.TryAcquire(ctx, k, "worker-1", 1))
			}
			start := time.Now()
			ended := harness.Must(s.ReclaimExpired(ctx, 0))
			took := time.Since(start)
			if len(ended) != lapsed {
				panic(fmt.Sprintf("%d grants reclaimed, want %d", len(ended), lapsed))
			}
			return took
		}
		f := floorSwap.on(min(live, 100_000), e.batch)
		once()
		r := result{Allocs: -1}
		for range e.rounds {
			runtime.GC()
			var took, units []float64
			for range e.turns {
				once() // warm up, after the floor's turn
				took = append(took, float64(once().Nanoseconds()))
				units = append(units, f.turn(e.batch))
			}
			_, ns, _ := harness.Quartiles(took)
			_, unit, _ := harness.Quartiles(units)
			r.Values = append(r.Values, ns/1e3)
			r.Ns = append(r.Ns, ns)
			r.Floor = append(r.Floor, ns/unit)
		}
		return r
	}
}

// The lives of a record that its memory is measured after.
func idle(s *fenced.Store, k string) { harness.Must(s.CompareAndSwap(ctx, k, 0, value)) }

func live(s *fenced.Store, k string) {
	g := harness.Must(s.TryAcquire(ctx, k, "worker-1", lease/2+rand.N(lease)))
	harness.Must(s.Commit(ctx, g, value))
}

func freed(s *fenced.Store, k string) {
	r := harness.Must(s.Read(ctx, k))
	harness.Must(s.Reclaim(ctx, k, r.Generation))
}

// memory measures what n records take beyond key and value, in bytes a record.
// All of them go through one of the lives before any goes through the next.
func memory(n int, lives ...func(*fenced.Store, string)) func(effort) result {
	return func(effort) result {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = harness.Key(i)
		}
		before := heap()
		s := fenced.NewStore(fenced.Options{})
		for _, life := range lives {
			for _, k := range keys {
				life(s, k)
			}
		}
		after := heap()
		runtime.KeepAlive(s)
		runtime.KeepAlive(keys)
		own := float64(len(keys[0]) + len(value))
		return result{Values: []float64{float64(after-before)/float64(n) - own}, Allocs: -1}
	}
}

// heap returns the bytes of the heap that are in use after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
