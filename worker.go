package fenced

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// DefaultLease is how long a [Worker] claims and renews for unless told
// otherwise.
const DefaultLease = 30 * time.Second

// maxLeases is how many leases a [Worker] holds a grant for unless told
// otherwise.
const maxLeases = 10

// Worker wraps the claim-work-commit loop of one worker around a [Backend]. It
// keeps no state between calls and may be used from several goroutines. The
// zero Worker lacks a Backend and a Name.
type Worker struct {
	Backend Backend
	Name    string        // the holder label of its claims
	Lease   time.Duration // of its claims and renewals; 0: DefaultLease
	MaxHold time.Duration // the longest a grant is renewed, so that a hung worker loses it; 0: ten leases

	// Refused, if not nil, is called with every result whose commit was
	// refused, so that finished work is not lost, with the context that Do was
	// called with, before Do returns and on its goroutine.
	Refused func(context.Context, Refusal)

	_ struct{}
}

// Refusal is a finished result that the store did not take.
type Refusal struct {
	Grant Grant  // that the result was presented under
	Value []byte // the result, as Work returned it
	Err   error  // the refusal, a [*ConflictError]
	At    time.Time
}

// Work derives the new value of a record from g, which holds the record as of
// the claim. ctx ends when the grant does, with a [*ConflictError] as its cause,
// or may have, with another. An error leaves the record as it is; [ErrSkip] does
// so on purpose, also where a commit under g was made elsewhere. A nil value
// without an error is written, as an empty one.
type Work func(ctx context.Context, g Grant) (value []byte, err error)

// Do claims the record of key, runs work, commits what it returns, and releases
// the grant. It returns the grant at the new version, which has ended by then.
//
// Where the backend is a [Waiter] the claim waits its turn; elsewhere
// [ErrGrantHeld] comes at once. While work runs the lease is renewed, until
// MaxHold. The context of work ends with the grant where the backend is a
// [Watcher], when a renewal is refused, and at the latest when a lease has
// passed since the last successful renewal was sent; a renewal that fails
// otherwise is tried again. What work returns is committed all the same: the
// fence, not the worker's clock, decides. A refused commit goes to Refused and
// is not tried again. Where the outcome of a commit is open, [ErrUncertain], the
// grant comes with the error, as it was presented, for the store to be asked; the
// result is only work's to keep.
//
// The grant is released, and the renewer has stopped, before Do returns, also
// where work fails, panics or calls runtime.Goexit, and where ctx has ended:
// commit and release have a lease's time of their own. An error of the release
// alone is not reported; the lease ends such a grant. Errors: those of the
// claim, of work and of the commit, [ErrInvalid].
func (w *Worker) Do(ctx context.Context, key string, work Work) (Grant, error) {
	w, err := w.complete(work)
	if err != nil {
		return Grant{}, err
	}
	if err := checkContext(ctx); err != nil {
		return Grant{}, err
	}
	g, since, err := w.claim(ctx, key)
	if err != nil {
		return Grant{}, err
	}
	defer w.release(ctx, g)
	value, err := w.run(ctx, g, since, work)
	if errors.Is(err, ErrSkip) {
		return g, nil
	}
	if err != nil {
		return Grant{}, err
	}
	return w.commit(ctx, g, value)
}

// Run calls Do for each of keys in turn. A held key is waited for where the
// backend is a [Waiter]; elsewhere, and where work fails or its result is
// refused, Run goes on. Those errors are returned joined, each with its key, so
// they pile up: for an endless queue call Do. It stops when keys or ctx ends,
// with the error of ctx joined, or when the store is closed. Every key taken
// from keys either succeeded or is in the error.
func (w *Worker) Run(ctx context.Context, keys iter.Seq[string], work Work) error {
	if _, err := w.complete(work); err != nil {
		return err
	}
	if err := checkContext(ctx); err != nil {
		return err
	}
	if keys == nil {
		return invalid("no keys")
	}
	var errs []error
	for key := range keys {
		if _, err := w.Do(ctx, key, work); err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", key, err))
			if errors.Is(err, ErrClosed) && w.closed(ctx, key) {
				break
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// closed reports whether it is the backend that is closed, and not what work
// used.
func (w *Worker) closed(ctx context.Context, key string) bool {
	_, err := w.Backend.Read(ctx, key)
	return errors.Is(err, ErrClosed)
}

// complete returns w with its defaults filled in.
func (w *Worker) complete(work Work) (*Worker, error) {
	switch {
	case w == nil || w.Backend == nil:
		return nil, invalid("worker without a backend")
	case work == nil:
		return nil, invalid("no work")
	case w.MaxHold < 0:
		return nil, invalid("negative MaxHold %v", w.MaxHold)
	}
	full := *w
	if full.Lease == 0 {
		full.Lease = DefaultLease
	}
	if err := CheckLease(full.Lease); err != nil {
		return nil, err
	}
	if full.MaxHold == 0 {
		full.MaxHold = min(full.Lease, MaxLease/maxLeases) * maxLeases
	}
	return &full, nil
}

// claim returns a grant, and since when its lease counts: a claim that waits its
// turn has no lease while it waits.
func (w *Worker) claim(ctx context.Context, key string) (Grant, time.Time, error) {
	if b, ok := w.Backend.(Waiter); ok {
		g, err := b.Acquire(ctx, key, w.Name, w.Lease)
		return g, time.Now(), err
	}
	sent := time.Now()
	g, err := w.Backend.TryAcquire(ctx, key, w.Name, w.Lease)
	return g, sent, err
}

// parting is the context of what is done after work, also where ctx has ended.
func (w *Worker) parting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), w.Lease)
}

func (w *Worker) release(ctx context.Context, g Grant) {
	ctx, cancel := w.parting(ctx)
	defer cancel()
	_ = w.Backend.Release(ctx, g)
}

func (w *Worker) commit(ctx context.Context, g Grant, value []byte) (Grant, error) {
	parting, cancel := w.parting(ctx)
	defer cancel()
	next, err := w.Backend.Commit(parting, g, value)
	if err == nil {
		return next, nil
	}
	var refused *ConflictError
	if w.Refused != nil && errors.As(err, &refused) {
		w.Refused(ctx, Refusal{Grant: g, Value: value, Err: err, At: time.Now()})
	}
	if errors.Is(err, ErrUncertain) {
		return g, err
	}
	return Grant{}, err
}

// run runs work while the lease of g, which counts since then, is kept alive. It
// returns only after the keeper has stopped, and passes on a panic of it.
func (w *Worker) run(ctx context.Context, g Grant, since time.Time, work Work) ([]byte, error) {
	if b, ok := w.Backend.(Watcher); ok {
		watched, cancel := b.Context(ctx, g)
		defer cancel()
		ctx = watched
	}
	ctx, end := context.WithCancelCause(ctx)
	k := &keeper{Worker: w, g: g, end: end}
	k.lapse = time.AfterFunc(time.Until(since.Add(w.Lease)), func() {
		end(fmt.Errorf("fenced: lease of %q has run out unrenewed: %w", g.Key, context.DeadlineExceeded))
	})
	done := make(chan any)
	go func() {
		defer func() {
			p := recover()
			if p != nil {
				end(fmt.Errorf("fenced: renewing %q panicked: %v", g.Key, p))
			}
			done <- p
		}()
		k.keep(ctx, since)
	}()
	defer func() {
		end(nil)
		p := <-done
		k.lapse.Stop()
		if p != nil {
			panic(p)
		}
	}()
	value, err := work(ctx, g)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) && !errors.Is(err, ErrSkip) {
		err = fmt.Errorf("%w (%w)", err, cause)
	}
	return value, err
}

// keeper renews a grant while work runs under it.
type keeper struct {
	*Worker
	g     Grant
	end   context.CancelCauseFunc // of the context of work
	lapse *time.Timer             // calls end when the lease has run out
}

// keep renews until ctx ends, the grant has been held for MaxHold, or a renewal
// is refused. A third of the lease passes from one renewal to the next, a tenth
// from a failed one to the next try.
func (k *keeper) keep(ctx context.Context, claimed time.Time) {
	wait := time.NewTimer(time.Until(claimed.Add(k.Lease / 3)))
	defer wait.Stop()
	for sent := claimed; ; {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		now := time.Now()
		if now.Sub(claimed) >= k.MaxHold {
			return
		}
		// A call that hangs leaves time for another.
		call, cancel := context.WithDeadline(ctx, earlier(now.Add(k.Lease/3), sent.Add(k.Lease)))
		_, err := k.Backend.Renew(call, k.g, k.Lease)
		cancel()
		switch {
		case err == nil:
			sent = now
			k.lapse.Reset(time.Until(sent.Add(k.Lease)))
			wait.Reset(time.Until(sent.Add(k.Lease / 3)))
		case final(err):
			k.end(err)
			return
		default:
			wait.Reset(k.Lease / 10)
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// final reports whether err of a renewal is an answer, and not a failure to get
// one.
func final(err error) bool {
	var refused *ConflictError
	return errors.As(err, &refused) || errors.Is(err, ErrClosed) || errors.Is(err, ErrInvalid)
}
