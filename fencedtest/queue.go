package fencedtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencedgo/fenced"
)

// claimant is a call of Acquire on a goroutine of its own. Its result may be
// looked at once done is closed.
type claimant struct {
	holder string
	done   chan struct{}
	grant  fenced.Grant
	err    error
}

// line has holder wait for the one record, and gives it a tick to arrive.
func (k *kit) line(holder string) *claimant {
	k.t.Helper()
	c := k.start(k.ctx, key, holder, k.ticks(long))
	k.pause(1)
	return c
}

func (k *kit) start(ctx context.Context, key, holder string, lease time.Duration) *claimant {
	c := &claimant{holder: holder, done: make(chan struct{})}
	k.running.Go(func() {
		defer close(c.done)
		c.grant, c.err = k.b.(fenced.Waiter).Acquire(ctx, key, holder, lease)
	})
	return c
}

// waiting fails unless all of some still wait.
func (k *kit) waiting(some ...*claimant) {
	k.t.Helper()
	k.pause(1)
	for _, c := range some {
		select {
		case <-c.done:
			k.failf("%s is to wait, and returned with %+v, %v", c.holder, c.grant.Record, c.err)
		default:
		}
	}
}

// served waits until c has its grant, and returns it.
func (k *kit) served(c *claimant) fenced.Grant {
	k.t.Helper()
	<-c.done
	k.must(c.err, "waiting claim by "+c.holder)
	r := k.read(c.grant.Key)
	k.that(r.Holder == c.holder && r.Generation == c.grant.Generation && r.Expires.Equal(c.grant.Expires),
		"%s was served with %+v, the record is %+v", c.holder, c.grant.Record, r)
	return c.grant
}

// Progress, of those who wait.

func firstCome(k *kit) {
	g := k.claim("first")
	line := make([]*claimant, 5)
	for i := range line {
		line[i] = k.line(fmt.Sprintf("w%d", i))
	}
	for i, c := range line {
		k.waiting(line[i:]...)
		k.release(g)
		g = k.served(c)
		k.that(g.Generation == fenced.Generation(i)+2, "served with generation %d, want %d", g.Generation, i+2)
	}
	k.release(g)
	free, err := k.b.(fenced.Waiter).Acquire(k.ctx, key, "A", k.ticks(long))
	k.must(err, "claim of a free record")
	k.commit(free, "paid")
}

// notOvertaken has C claim at the very instant at which the lease of A lapses
// and it is B's turn, who waits. Either may wake first.
func notOvertaken(k *kit) {
	for round := range 10 {
		a := k.claimOf(key, "A", 6)
		at := time.NewTimer(k.ticks(6))
		b := k.line("B")
		if round%2 == 0 {
			at.Reset(k.ticks(5))
		}
		<-at.C
		_, err := k.b.TryAcquire(k.ctx, key, "C", k.ticks(long))
		k.that(errors.Is(err, held), "C claimed while B was waiting, and got %v", err)
		g := k.served(b)
		k.that(g.Generation == a.Generation+1, "B was served with generation %d after %d", g.Generation, a.Generation)
		k.release(g)
	}
}

// handedOver looks at the record in the very moment after its release.
func handedOver(k *kit) {
	k.swap(key, 0, "paid")
	a := k.claim("A")
	b := k.line("B")
	a = k.commit(a, "sent")
	k.release(a)
	r := k.read(key)
	k.that(r.Holder == "B" && r.Generation == 2 && !r.Expires.IsZero(), "released with a claimant waiting, the record is %+v", r)
	k.claimRefused(key, "C")
	k.swapRefused(key, 2, held)
	k.removeRefused(key, 2, held)
	g := k.served(b)
	k.that(string(g.Value) == "sent" && g.Version == 2, "served with %+v", g.Record)
	k.stopped(a)
	k.commit(g, "kept")
}

func handedOverAnyhow(k *kit) {
	a := k.claim("A")
	b := k.line("B")
	r := k.reclaim(a)
	k.that(r.Generation == 2, "reclaim left generation %d, want 2", r.Generation)
	g := k.served(b)
	k.stopped(a)

	c := k.line("C")
	g = k.renew(k.delete(g), 10)
	k.pause(10)
	k.sweep(0) // which finds it, unless C has taken over by itself
	next := k.served(c)
	k.that(next.Generation == 3 && next.Version == 1, "served with %+v, want generation 3", next.Record)
	k.stopped(g)
	k.commit(next, "paid")
}

func waiterTakesOver(k *kit) {
	a := k.claimOf(key, "A", 10)
	b := k.line("B")
	c := k.start(k.ctx, key, "C", k.ticks(10))
	k.pause(1)
	k.waiting(b, c)
	g := k.served(b) // nobody ends A's grant but its lease
	k.that(g.Generation == 2, "took over at generation %d, want 2", g.Generation)
	k.stopped(a)
	k.renew(g, 5)
	k.served(c)
	k.stopped(g)
	d := k.line("D")
	k.that(k.served(d).Generation == 4, "took over at generation %d, want 4", d.grant.Generation)
}

// waiterFollows renews under a claimant that waits: later, then sooner.
func waiterFollows(k *kit) {
	a := k.claimOf(key, "A", 10)
	b := k.line("B")
	a = k.renew(a, long)
	k.pause(15)
	k.waiting(b)
	a = k.commit(a, "paid")
	k.renew(a, 5)
	g := k.served(b)
	k.that(g.Generation == 2 && g.Version == 1, "served with %+v", g.Record)
	k.stopped(a)
}

func sameLabelWaits(k *kit) {
	a := k.claim("w1")
	b := k.line("w1")
	k.waiting(b)
	k.release(k.commit(a, "paid"))
	g := k.served(b)
	k.that(g.Generation == 2, "served with generation %d, want 2", g.Generation)
	k.stopped(a)
}

// waiterGone has contexts of claimants end at the head, in the middle and at
// the end of the line.
func waiterGone(k *kit) {
	a := k.claim("A")
	var line []*claimant
	var leave []context.CancelFunc
	for i := range 5 {
		ctx, cancel := context.WithCancel(k.ctx)
		defer cancel()
		leave = append(leave, cancel)
		line = append(line, k.start(ctx, key, fmt.Sprintf("w%d", i), k.ticks(long)))
		k.pause(1)
	}
	for _, i := range []int{0, 2, 4} {
		k.untouched(key, func() {
			leave[i]()
			<-line[i].done
			k.that(errors.Is(line[i].err, context.Canceled), "%s left and got %+v, %v", line[i].holder, line[i].grant.Record, line[i].err)
		})
	}
	k.waiting(line[1], line[3])
	k.release(a)
	g := k.served(line[1])
	k.waiting(line[3])
	k.release(g)
	g = k.served(line[3])
	k.release(g)
	r := k.read(key)
	k.that(r.Holder == "" && r.Generation == 4, "all have left, and the record is %+v", r)

	// Contexts that end and a grant that ends, with nothing in between.
	a = k.claim("A")
	ctx, cancel := context.WithCancel(k.ctx)
	b := k.start(ctx, key, "B", k.ticks(long))
	k.pause(1)
	cancel()
	k.release(a)
	<-b.done
	r = k.read(key)
	k.that(errors.Is(b.err, context.Canceled) && r.Holder == "", "B left before the release and got %v; held by %q", b.err, r.Holder)
}

// waitersLeave has contexts end while the record goes round. Whoever got an
// error holds nothing, whoever got a grant has it.
func waitersLeave(k *kit) {
	const rounds, claimants = 20, 6
	served := fenced.Version(0)
	for range rounds {
		a := k.claim("A")
		var line [claimants]*claimant
		var leave [claimants]context.CancelFunc
		for i := range line {
			ctx, cancel := context.WithCancel(k.ctx)
			defer cancel()
			line[i], leave[i] = k.start(ctx, key, fmt.Sprintf("w%d", i), k.ticks(long)), cancel
		}
		k.pause(1)
		var errs [claimants + 1]error
		k.together(claimants+1, func(i int) {
			if i == claimants {
				errs[i] = k.b.Release(k.ctx, a)
				return
			}
			if i%2 == 1 {
				leave[i]()
			}
			<-line[i].done
			g, err := line[i].grant, line[i].err
			if i%2 == 1 && errors.Is(err, context.Canceled) {
				return
			}
			if err == nil {
				g, err = k.b.Commit(k.ctx, g, []byte("mine"))
			}
			if err == nil {
				err = k.b.Release(k.ctx, g)
			}
			errs[i] = err
		})
		k.must(errors.Join(errs[:]...), "waiting claim, commit, release")
		for _, c := range line {
			if c.err == nil {
				served++
			}
		}
	}
	r := k.read(key)
	k.that(r.Holder == "", "all have left, and %q holds the record", r.Holder)
	k.that(r.Version == served && uint64(r.Generation) == uint64(served)+rounds+1,
		"%d were served, and the record is at version %d, generation %d", served, r.Version, r.Generation)
}
