package fenced

import (
	"cmp"
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

// waiter is a claimant in a queue. Waiters are reused within their store.
type waiter struct {
	claim
	prev, next *waiter
	crowd      *crowd          // whose queue it stands in, nil: it was served, passed over, or the store is closed
	passed     bool            // over, since its context had ended
	closed     bool            // the store is
	done       <-chan struct{} // of its context
	ready      chan struct{}   // holds one, sent once served or closed
}

// Acquire claims the record of key for lease and waits its turn: claimants are
// served in the order in which they came, each directly by the ending before
// it, and a lapsed grant is taken over the moment it lapses. A holder label
// that already holds the record waits like any other. If ctx ends first, its
// error is returned and nothing is left behind; a claimant is never served
// after that. Errors: that of ctx, [ErrInvalid], [ErrClosed].
func (s *Store) Acquire(ctx context.Context, key, holder string, lease time.Duration) (Grant, error) {
	c := claim{holder: holder, lease: lease}
	err := s.acquire(ctx, key, &c)
	return c.grant, err
}

// acquire is Acquire. It stands apart so that Acquire is inlined and the grant
// is not copied to and fro.
func (s *Store) acquire(ctx context.Context, key string, c *claim) error {
	if err := checkClaim(ctx, c.holder, c.lease); err != nil {
		return err
	}
	done := ctx.Done()
	st, hash := s.locate(key)
	st.mu.Lock()
	r, ok, err := st.claim(c, key, hash)
	if ok || err != nil {
		st.check(r)
		st.mu.Unlock()
		s.send(&c.notices)
		return err
	}
	w := st.queue(r, c, done)
	st.check(r)
	st.mu.Unlock()
	if done == nil {
		<-w.ready
		return s.served(w, c)
	}
	select {
	case <-w.ready:
	case <-done:
		if st.leave(w) {
			return cmp.Or(ctx.Err(), context.Canceled)
		}
		<-w.ready // served before ctx ended
	}
	return s.served(w, c)
}

// served sets c to what w was served with, and puts w by.
func (s *Store) served(w *waiter, c *claim) error {
	if w.closed {
		return ErrClosed
	}
	*c = w.claim
	s.keepWaiter(w)
	s.send(&c.notices)
	return nil
}

// keepWaiter puts w by for the next claimant.
func (s *Store) keepWaiter(w *waiter) {
	*w = waiter{ready: w.ready}
	s.waiters.Put(w)
}

// queue puts a claimant at the end of the queue for r, which is held.
func (st *stripe) queue(r *record, c *claim, done <-chan struct{}) *waiter {
	w, _ := st.store.waiters.Get().(*waiter)
	if w == nil {
		w = &waiter{ready: make(chan struct{}, 1)}
	}
	q := r.holding.gather()
	w.holder, w.lease, w.done, w.crowd = c.holder, c.lease, done, q
	if w.prev = q.last; w.prev != nil {
		w.prev.next = w
	} else {
		q.first = w
	}
	q.last = w
	if w.prev == nil {
		st.arm(r, st.store.now())
	}
	return w
}

// leave takes w out of its queue, and puts it by, unless it was served.
func (st *stripe) leave(w *waiter) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if c := w.crowd; c != nil {
		c.unlink(w)
		st.arm(c.r, st.store.now())
		st.check(c.r)
	} else if !w.passed {
		return false
	}
	st.store.keepWaiter(w)
	return true
}

// gather returns the crowd of h.
func (h *holding) gather() *crowd {
	if h.crowd == nil {
		h.crowd = new(crowd)
	}
	return h.crowd
}

// head returns the claimant whose turn it is, or nil. Those whose context has
// ended are passed over.
func (c *crowd) head() *waiter {
	if c == nil {
		return nil
	}
	for c.first != nil {
		w := c.first
		select {
		case <-w.done:
			w.passed = true
			c.unlink(w)
		default:
			return w
		}
	}
	return nil
}

// next takes head out of the queue.
func (c *crowd) next() *waiter {
	w := c.head()
	if w != nil {
		c.unlink(w)
	}
	return w
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
// come too late to have been stopped, and then finds the timer set for another
// time, or not at all.
func (st *stripe) ring(c *crowd) {
	now := st.store.now()
	var n notices
	st.mu.Lock()
	if c.rings != 0 && now >= c.rings {
		c.rings = 0
		if first := c.r.lapsedTo(now); first != nil {
			st.end(c.r, TakenOver, now, first, &n)
		} else {
			st.arm(c.r, now)
		}
		st.check(c.r)
	} else if c.rings != 0 {
		c.timer.Reset(time.Duration(c.rings - now))
	}
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
