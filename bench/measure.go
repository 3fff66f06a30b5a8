package main

import (
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// effort is how much is measured in one process. In a round the contenders take
// turns, of a few thousand operations each: short enough for most of them to
// run undisturbed where other programs want the processor too.
type effort struct {
	rounds, turns int
	batch         int // operations in a turn; divides the number of records or is a multiple of it
}

// whole is the same effort in one turn a round, for what takes long to get
// going.
func (e effort) whole() effort { return effort{e.rounds, 1, e.turns * e.batch} }

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

// on sets up a side.
func (c contender) on(n, batch int) *side {
	s := &side{name: c.name, run: c.open(n)}
	for range orders {
		order := make([]int32, 0, max(n, batch))
		for len(order) < cap(order) {
			for _, i := range rand.Perm(n)[:min(n, cap(order)-len(order))] {
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

// turn returns how long an operation takes, in ns.
func (s *side) turn(batch int) float64 {
	s.run(s.window(batch)[:batch/4]) // warm up
	window := s.window(batch)
	start := time.Now()
	s.run(window)
	return float64(time.Since(start).Nanoseconds()) / float64(batch)
}

// allocs returns how often an operation allocates.
func (s *side) allocs(e effort) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range e.turns {
		s.run(s.window(e.batch))
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(e.turns*e.batch)
}

// compare measures subject against baseline. They take turns, who goes first by
// chance; what an operation takes in a round is the median of the turns, and the
// ratio is taken within the round. A round of contenders that leave garbage
// begins with none.
func compare(subject, baseline *side, e effort) result {
	baseline.allocs(e) // the first time is slow
	subject.allocs(e)
	r := result{Allocs: subject.allocs(e)}
	litter := r.Allocs+baseline.allocs(e) > 0.1
	runtime.GC()
	for range e.rounds {
		if litter {
			runtime.GC()
		}
		var took [2][]float64
		for range e.turns {
			for _, which := range rand.Perm(2) {
				took[which] = append(took[which], [...]*side{subject, baseline}[which].turn(e.batch))
			}
		}
		_, ns, _ := harness.Quartiles(took[0])
		_, unit, _ := harness.Quartiles(took[1])
		r.Values = append(r.Values, ns/unit)
		r.Ns = append(r.Ns, ns)
	}
	return r
}
