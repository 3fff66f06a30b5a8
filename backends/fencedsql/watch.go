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
// A grant that this Store did not issue, as one from a token, costs two round
// trips first; one that has ended, or is foreign or invalid, or that the
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
	r, err := s.look(ctx, "context", w.g.Key, &s.st.look)
	if err != nil {
		return err
	}
	if reasons := r.judge(w.g); reasons != nil {
		return r.conflict("context", w.g.Record, reasons)
	}
	s.leases.adopt(w, r)
	w.adopted = true
	return nil
}

// watch looks at the database until ctx ends, and ends it with the grant.
func (s *Store) watch(ctx context.Context, w *watcher) {
	defer s.leases.unwatch(w)
	timer := time.NewTimer(0)
	defer timer.Stop()
	look := time.Now()
	if !w.adopted { // else it may have ended since it was looked at
		look = look.Add(backoff(20, s.opts.Poll))
	}
	for {
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
	looked := make(chan struct{})
	defer close(looked)
	heed := func() {
		select {
		case <-s.closed:
			cancel()
		case <-looked:
		}
	}
	if !s.spawn(heed) {
		return
	}
	r, err := s.look(ctx, "context", w.g.Key, &s.st.look)
	if err != nil {
		return
	}
	if reasons := r.judge(w.g); reasons != nil {
		s.leases.end(w.g.Key, w.g.Nonce(), w.g.Generation, r, reasons)
		return
	}
	s.leases.seen(r)
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
	adopted bool // not issued by this Store
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
	asOf       time.Time // by that clock too: when the answer was given that all this is from
	came       time.Time // when it came, by the monotonic clock of this process
	looked     bool      // it was that to a look
	until      time.Time // by the monotonic clock of this process
	watchers   map[*watcher]struct{}
}

// issued notes that the current grant of r was, to a caller of this process.
func (l *leases) issued(r row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(r, false)
}

// renewed notes a new lease, unless another was made after it whose answer came
// first. A grant that is not known any more has ended since.
func (l *leases) renewed(r row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.of(r.nonce, r.Generation); t != nil && (r.sent.After(t.came) || t.looked || !r.now.Before(t.asOf)) {
		l.put(r, false)
	}
}

// seen notes a lease that a look found. What was known when it was sent may since
// be known better.
func (l *leases) seen(r row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.of(r.nonce, r.Generation); t != nil && r.sent.After(t.came) && !t.expires.Equal(r.Expires) {
		l.put(r, true)
	}
}

// adopt makes w a watcher of the current grant of r, which it may make known.
func (l *leases) adopt(w *watcher, r row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of(r.nonce, r.Generation) == nil {
		l.put(r, true)
	}
	l.m[r.nonce].add(w)
}

// of returns what is known of a grant. A nonce can have been used twice, for two
// tries of one claimant.
func (l *leases) of(nonce uint64, generation fenced.Generation) *tenure {
	if t := l.m[nonce]; t != nil && t.generation == generation {
		return t
	}
	return nil
}

func (l *leases) put(r row, looked bool) {
	t := l.of(r.nonce, r.Generation)
	if t == nil {
		l.forget()
		t = &tenure{key: r.Key, generation: r.Generation}
		l.m[r.nonce] = t
	}
	t.expires, t.asOf, t.came, t.looked, t.until = r.Expires, r.now, time.Now(), looked, r.until()
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
	t := l.of(w.g.Nonce(), w.g.Generation)
	if t == nil || t.key != w.g.Key {
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
	if t := l.of(w.g.Nonce(), w.g.Generation); t != nil {
		delete(t.watchers, w)
	}
}

// until returns when the lease of the grant of w runs out. One not known any more
// has ended.
func (l *leases) until(w *watcher) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.of(w.g.Nonce(), w.g.Generation); t != nil {
		return t.until
	}
	return time.Time{}
}

// ended notes that the grant before r has ended.
func (l *leases) ended(r row) { l.end(r.Key, r.endedNonce, r.Generation-1, r, stale) }

// end forgets a grant of the record r, and ends the contexts of it.
func (l *leases) end(key string, nonce uint64, generation fenced.Generation, r row, reasons []error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.of(nonce, generation)
	if t == nil || t.key != key {
		return
	}
	delete(l.m, nonce)
	for w := range t.watchers {
		w.end(r.farewell(w.g, reasons))
	}
}
