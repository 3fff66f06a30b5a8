package fleet

import (
	"math/rand/v2"
	"time"
)

// fate is what will happen to an order: how long the vendor takes to answer,
// and whether its first call stalls. A plan is the fates by order number.
type fate struct {
	answer time.Duration // of a call that does not stall
	stall  time.Duration // of the first call, 0: it does not
	hangs  bool          // the first call stalls for good
	news   news          // what the vendor learns after the first call
}

type plan map[string]fate

// news is why a vendor that is asked again answers otherwise.
type news uint8

const (
	noNews   news = iota
	alert         // the payment is suspected of fraud: hold the order
	handOver      // customer service has taken the order over: leave it alone
)

// The kinds of stall, dealt in turn, so that a run of a few orders has some of
// each: of five, one hangs, and of the other four calls two come back to an
// order that someone has written to, and two to one that nobody has.
var stalls = [...]struct {
	hangs bool
	news  news
}{{false, handOver}, {false, alert}, {true, alert}, {false, handOver}, {false, alert}}

// A stall is far longer than a lease, and an answer far shorter, so that a
// loaded machine does not mistake one for the other.
const (
	lease                = 150 * time.Millisecond
	minAnswer, maxAnswer = 10 * time.Millisecond, 45 * time.Millisecond
	minStall, maxStall   = 4 * lease, 8 * lease
	fewest               = len(stalls) // stalls, where there are any and the orders suffice
)

// cancelled is the state to which no write applies from the start.
const cancelled = "cancelled"

// newPlan deals the fates from seed. A share of the orders stall, none of them
// cancelled.
func newPlan(orders []order, share float64, seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 0))
	between := func(from, to time.Duration) time.Duration {
		return from + time.Duration(r.Int64N(int64(to-from)))
	}
	p := make(plan, len(orders))
	var open []string
	for _, o := range orders {
		p[o.Number] = fate{answer: between(minAnswer, maxAnswer)}
		if o.State != cancelled {
			open = append(open, o.Number)
		}
	}
	r.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
	n := int(share*float64(len(orders)) + .5)
	if share > 0 {
		n = max(n, fewest)
	}
	for i, number := range open[:min(n, len(open))] {
		kind := stalls[i%len(stalls)]
		f := p[number]
		f.stall, f.hangs, f.news = between(minStall, maxStall), kind.hangs, kind.news
		p[number] = f
	}
	return p
}

// stalling returns how many first calls come back late, and how many never do.
func (p plan) stalling() (late, never int) {
	for _, f := range p {
		switch {
		case f.hangs:
			never++
		case f.stall > 0:
			late++
		}
	}
	return late, never
}
