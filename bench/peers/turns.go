package main

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// effort is how much is measured in one process.
type effort struct {
	rounds, turns int
	turn          time.Duration // about as long as a turn takes
}

// orders is how many access orders are drawn. One order alone lets peers that
// allocate look better than they are.
const orders = 4

// longest is the most operations in a turn.
const longest = 1 << 16

// lane is what one goroutine visits: records that no other does, in several
// orders.
type lane [orders][]int32

// lanesOf draws the orders of a setting.
func lanesOf(on setting) []lane {
	lanes := make([]lane, on.Procs)
	for p := range lanes {
		var own []int32
		for i := p; i < on.N; i += on.Procs {
			own = append(own, int32(i))
		}
		if on.Hot {
			own = []int32{int32(on.N / 2)}
		}
		for o := range lanes[p] {
			order := make([]int32, 0, max(len(own), longest))
			for len(order) < cap(order) {
				rand.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
				order = append(order, own[:min(len(own), cap(order)-len(order))]...)
			}
			lanes[p][o] = order
		}
	}
	return lanes
}

// window returns a random part of a random order.
func (l *lane) window(n int) []int32 {
	order := l[rand.IntN(orders)]
	from := rand.IntN(len(order) - n + 1)
	return order[from : from+n]
}

// side is one of the two that take turns.
type side struct {
	do    loop
	lanes []lane
	batch int // operations of a goroutine in a turn
}

// sideOf returns a side whose turns take about as long as wanted.
func sideOf(do loop, lanes []lane, want time.Duration) *side {
	s := &side{do, lanes, 16}
	for {
		took := time.Duration(s.turn() * float64(s.batch*len(lanes)))
		if took > want/2 || s.batch == longest {
			s.batch = min(longest, max(1, int(float64(s.batch)*float64(want)/float64(took+1))))
			return s
		}
		s.batch *= 2
	}
}

// turn returns how long an operation takes, in ns. Where several goroutines
// work, it is the time until all are done by the operations of all.
func (s *side) turn() float64 {
	s.round((s.batch + 3) / 4)() // warm up
	round := s.round(s.batch)
	start := time.Now()
	round()
	return float64(time.Since(start).Nanoseconds()) / float64(s.batch*len(s.lanes))
}

// round returns what does n operations in each lane.
func (s *side) round(n int) func() {
	windows := make([][]int32, len(s.lanes))
	for i := range windows {
		windows[i] = s.lanes[i].window(n)
	}
	if len(windows) == 1 {
		return func() { s.do(windows[0]) }
	}
	return func() {
		var wg sync.WaitGroup
		for _, window := range windows {
			wg.Go(func() { s.do(window) })
		}
		wg.Wait()
	}
}

// allocs returns how often and how many bytes an operation allocates.
func (s *side) allocs(turns int) (times, size float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range turns {
		s.round(s.batch)()
	}
	runtime.ReadMemStats(&after)
	operations := float64(turns * s.batch * len(s.lanes))
	return float64(after.Mallocs-before.Mallocs) / operations, float64(after.TotalAlloc-before.TotalAlloc) / operations
}

// compare sets subject against base. In a round they take turns, who goes first
// by chance; what an operation takes is the mean of the turns, so that work put
// off is paid for, and the ratio is taken within the round. A round begins
// without garbage.
func compare(subject, base *side, e effort) samples {
	base.allocs(e.turns) // the first time is slow
	subject.allocs(e.turns)
	var got samples
	got.Allocs, got.Bytes = subject.allocs(e.turns)
	baseTimes, _ := base.allocs(e.turns)
	runtime.GC()
	for range e.rounds {
		if got.Allocs+baseTimes > 0.1 {
			runtime.GC()
		}
		var took [2]float64
		for range e.turns {
			for _, which := range rand.Perm(2) {
				took[which] += [...]*side{subject, base}[which].turn()
			}
		}
		got.Ratios = append(got.Ratios, took[0]/took[1])
		got.Values = append(got.Values, took[0]/float64(e.turns))
		got.Base = append(got.Base, took[1]/float64(e.turns))
	}
	return got
}
