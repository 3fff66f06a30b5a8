package fencedtest_test

import (
	"context"
	"slices"
	"time"

	"github.com/fencedgo/fenced"
)

// The grants of the naive store, and those who wait for one.

func (n *naive) TryAcquire(ctx context.Context, key, holder string, lease time.Duration) (fenced.Grant, error) {
	r, err := n.claimant(ctx, key, holder, lease)
	if err != nil {
		return fenced.Grant{}, err
	}
	defer n.mu.Unlock()
	if n.taken(r, holder) {
		if n.flaw == "a refused claim lengthens the lease" {
			r.until = r.until.Add(lease)
		}
		return fenced.Grant{}, n.refuse("acquire", fenced.Record{Key: key, Holder: holder}, r, fenced.ErrGrantHeld)
	}
	n.yield("a claim is two steps")
	if r.held && n.flaw != "a claim is two steps" {
		n.end(r, fenced.TakenOver)
	}
	return n.issue(r, holder, lease), nil
}

func (n *naive) claimant(ctx context.Context, key, holder string, lease time.Duration) (*row, error) {
	if err := ctx.Err(); err != nil && n.flaw != "finished contexts go on" {
		return nil, err
	}
	if err := fenced.CheckHolder(holder); err != nil {
		return nil, err
	}
	if err := fenced.CheckLease(lease); err != nil {
		return nil, err
	}
	return n.enter(ctx, key)
}

// taken reports whether holder cannot have r now.
func (n *naive) taken(r *row, holder string) bool {
	switch {
	case !r.held:
		return false
	case n.flaw == "a label claims again" && r.holder == holder:
		return false
	case n.flaw == "a lapsed grant is never taken over":
		return true
	case n.flaw == "a lease includes its last instant":
		return !time.Now().After(r.until)
	}
	return !r.lapsed()
}

func (n *naive) issue(r *row, holder string, lease time.Duration) fenced.Grant {
	switch n.flaw {
	case "a claim moves the version":
		r.version++
	case "a claim moves the generation":
		r.generation++
	}
	r.held, r.holder, r.nonce, r.until = true, holder, nonces.Add(1), time.Now().Add(lease)
	r.claimed = r.until
	if n.flaw == "a label has one mark" {
		r.nonce = uint64(holder[0])
	}
	return fenced.NewGrant(n.record(r), r.nonce)
}

// end ends the current grant of r, and serves who waits.
func (n *naive) end(r *row, how fenced.Ending) {
	switch {
	case n.flaw == "a release keeps the generation" && how == fenced.Released,
		n.flaw == "a reclaim keeps the generation" && how == fenced.Reclaimed,
		n.flaw == "a label has one mark" && how == fenced.TakenOver:
	case n.flaw == "a take-over counts twice" && how == fenced.TakenOver:
		r.generation += 2
	default:
		r.generation++
	}
	was := fenced.Record{Key: r.key, Version: r.version, Generation: r.generation - 1, Holder: r.holder}
	r.held, r.ended, r.endedAt = false, how, time.Now()
	for _, tell := range r.watchers {
		if n.flaw != "a context outlives its grant" {
			tell(n.refuse("context", was, r, fenced.ErrStaleReadGeneration))
		}
	}
	r.watchers = nil
	n.serve(r)
}

func (n *naive) Renew(ctx context.Context, g fenced.Grant, lease time.Duration) (fenced.Grant, error) {
	if err := fenced.CheckLease(lease); err != nil && ctx.Err() == nil {
		return fenced.Grant{}, err
	}
	r, reason, err := n.under(ctx, g)
	if err != nil {
		return fenced.Grant{}, err
	}
	defer n.mu.Unlock()
	switch {
	case n.flaw == "a renewal revives" && reason == fenced.ErrStaleReadGeneration && !r.held:
		r.held, r.holder, r.nonce, r.generation, reason = true, g.Holder, g.Nonce(), g.Generation, nil
	case n.flaw == "a renewal asks the label" && r.held && r.holder == g.Holder:
		reason = nil
	case n.flaw == "a renewal asks the clock" && reason == nil && r.lapsed():
		reason = fenced.ErrStaleReadGeneration
	case n.flaw == "a refused renewal lengthens the lease" && reason != nil:
		r.until = r.until.Add(lease)
	}
	if reason != nil {
		return fenced.Grant{}, n.refuse("renew", g.Record, r, reason)
	}
	if until := time.Now().Add(lease); n.flaw != "a renewal never shortens" || until.After(r.until) {
		r.until = until
	}
	close(r.renewed)
	r.renewed = make(chan struct{})
	g.Expires = r.until
	return g, nil
}

func (n *naive) Release(ctx context.Context, g fenced.Grant) error {
	r, reason, err := n.under(ctx, g)
	if err != nil {
		return err
	}
	defer n.mu.Unlock()
	if n.flaw == "a release asks the label" && r.held && r.holder == g.Holder {
		reason = nil
	}
	if reason != nil {
		return n.refuse("release", g.Record, r, reason)
	}
	n.end(r, fenced.Released)
	n.collect()
	return nil
}

func (n *naive) Reclaim(ctx context.Context, key string, seen fenced.Generation) (fenced.Record, error) {
	r, err := n.enter(ctx, key)
	if err != nil {
		return fenced.Record{}, err
	}
	defer n.mu.Unlock()
	is := r.held && r.generation == seen
	switch n.flaw {
	case "a reclaim ignores what was seen":
		is = r.held
	case "a reclaim ends what nobody holds":
		is = r.generation == seen
	case "a reclaim waits for the lease":
		is = is && r.lapsed()
	}
	if !is {
		return fenced.Record{}, n.refuse("reclaim", fenced.Record{Key: key, Generation: seen}, r, fenced.ErrStaleReadGeneration)
	}
	n.end(r, fenced.Reclaimed)
	return n.record(r), nil
}

func (n *naive) ReclaimExpired(ctx context.Context, limit int) ([]fenced.Grant, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var ended []fenced.Grant
	for _, r := range n.rows {
		lapsed := r.held && r.lapsed()
		if n.flaw == "a sweep misses renewals" {
			lapsed = r.held && !time.Now().Before(r.claimed)
		}
		if !lapsed {
			continue
		}
		ended = append(ended, fenced.NewGrant(n.record(r), r.nonce))
		n.end(r, fenced.Reclaimed)
		if len(ended) == limit && n.flaw != "a sweep has no limit" {
			break
		}
	}
	return ended, nil
}

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
	r, err := p.claimant(ctx, key, holder, lease)
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
		if p.flaw == "waiters miss the lapse" {
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
