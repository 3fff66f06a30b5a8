package fencedsql

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fencedgo/fenced"
)

// Context returns a copy of ctx that ends with g: at once where this Store ends
// it, else when a look at the database, every [Options].Poll at the most, finds it
// ended, and at the latest when its lease has run out as far as this process
// knows: a lease after the last successful renewal, or the claim, was sent. A
// look that fails ends nothing. The cause ([context.Cause]) is a
// [*fenced.ConflictError] that says how g ended, [context.DeadlineExceeded] of
// the lease, or [fenced.ErrClosed].
//
// A grant that this Store neither issued nor renewed, as one from a token, costs
// a round trip first; one that has ended, or is foreign or invalid, or that the
// database gave no answer about, gives a context that has ended. Call the
// function when done, as with any context.
func (s *Store) Context(ctx context.Context, g fenced.Grant) (context.Context, context.CancelFunc) {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watcher{g: g, end: cancel, changed: make(chan struct{}, 1)}
	err := fenced.CheckGrant(g)
	if err == nil {
		err = s.attach(ctx, w)
	}
	if err == nil && !s.spawn(func() { s.watch(ctx, w) }) {
		s.leases.unwatch(w)
		err = fenced.ErrClosed
	}
	if err != nil {
		cancel(err)
	}
	return ctx, func() { cancel(nil) }
}

// attach makes w a watcher of its grant, if that is current.
func (s *Store) attach(ctx context.Context, w *watcher) error {
	if err := s.live(ctx); err != nil {
		return err
	}
	if s.leases.watch(w) {
		return nil
	}
	sent := time.Now()
	r, err := s.look(ctx, "context", w.g.Key, &s.st.look)
	if err != nil {
		return err
	}
	if reasons := r.judge(w.g); reasons != nil {
		return r.conflict("context", w.g.Record, reasons)
	}
	s.leases.adopt(w, r, sent)
	return nil
}

// watch looks at the database until ctx ends, and ends it with the grant.
func (s *Store) watch(ctx context.Context, w *watcher) {
	defer s.leases.unwatch(w)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for look := time.Now().Add(backoff(20, s.opts.Poll)); ; {
		until := s.leases.until(w)
		now := time.Now()
		switch {
		case !now.Before(until):
			w.end(fmt.Errorf("fencedsql: lease of %q has run out unrenewed: %w", w.g.Key, context.DeadlineExceeded))
			return
		case !now.Before(look):
			s.lookAt(ctx, w, until)
			look = time.Now().Add(backoff(20, s.opts.Poll))
			continue
		}
		timer.Reset(min(until.Sub(now), look.Sub(now)))
		select {
		case <-timer.C:
		case <-w.changed:
		case <-ctx.Done():
			return
		case <-s.closed:
			w.end(fenced.ErrClosed)
			return
		}
	}
}

// lookAt finds out whether the grant of w is current, and until when. It waits
// for no answer beyond the lease.
func (s *Store) lookAt(ctx context.Context, w *watcher, until time.Time) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	sent := time.Now()
	r, err := s.look(ctx, "context", w.g.Key, &s.st.look)
	if err != nil {
		return
	}
	if reasons := r.judge(w.g); reasons != nil {
		s.leases.end(w.g.Key, w.g.Nonce(), r, reasons)
		return
	}
	s.leases.seen(w.g, r, sent)
}

// farewell is the cause with which the context of g ends.
func (r row) farewell(g fenced.Grant, reasons []error) error {
	e := r.conflict("context", g.Record, reasons)
	switch e.Ended {
	case fenced.Released:
		e.Op = "release"
	case fenced.Reclaimed:
		e.Op = "reclaim"
	case fenced.TakenOver:
		e.Op = "acquire"
	}
	return e
}

// watcher is a context that ends with a grant.
type watcher struct {
	g       fenced.Grant
	end     context.CancelCauseFunc
	changed chan struct{} // holds one: the lease has
}

// leases is what this process knows of the leases of the grants it has to do
// with, by nonce. The zero leases know nothing.
type leases struct {
	mu    sync.Mutex
	m     map[uint64]*tenure
	purge int // the size at which to forget those that have run out
}

// tenure is a grant as this process knows it.
type tenure struct {
	key        string
	generation fenced.Generation
	expires    time.Time // by the clock of the server, to tell one lease from another
	until      time.Time // by the monotonic clock of this process
	watchers   map[*watcher]struct{}
}

// set notes that the lease of g lasts until then.
func (l *leases) set(g fenced.Grant, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(g, until)
}

// seen notes a lease that a look found, and that may be known more exactly
// already. It was sent before the server measured the rest of the lease.
func (l *leases) seen(g fenced.Grant, r row, sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.see(g, r, sent)
}

// adopt is seen of the grant of w, and watch, in one step: a grant that ends in
// between would be no longer known.
func (l *leases) adopt(w *watcher, r row, sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.see(w.g, r, sent)
	l.m[w.g.Nonce()].add(w)
}

func (l *leases) see(g fenced.Grant, r row, sent time.Time) {
	if t := l.m[g.Nonce()]; t != nil && t.expires.Equal(r.Expires) {
		return
	}
	g.Expires = r.Expires
	l.put(g, sent.Add(r.Expires.Sub(r.now)))
}

func (l *leases) put(g fenced.Grant, until time.Time) {
	t := l.m[g.Nonce()]
	if t == nil {
		l.forget()
		t = &tenure{key: g.Key, generation: g.Generation}
		l.m[g.Nonce()] = t
	}
	t.expires, t.until = g.Expires, until
	for w := range t.watchers {
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

// forget makes room: the grants that others ended are not taken out otherwise.
func (l *leases) forget() {
	const few = 1024
	if l.m == nil {
		l.m = make(map[uint64]*tenure)
	}
	if len(l.m) < max(l.purge, few) {
		return
	}
	now := time.Now()
	for nonce, t := range l.m {
		if len(t.watchers) == 0 && now.After(t.until) {
			delete(l.m, nonce)
		}
	}
	l.purge = 2 * len(l.m)
}

// watch makes w a watcher of its grant, if that is known.
func (l *leases) watch(w *watcher) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.m[w.g.Nonce()]
	if t == nil || t.key != w.g.Key || t.generation != w.g.Generation {
		return false
	}
	t.add(w)
	return true
}

func (t *tenure) add(w *watcher) {
	if t.watchers == nil {
		t.watchers = make(map[*watcher]struct{})
	}
	t.watchers[w] = struct{}{}
}

func (l *leases) unwatch(w *watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.m[w.g.Nonce()]; t != nil {
		delete(t.watchers, w)
	}
}

// until returns when the lease of the grant of w runs out. One not known any more
// has ended.
func (l *leases) until(w *watcher) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.m[w.g.Nonce()]; t != nil {
		return t.until
	}
	return time.Time{}
}

// ended notes that the grant before r has ended.
func (l *leases) ended(r row) { l.end(r.Key, r.endedNonce, r, stale) }

// end forgets a grant of the record r, and ends the contexts of it.
func (l *leases) end(key string, nonce uint64, r row, reasons []error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.m[nonce]
	if t == nil || t.key != key {
		return
	}
	delete(l.m, nonce)
	for w := range t.watchers {
		w.end(r.farewell(w.g, reasons))
	}
}
