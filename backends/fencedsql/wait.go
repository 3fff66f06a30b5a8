package fencedsql

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencedgo/fenced"
)

// Acquire claims the record of key for lease and waits its turn. The claimants
// of one Store are served in the order in which they came. A release through the
// same Store hands the record to the first of them in one step; otherwise the
// first looks at the database: when this Store ends the grant in another way or
// [Store.Wake] is called, when the lease lapses, and else at growing intervals of
// at most [Options].Poll. Between Stores the first to look is served. A look that
// gets no answer in [Options].Timeout, as behind a guard, is made again.
//
// If ctx ends first, its error is returned. A claim that is under way then is
// waited for, half a second at most, and returned if it was granted; later it is
// undone, as [Store.TryAcquire] says. Errors: that of ctx, [fenced.ErrInvalid],
// [fenced.ErrClosed], [fenced.ErrUncertain], those of the database.
func (s *Store) Acquire(ctx context.Context, key, holder string, lease time.Duration) (fenced.Grant, error) {
	if err := s.checkClaim(ctx, key, holder, lease); err != nil {
		return fenced.Grant{}, err
	}
	w := &waiter{claimant: claimant{holder: holder, lease: lease, nonce: newNonce()}, done: ctx.Done()}
	w.late = func(r row) {
		s.serve(ctx, w, r)
		w.wake()
	}
	s.lines.join(key, w)
	err := s.wait(ctx, key, w)
	if g, ok := s.lines.leave(key, w); ok {
		return g, nil // also where ctx has ended since
	}
	if w.lost.Load() {
		err = inDoubt(err)
	}
	return fenced.Grant{}, err
}

// wait looks at the database until w has been served.
func (s *Store) wait(ctx context.Context, key string, w *waiter) error {
	if err := s.await(ctx, w.first, nil); err != nil {
		return err
	}
	for try := 1; ; try++ {
		r, done, err := s.tryFor(ctx, key, w)
		late := errors.Is(err, fenced.ErrUncertain) && errors.Is(err, context.DeadlineExceeded) // as behind a guard
		switch {
		case done:
			return nil
		case err != nil && !errors.Is(err, ErrRetry) && !late:
			return err
		}
		wait := backoff(try+3, s.opts.Poll)
		if r.held {
			wait = min(wait, r.Expires.Sub(r.now)) // all by the clock of the server
		}
		timer := time.NewTimer(wait)
		err = s.await(ctx, w.woken, timer.C)
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// tryFor looks at the database for w, unless another does, and serves it where it
// can. It reports whether w has been served.
func (s *Store) tryFor(ctx context.Context, key string, w *waiter) (row, bool, error) {
	if !s.lines.lock(w) {
		return row{}, false, nil
	}
	defer s.lines.put(w) // once it is served, before others may claim for it
	if len(w.served) > 0 {
		return row{}, true, nil
	}
	r, reasons, err := s.claim(ctx, key, w.claimant)
	w.note(err)
	return r, err == nil && reasons == nil && s.serve(ctx, w, r), err
}

// await waits for either channel. It fails where ctx ends or the Store is closed
// first.
func (s *Store) await(ctx context.Context, c <-chan struct{}, timer <-chan time.Time) error {
	select {
	case <-c:
	case <-timer:
	case <-ctx.Done():
	case <-s.closed:
	}
	return s.live(ctx)
}

// Wake makes the first claimant of this Store that waits for key look at the
// database now; "" is every key. It is a hint: a claimant served without one
// only waits longer. With [Options].Notify set, give it the payloads that a
// connection which listens on that channel receives, which are keys as they are
// stored: those with U+0000 or U+0001 are escaped.
func (s *Store) Wake(key string) { s.lines.wake(unescape.Replace(key)) }

// lines are the claimants of this process that wait, by key. The zero lines are
// empty.
type lines struct {
	mu sync.Mutex
	m  map[string][]*waiter
}

// waiter is a claimant in a line.
type waiter struct {
	claimant
	done   <-chan struct{}
	first  chan struct{}     // closed once it is the first
	woken  chan struct{}     // holds one
	busy   chan struct{}     // holds one while it looks at the database, or is handed the record
	served chan fenced.Grant // holds one
	got    fenced.Generation // what it was served with
	left   bool
	lost   atomic.Bool // a grant may have been issued to it whose answer never came
}

// note takes down what a call that was to issue a grant to w returned.
func (w *waiter) note(err error) {
	if errors.Is(err, fenced.ErrUncertain) {
		w.lost.Store(true)
	}
}

// join puts w at the end of the line for key.
func (l *lines) join(key string, w *waiter) {
	w.first, w.woken = make(chan struct{}), make(chan struct{}, 1)
	w.busy, w.served = make(chan struct{}, 1), make(chan fenced.Grant, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		l.m = make(map[string][]*waiter)
	}
	l.m[key] = append(l.m[key], w)
	if len(l.m[key]) == 1 {
		close(w.first)
	}
}

// leave takes w out of the line, wherever it stands, and returns what it was
// served with, if it was.
func (l *lines) leave(key string, w *waiter) (fenced.Grant, bool) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case w.busy <- struct{}{}: // nobody is about to serve it
		defer l.put(w)
	case <-timer.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w.left = true
	line := l.m[key]
	if i := slices.Index(line, w); i >= 0 {
		line = slices.Delete(line, i, i+1)
		l.m[key] = line
		switch {
		case len(line) == 0:
			delete(l.m, key)
		case i == 0:
			close(line[0].first)
		}
	}
	select {
	case g := <-w.served:
		return g, true
	default:
		return fenced.Grant{}, false
	}
}

// head returns the first in the line for key that has not given up, nil for none.
// One that has, but has a look under way that may yet be granted, counts. One that
// is served does not.
func (l *lines) head(key string) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.m[key] {
		if len(w.served) == 0 && (!w.gone() || len(w.busy) > 0) {
			return w
		}
	}
	return nil
}

func (w *waiter) gone() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// take returns the claimant to whom the record of key is to be handed, nil for
// none, and keeps it from looking at the database. It waits for a look under
// way.
func (l *lines) take(ctx context.Context, key string) (*waiter, error) {
	for {
		w := l.head(key)
		if w == nil {
			return nil, nil //nolint:nilnil // nobody waits
		}
		select {
		case w.busy <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if w == l.head(key) && !w.gone() {
			return w, nil
		}
		l.put(w)
		w.wake()
	}
}

// lock keeps w from being handed the record, unless that is under way.
func (l *lines) lock(w *waiter) bool {
	select {
	case w.busy <- struct{}{}:
		return true
	default:
		return false
	}
}

// put undoes take and lock.
func (l *lines) put(w *waiter) { <-w.busy }

// serve hands g to w, unless w has left or was served. It reports whether w has g,
// and whether it has not had it before.
func (l *lines) serve(w *waiter, g fenced.Grant) (has, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.got == 0 && !w.left {
		w.got = g.Generation
		w.served <- g
		return true, true
	}
	return w.got == g.Generation, false
}

// wake wakes the first in the line for key, or in every line for "".
func (l *lines) wake(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if line := l.m[key]; line != nil {
		line[0].wake()
	}
	if key == "" {
		for _, line := range l.m {
			line[0].wake()
		}
	}
}

func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}
