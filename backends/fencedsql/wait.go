package fencedsql

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fencedgo/fenced"
)

// Acquire claims the record of key for lease and waits its turn. The claimants
// of one Store are served in the order in which they came, and only the first
// of them looks at the database: at once when this Store ends the grant, when
// [Store.Wake] is called, when the lease lapses, and else at growing intervals of
// at most [Options].Poll. Between Stores the first to look is served. If ctx
// ends first, its error is returned; a claim that was under way then is undone
// as [Store.TryAcquire] says. Errors: that of ctx, [fenced.ErrInvalid],
// [fenced.ErrClosed], [fenced.ErrUncertain], those of the database.
func (s *Store) Acquire(ctx context.Context, key, holder string, lease time.Duration) (fenced.Grant, error) {
	if err := s.checkClaim(ctx, key, holder, lease); err != nil {
		return fenced.Grant{}, err
	}
	w := s.lines.join(key)
	defer s.lines.leave(key, w)
	if err := s.await(ctx, w.first, nil); err != nil {
		return fenced.Grant{}, err
	}
	for try := 1; ; try++ {
		r, reasons, err := s.claim(ctx, key, holder, lease)
		switch {
		case err == nil && reasons == nil:
			return r.grant(), nil
		case err != nil && !errors.Is(err, ErrRetry):
			return fenced.Grant{}, err
		}
		wait := backoff(try+3, s.opts.Poll)
		if err == nil {
			wait = min(wait, r.Expires.Sub(r.now)) // all by the clock of the server
		}
		timer := time.NewTimer(wait)
		err = s.await(ctx, w.woken, timer.C)
		timer.Stop()
		if err != nil {
			return fenced.Grant{}, err
		}
	}
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
// connection which listens on that channel receives.
func (s *Store) Wake(key string) { s.lines.wake(unescape.Replace(key)) }

// lines are the claimants of this process that wait, by key. The zero lines are
// empty.
type lines struct {
	mu sync.Mutex
	m  map[string]line
}

// waiter is a claimant in a line.
type waiter struct {
	first chan struct{} // closed once it is the first
	woken chan struct{} // holds one
}

// join puts a claimant at the end of the line for key.
func (l *lines) join(key string) *waiter {
	w := &waiter{first: make(chan struct{}), woken: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		l.m = make(map[string]line)
	}
	l.m[key] = append(l.m[key], w)
	if len(l.m[key]) == 1 {
		close(w.first)
	}
	return w
}

// leave takes a claimant out of the line, wherever it stands.
func (l *lines) leave(key string, w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.m[key]
	for i, other := range line {
		if other != w {
			continue
		}
		line = append(line[:i], line[i+1:]...)
		if len(line) == 0 {
			delete(l.m, key)
			return
		}
		l.m[key] = line
		if i == 0 {
			close(line[0].first)
		}
		return
	}
}

func (l *lines) wake(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if key != "" {
		l.m[key].wake()
		return
	}
	for _, line := range l.m {
		line.wake()
	}
}

// line is a line of claimants.
type line []*waiter

func (l line) wake() {
	if len(l) == 0 {
		return
	}
	select {
	case l[0].woken <- struct{}{}:
	default:
	}
}
