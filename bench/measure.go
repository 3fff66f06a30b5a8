package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"
)

// effort is how much is measured in one process.
type effort struct {
	rounds int
	batch  int // operations of a contender in a round; divides the number of records or is a multiple of it
}

// result is what one process measured for a row.
type result struct {
	Values []float64 // one a round, in the unit of the row
	Ns     []float64 // of an operation of the subject, one a round
	Allocs float64   // of an operation of the subject; negative where not counted
	Floor  []float64 `json:",omitempty"` // the same in operations of the floor, where the row is no ratio to it
}

// merge adds what another process measured.
func (r *result) merge(other result) {
	r.Values = append(r.Values, other.Values...)
	r.Ns = append(r.Ns, other.Ns...)
	r.Floor = append(r.Floor, other.Floor...)
	r.Allocs = max(r.Allocs, other.Allocs)
}

// orders is how many access orders are drawn for a side. One order alone lets
// designs that allocate look better than they are.
const orders = 4

// side is a contender on a store of n records, and the orders in which it visits
// them.
type side struct {
	name   string
	run    run
	orders [][]int32
}

// open sets up a side. Where hot, each order visits one record only.
func (c contender) on(n, batch int, hot bool) *side {
	s := &side{name: c.name, run: c.open(n)}
	for range orders {
		order := make([]int32, 0, max(n, batch))
		one := rand.IntN(n)
		for len(order) < cap(order) {
			for _, i := range rand.Perm(n)[:min(n, cap(order)-len(order))] {
				if hot {
					i = one
				}
				order = append(order, int32(i))
			}
		}
		s.orders = append(s.orders, order)
	}
	return s
}

// window returns a random part of a random order; no record is in it twice
// unless it is longer than the store.
func (s *side) window(batch int) []int32 {
	order := s.orders[rand.IntN(len(s.orders))]
	from := batch * rand.IntN(len(order)/batch)
	return order[from : from+batch]
}

// time returns how long an operation takes, in ns.
func (s *side) time(batch int) float64 {
	s.run(s.window(batch)[:batch/8]) // warm up
	window := s.window(batch)
	start := time.Now()
	s.run(window)
	return float64(time.Since(start).Nanoseconds()) / float64(batch)
}

// allocs returns how often an operation allocates.
func (s *side) allocs(batch int) float64 {
	window := s.window(batch)
	s.run(window)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.run(window)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(batch)
}

// compare measures subject against baseline: both in every round, the ratio
// within the round, who goes first by chance.
func compare(subject, baseline *side, e effort) result {
	r := result{Allocs: subject.allocs(e.batch)}
	baseline.run(baseline.window(e.batch))
	for range e.rounds {
		runtime.GC()
		var a, b float64
		if rand.IntN(2) == 0 {
			a = subject.time(e.batch)
			b = baseline.time(e.batch)
		} else {
			b = baseline.time(e.batch)
			a = subject.time(e.batch)
		}
		r.Values = append(r.Values, a/b)
		r.Ns = append(r.Ns, a)
	}
	return r
}

// quartiles returns the quartiles of values, by the nearest rank.
func quartiles(values []float64) (q1, median, q3 float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	v := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 { return v[int(q*float64(len(v)-1)+0.5)] }
	return at(0.25), at(0.5), at(0.75)
}

// short writes a number of records as people say it.
func short(n int) string {
	switch {
	case n >= 1e6 && n%1e6 == 0:
		return fmt.Sprintf("%d M", n/1e6)
	case n >= 1e3 && n%1e3 == 0:
		return fmt.Sprintf("%d k", n/1e3)
	default:
		return fmt.Sprint(n)
	}
}
