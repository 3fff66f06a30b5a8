package main

import (
	"fmt"
	"runtime"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// row is a line of the table: what is measured, and what it should not exceed.
type row struct {
	name    string  // for -rows
	what    string  // for the table
	unit    string  // of value and bar; "" is a ratio
	bar     float64 // 0: there is none
	allocs  float64 // the most allocations of an operation; negative: no bar
	procs   int     // GOMAXPROCS of the process that measures it; 0: as it is
	measure func(effort) result
}

// sizes are the numbers of records that rows are measured at.
type sizes struct{ tiny, small, mid, large int }

// full keeps at least 16 records a stripe wherever a map is looked up; with
// fewer than eight it misleads.
var full = sizes{tiny: 1_000, small: 8_192, mid: 100_000, large: 1_000_000}

// against measures subject on n records against baseline on m.
func against(subject contender, n int, baseline contender, m int) func(effort) result {
	return func(e effort) result {
		return compare(subject.on(n, e.batch), baseline.on(m, e.batch), e)
	}
}

// whole measures without taking turns within a round.
func whole(measure func(effort) result) func(effort) result {
	return func(e effort) result { return measure(e.whole()) }
}

// rows returns the table. Where it says nothing else, one goroutine works, and
// the ratio is to the floor's compare-and-swap.
func rows(s sizes) []row {
	mid, large := harness.Short(s.mid), harness.Short(s.large)
	const none = -1
	procs := runtime.GOMAXPROCS(0)
	table := []row{
		{"commit-hot", "commit ÷ F, one record", "", .65, 0, 0, against(commitOne, s.small, floorOne, s.small)},
		{"commit-mid", "commit ÷ F, " + mid, "", .50, 0, 0, against(commit, s.mid, floorSwap, s.mid)},
		{"commit-large", "commit ÷ F, " + large, "", .45, 0, 0, against(commit, s.large, floorSwap, s.large)},
		{"commit-grow", "commit that outgrows its space ÷ F's, " + mid, "", 0, 1, 0, against(commitGrow, s.mid, floorGrow, s.mid)},
		{"fence-hot", "commit ÷ commit without the fence, one record", "", 1.05, none, 0, nil},
		{"fence-mid", "commit ÷ commit without the fence, 100 k", "", 1.05, none, 0, nil},
		{"cas-mid", "compare-and-swap ÷ F, " + mid, "", 1.30, 0, 0, against(casByKey, s.mid, floorSwap, s.mid)},
		{"cas-large", "compare-and-swap ÷ F, " + large, "", 1.30, 0, 0, against(casByKey, s.large, floorSwap, s.large)},
		{"read-mid", "read ÷ F's read, " + mid, "", 1.30, 1, 0, against(read, s.mid, floorRead, s.mid)},
		{"cycle-mid", "claim + commit + release ÷ F, " + mid, "", 3.2, 2, 0, against(cycle, s.mid, floorSwap, s.mid)},
		{"refused-stale", "refused commit (grant ended) ÷ accepted, " + mid, "", 3, 2, 0, against(commitStale, s.mid, commit, s.mid)},
		{"refused-moved", "refused commit (old version) ÷ accepted, " + mid, "", 3, 2, 0, against(commitMoved, s.mid, commit, s.mid)},
		{
			"leases", "claim + release, " + large + " live leases ÷ ten", "", 1.25, none, 0,
			against(claimBeside(s.large, s.large), s.small, claimBeside(10, s.large), s.small),
		},
		{"sweep", "sweep of " + large + " live leases, none lapsed", "µs", 20, none, 0, sweep(s.large, 0)},
		{"sweep-lapsed", "sweep of " + large + " live leases, 1 k lapsed", "µs", 0, none, 0, sweep(s.large, 1_000)},
		{
			"hand-over", fmt.Sprintf("hand-over among %d goroutines ÷ x/sync/semaphore", harness.Crowd), "", 1.0, none, 0,
			whole(against(handOver, s.small, handOverSemaphore, 1)),
		},
		{"hand-over-1", "the same on one processor", "", 1.0, none, 1, whole(against(handOver, s.small, handOverSemaphore, 1))},
		{"memory-idle", "memory beyond key and value, written only, " + large, "B", 150, none, 0, memory(s.large, idle)},
		{"memory-live", "the same, with a live grant", "B", 220, none, 0, memory(s.large, live)},
		{"memory-freed", "the same, all held once and free again", "B", 150, none, 0, memory(s.large, live, freed)},
		{"growth", "commit, " + large + " ÷ " + harness.Short(s.tiny), "", 3, 0, 0, against(commit, s.large, commit, s.tiny)},
		{"growth-floor", "the same of F, for comparison", "", 0, none, 0, against(floorSwap, s.large, floorSwap, s.tiny)},
	}
	if procs > 1 {
		table = append(table, row{
			"commit-procs", fmt.Sprintf("commit ÷ F, %s, %d goroutines each", mid, procs), "", 0, none, 0,
			whole(against(commit.parallel(procs), s.mid, floorSwap.parallel(procs), s.mid)),
		})
	}
	return table
}
