package fencedtest_test

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/fencedgo/fenced"
)

// patient is a naive store in which claimants can wait and holders are told.
type patient struct{ *naive }

type ticket struct {
	ctx    context.Context //nolint:containedctx // of a call that waits
	holder string
	lease  time.Duration
	served chan struct{}
	grant  fenced.Grant
}

func (p patient) Acquire(ctx context.Context, key, holder string, lease time.Duration) (fenced.Grant, error) {
	check := func() (*row, error) { return p.claimant(ctx, key, holder, lease) }
	if p.flaw == "waiting claims are not checked" {
		check = func() (*row, error) { return p.enter(ctx, key) }
	}
	r, err := check()
	if err != nil {
		return fenced.Grant{}, err
	}
	defer p.mu.Unlock()
	if !p.taken(r, holder) {
		if r.held {
			p.end(r, fenced.TakenOver)
		}
		if !r.held {
			return p.issue(r, holder, lease), nil
		}
	}
	t := &ticket{ctx: ctx, holder: holder, lease: lease, served: make(chan struct{})}
	r.line = append(r.line, t)
	until := r.until
	for {
		renewed := r.renewed
		if p.flaw != "waiters miss renewals" {
			until = r.until
		}
		if p.flaw == "waiters miss the lapse" || !r.held {
			until = time.Now().Add(fenced.MaxLease)
		}
		lapse := time.NewTimer(time.Until(until))
		p.mu.Unlock()
		select {
		case <-t.served:
		case <-ctx.Done():
		case <-lapse.C:
		case <-renewed:
		}
		lapse.Stop()
		p.mu.Lock()
		if isClosed(t.served) {
			return t.grant, nil
		}
		if err := ctx.Err(); err != nil {
			if p.flaw != "waiters stay in line" {
				r.line = slices.DeleteFunc(r.line, func(other *ticket) bool { return other == t })
			}
			return fenced.Grant{}, err
		}
		if r.held && !time.Now().Before(until) && (r.lapsed() || p.flaw == "waiters miss renewals") {
			p.end(r, fenced.TakenOver)
		}
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// serve gives r, which is free, to whoever has waited longest.
func (n *naive) serve(r *row) {
	if n.flaw == "a hand-over takes a moment" && len(r.line) > 0 {
		time.AfterFunc(1, func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.next(r)
		})
		return
	}
	n.next(r)
}

func (n *naive) next(r *row) {
	for len(r.line) > 0 && !r.held {
		at := 0
		if n.flaw == "last come, first served" {
			at = len(r.line) - 1
		}
		t := r.line[at]
		r.line = slices.Delete(r.line, at, at+1)
		if t.ctx.Err() == nil || n.flaw == "waiters stay in line" {
			t.grant = n.issue(r, t.holder, t.lease)
			close(t.served)
		}
	}
}

func (p patient) Context(ctx context.Context, g fenced.Grant) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	r, reason, err := p.under(ctx, g)
	if p.flaw == "any grant has a context" && (err != nil || reason == fenced.ErrForeignGrant) {
		if err == nil {
			p.mu.Unlock()
		}
		return ctx, func() { cancel(nil) }
	}
	if err != nil {
		cancel(err)
		return ctx, func() {}
	}
	defer p.mu.Unlock()
	if reason != nil {
		cancel(p.refuse("context", g.Record, r, reason))
		return ctx, func() {}
	}
	r.watchers = append(r.watchers, cancel)
	if p.flaw == "a context ends with the lease" {
		time.AfterFunc(time.Until(r.until), func() { cancel(context.DeadlineExceeded) })
	}
	return ctx, func() { cancel(nil) }
}

// lister is a naive store that can list its records.
type lister struct{ *naive }

func (l lister) All() iter.Seq[fenced.Record] {
	return func(yield func(fenced.Record) bool) {
		l.mu.Lock()
		rows := slices.Collect(maps.Values(l.rows))
		l.mu.Unlock()
		for _, r := range rows {
			l.mu.Lock()
			v := l.record(r)
			r.revived = l.flaw == "a listing revives"
			listed := v.Exists() || l.flaw == "the deleted are listed" && r.version > 0 ||
				l.flaw == "refused calls leave a record" && r.refused > 0
			l.mu.Unlock()
			if listed && !yield(v) {
				return
			}
		}
	}
}
