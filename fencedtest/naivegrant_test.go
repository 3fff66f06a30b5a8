package fencedtest_test

import (
	"context"
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
		line := r.line
		if n.flaw == "a claim overtakes the line" {
			r.line = nil
		}
		n.end(r, fenced.TakenOver)
		if n.flaw == "a claim overtakes the line" {
			r.line = line
		}
		if r.held { // by whoever waited
			return fenced.Grant{}, n.refuse("acquire", fenced.Record{Key: key, Holder: holder}, r, fenced.ErrGrantHeld)
		}
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
	if n.flaw == "a long label is cut" {
		r.holder = holder[:min(len(holder), 100)]
	}
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
	if n.flaw != "a reclaim passes waiters over" || how != fenced.Reclaimed {
		n.serve(r)
	}
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
	if n.yield("a renewal is two steps"); n.flaw == "a renewal is two steps" {
		r.held, r.holder, r.nonce, r.generation = true, g.Holder, g.Nonce(), g.Generation
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
	switch {
	case n.flaw == "a release asks the label" && r.held && r.holder == g.Holder:
		reason = nil
	case n.flaw == "a release asks the clock" && reason == nil && r.lapsed():
		reason = fenced.ErrStaleReadGeneration
	}
	if reason != nil {
		return n.refuse("release", g.Record, r, reason)
	}
	if n.flaw == "a release frees a label" {
		for _, other := range n.rows {
			if other.held && other.holder == r.holder && other != r {
				n.end(other, fenced.Released)
			}
		}
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
	var lapsing []*row
	for _, r := range n.rows {
		lapsed := r.held && r.lapsed()
		if n.flaw == "a sweep misses renewals" {
			lapsed = r.held && !time.Now().Before(r.claimed)
		}
		if lapsed {
			lapsing = append(lapsing, r)
		}
	}
	if limit > 0 && n.flaw != "a sweep has no limit" {
		lapsing = lapsing[:min(limit, len(lapsing))]
	}
	n.yield("a sweep is two steps")
	for _, r := range lapsing {
		was := fenced.NewGrant(n.record(r), r.nonce)
		n.end(r, fenced.Reclaimed)
		if n.flaw == "a sweep gives what is left" {
			was = fenced.NewGrant(n.record(r), r.nonce)
		}
		ended = append(ended, was)
	}
	return ended, nil
}
