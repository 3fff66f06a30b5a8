package main

import (
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/bench/internal/harness"
)

// queue is a way to wait for one's turn at a record. It starts out taken.
type queue struct {
	name, module string
	how          string
	wins         string
	open         func() (pass, letGo func())
}

// queues are the contenders of the hand-over, the one that the others are set
// against first.
var queues = []queue{
	{
		name: "x/sync semaphore", module: "golang.org/x/sync", how: "`Acquire`, `Release` of a weight of one: first come, first served, cancellable",
		wins: "it has no generation to move and no lease to keep",
		open: func() (pass, letGo func()) {
			s := semaphore.NewWeighted(1)
			must(s.Acquire(ctx, 1))
			letGo = func() { s.Release(1) }
			return func() { must(s.Acquire(ctx, 1)); letGo() }, letGo
		},
	},
	{
		name: "fenced: acquire, release", how: "`Acquire`, `Release`: first come, first served, cancellable, and each turn is a grant of its own",
		open: func() (pass, letGo func()) {
			s := fenced.NewStore(fenced.Options{})
			first := harness.Must(s.Acquire(ctx, "held", "worker-0", lease))
			pass = func() { must(s.Release(ctx, harness.Must(s.Acquire(ctx, "held", "worker-1", lease)))) }
			return pass, func() { must(s.Release(ctx, first)) }
		},
	},
	{
		name: "sync.Mutex", how: "`Lock`, `Unlock`: not cancellable, and not in order unless someone has waited for a millisecond",
		wins: "it serves in no order unless someone has waited for a millisecond: until then who runs takes it again without waiting, and nothing is handed over",
		open: func() (pass, letGo func()) {
			var mu sync.Mutex
			mu.Lock()
			return func() { mu.Lock(); mu.Unlock() }, mu.Unlock //nolint:staticcheck // the turn is what is measured, there is nothing to do in it
		},
	},
}

// handOvers measures how one record is passed on among a crowd that waits for it,
// on one processor and on two.
func handOvers(e effort) []samples {
	var results []samples
	for procs := 1; procs <= min(2, runtime.NumCPU()); procs++ {
		results = append(results, handOversOn(procs, e)...)
	}
	return results
}

func handOversOn(procs int, e effort) []samples {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	lanes := lanesOf(setting{N: 1, Hot: true, Procs: 1})
	var results []samples
	for _, q := range queues {
		want := e.turn * 5 // a crowd takes a while to queue up
		got := compare(sideOf(passing(q), lanes, want), sideOf(passing(queues[0]), lanes, want), e)
		got.cell = cell{handOver, q.name, setting{N: harness.Crowd, Hot: true, Procs: procs}}
		results = append(results, got)
	}
	return results
}

func passing(q queue) loop {
	return func(order []int32) {
		pass, letGo := q.open()
		harness.PassOn(len(order), letGo, pass)
	}
}
