package fenced

import "context"

// watcher is a context that ends with a grant, in the list of its crowd.
type watcher struct {
	prev, next *watcher
	crowd      *crowd // nil: the grant has ended, or the context was cancelled
	cancel     context.CancelCauseFunc
}

// Context returns a copy of ctx that ends as soon as g does, so that a slow call
// made under it is cancelled rather than finished for nothing. Its cause
// ([context.Cause]) is then a [*ConflictError] that says how g ended, or
// [ErrClosed]. A grant that has ended already, or is foreign or invalid, gives a
// context that has ended, with the error that a release would have met as its
// cause. The lease does not end it: a lapsed grant may still commit. Call the
// function when done, as with any context.
func (s *Store) Context(ctx context.Context, g Grant) (context.Context, context.CancelFunc) {
	if ctx == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errNoContext)
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watcher{cancel: cancel}
	st, r := s.lock(&g)
	err := st.usable(&g)
	if err == nil && r.holds(&g) {
		r.holding.gather().watch(w)
	} else if err == nil {
		err = st.conflict("context", &g.Record, r, st.against(&g))
	}
	st.check(r)
	st.mu.Unlock()
	if err != nil {
		cancel(err)
	}
	return ctx, func() {
		st.mu.Lock()
		if w.crowd != nil {
			w.crowd.unwatch(w)
		}
		st.check(nil)
		st.mu.Unlock()
		cancel(nil)
	}
}

func (c *crowd) watch(w *watcher) {
	w.crowd = c
	if w.next = c.watchers; w.next != nil {
		w.next.prev = w
	}
	c.watchers = w
}

func (c *crowd) unwatch(w *watcher) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		c.watchers = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.crowd = nil, nil, nil
}

// disperse empties the list of watchers and returns it, chained.
func (c *crowd) disperse() *watcher {
	if c == nil {
		return nil
	}
	gone := c.watchers
	for w := gone; w != nil; w = w.next {
		w.crowd = nil
	}
	c.watchers = nil
	return gone
}

// close sends everyone away.
func (c *crowd) close() notices {
	n := notices{woken: c.first, gone: c.disperse(), cause: ErrClosed}
	for w := c.first; w != nil; w = w.next {
		w.crowd, w.closed = nil, true
	}
	c.first, c.last = nil, nil
	if c.rings != 0 {
		c.timer.Stop()
		c.rings, c.r = 0, nil
	}
	return n
}
