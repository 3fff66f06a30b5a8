package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/bench/internal/harness"
)

// lapses are the numbers of lapsed leases that a sweep is measured with, as shares
// of the live ones beside them.
var lapses = []float64{0, 0.001, 0.1}

// sweeps measures ReclaimExpired over as many live leases as the job has
// records, and some that have lapsed, in µs of the whole sweep. N of a cell is
// how many have.
func (j job) sweeps(s scale, e effort) []samples {
	store := &fencedStore{fenced.NewStore(fenced.Options{})}
	store.load(s.large, j.Size)
	for i := range s.large {
		harness.Must(store.s.TryAcquire(ctx, harness.Key(i), "worker-1", lease/2+rand.N(lease)))
	}
	dead := make([]string, int(slices.Max(lapses)*float64(s.large)))
	for i := range dead {
		dead[i] = fmt.Sprintf("lapsed/%09d", i)
		create(store, dead[i], make([]byte, j.Size))
	}
	var results []samples
	for _, share := range lapses {
		lapsed := dead[:int(share*float64(s.large))]
		got := samples{cell: cell{sweep, j.Peer, setting{N: len(lapsed), Size: j.Size, Procs: runtime.GOMAXPROCS(0)}}}
		sweepOnce(store.s, lapsed) // the first time is slow
		for range e.rounds {
			runtime.GC()
			sweepOnce(store.s, lapsed) // warm up
			got.Values = append(got.Values, float64(sweepOnce(store.s, lapsed).Nanoseconds())/1e3)
		}
		results = append(results, got)
	}
	return results
}

// sweepOnce has leases of these records lapse and returns how long it takes to
// reclaim them.
func sweepOnce(s *fenced.Store, lapsed []string) time.Duration {
	for _, k := range lapsed {
		harness.Must(s.TryAcquire(ctx, k, "worker-1", 1))
	}
	start := time.Now()
	reclaimed := harness.Must(s.ReclaimExpired(ctx, 0))
	took := time.Since(start)
	if len(reclaimed) != len(lapsed) {
		panic(fmt.Sprintf("%d grants reclaimed, want %d", len(reclaimed), len(lapsed)))
	}
	return took
}
