package fenced

import (
	"context"
	"time"
)

// crowd is who waits for a grant to end: claimants for their turn, first come
// first served, and contexts to be cancelled. It belongs to a holding.
type crowd struct {
	first, last *waiter
	watchers    *watcher
	timer       *time.Timer // takes the record over for the first claimant when the lease lapses
	rings       int64       // when timer fires, 0: it is not set
	r           *record     // whose lease that is, while anyone waits
}

// waiter is a claimant in a queue. Waiters are reused within their stripe.
type waiter struct {
	prev, next *waiter
	crowd      *crowd // whose queue it stands in, nil: it was served, passed over, or the store is closed
	passed     bool   // over, since its context had ended
	done       <-chan struct{}
	holder     string
	lease      time.Duration
	ready      chan struct{} // holds one, sent once served or closed

	grant   Grant
	err     error
	notices notices // of the claim, for the claimant to send
}

// Acquire claims the record of key for lease and waits its turn: claimants are
// served in the order in which they came, each directly by the ending before
// it, and a lapsed grant is taken over the moment it lapses. A holder label
// that already holds the record waits like any other. If ctx ends first, its
// error is returned and nothing is left behind; a claimant is never served
// after that. Errors: that of ctx, [ErrInvalid], [ErrClosed].
func (s *Store) Acquire(ctx context.Context, key, holder string, lease time.Duration) (Grant, error) {
	if err := checkClaim(ctx, key, holder, lease); err != nil {
		return Grant{}, err
	}
	st, hash := s.at(key)
	now := s.now()
	done := ctx.Done()
	var n notices
	st.mu.Lock()
	if !st.open {
		st.mu.Unlock()
		return Grant{}, ErrClosed
	}
	g, ok := st.claim(key, hash, holder, lease, now, &n)
	var w *waiter
	if !ok {
		w = st.queue(st.records[key], now)
		w.holder, w.lease, w.done = holder, lease, done
	}
	st.check(g.at)
	st.mu.Unlock()
	s.send(&n)
	if ok {
		return g, nil
	}
	select {
	case <-w.ready:
	case <-done:
		if st.leave(w, s.now()) {
			return Grant{}, ctx.Err()
		}
		<-w.ready // served before ctx ended
	}
	return s.served(w)
}

// served returns what w was served with, and puts w by.
func (s *Store) served(w *waiter) (Grant, error) {
	g, err, n := w.grant, w.err, w.notices
	*w = waiter{ready: w.ready}
	s.waiters.Put(w)
	s.send(&n)
	return g, err
}

// queue puts a claimant at the end of the queue for r, which is held.
func (st *stripe) queue(r *record, now int64) *waiter {
	w, _ := st.store.waiters.Get().(*waiter)
	if w == nil {
		w = &waiter{ready: make(chan struct{}, 1)}
	}
	c := r.holding.gather()
	w.crowd = c
	if w.prev = c.last; w.prev != nil {
		w.prev.next = w
	} else {
		c.first = w
	}
	c.last = w
	st.arm(r, now)
	st.check(r)
	return w
}

// leave takes w out of its queue, and puts it by, unless it was served.
func (st *stripe) leave(w *waiter, now int64) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if c := w.crowd; c != nil {
		c.unlink(w)
		st.arm(c.r, now)
		st.check(c.r)
	} else if !w.passed {
		return false
	}
	*w = waiter{ready: w.ready}
	st.store.waiters.Put(w)
	return true
}

// gather returns the crowd of h.
func (h *holding) gather() *crowd {
	if h.crowd == nil {
		h.crowd = new(crowd)
	}
	return h.crowd
}

// next takes the claimant whose turn it is out of the queue, or returns nil.
// Those whose context has ended are passed over.
func (c *crowd) next() *waiter {
	if c == nil {
		return nil
	}
	for c.first != nil {
		w := c.first
		c.unlink(w)
		select {
		case <-w.done:
			w.passed = true
		default:
			return w
		}
	}
	return nil
}

func (c *crowd) unlink(w *waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		c.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		c.last = w.prev
	}
	w.prev, w.next, w.crowd = nil, nil, nil
}

// arm sees to it that the timer of r's queue rings no later than the lease ends,
// or not at all where nobody waits. A timer that rings early is set anew then,
// so a hand-over touches it only where the new lease is the shorter one.
func (st *stripe) arm(r *record, now int64) {
	h := r.holding
	c := h.crowd
	switch {
	case c == nil:
	case c.first == nil:
		if c.rings != 0 {
			c.timer.Stop()
		}
		c.rings, c.r = 0, nil
	case c.rings == 0 || h.until < c.rings:
		c.rings, c.r = h.until, r
		if in := time.Duration(h.until - now); c.timer == nil {
			c.timer = time.AfterFunc(in, func() { st.ring(c) })
		} else {
			c.timer.Reset(in)
		}
	}
}

// ring takes a lapsed grant over for the first claimant in the queue. It may
// come late, when the crowd has moved on; all is judged as it then is.
func (st *stripe) ring(c *crowd) {
	now := st.store.now()
	var n notices
	st.mu.Lock()
	r := c.r
	c.rings = 0
	if st.open && r != nil && c.first != nil {
		if first := r.lapsedTo(now); first != nil {
			st.end(r, TakenOver, now, first, &n)
		} else {
			st.arm(r, now)
		}
	}
	st.check(r)
	st.mu.Unlock()
	st.store.send(&n)
}

// lapsedTo returns the claimant to whom r goes because its lease has lapsed, or
// nil.
func (r *record) lapsedTo(now int64) *waiter {
	if !r.holding.lapsed(now) {
		return nil
	}
	return r.holding.crowd.next()
}
