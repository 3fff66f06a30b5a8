package fenced

import (
	"context"
	"time"
)

// Grant is the right to write one record, as it was issued: a plain value that
// may be copied, stored and sent: as a token, since encoding/json and the like
// lose what is unexported (see [Grant.Token]). Its Record is that of the claim,
// or of the last commit under the grant.
//
// What counts of it is Key, Version, Generation and an unexported nonce, by which
// the store knows that it issued a grant for this key and generation. The zero
// Grant, and one that any of these was taken from, is refused by every store.
// Version may be set to one that was read since.
type Grant struct {
	Record
	nonce uint64
	at    *record // where the issuing store keeps the record; a hint, checked like everything else
}

// NewGrant returns the grant that a store issues as r under nonce, which must
// not be 0. It is for implementers of [Backend]: a store compares the nonce that
// it keeps beside the generation with that of every grant presented to it, and
// draws a new one for every grant, so that the grants of a store restored from
// a backup are refused though their generations match.
func NewGrant(r Record, nonce uint64) Grant { return Grant{Record: r, nonce: nonce} }

// Nonce returns what g was issued under, 0 for a grant that no store issued.
// For implementers of [Backend].
func (g Grant) Nonce() uint64 { return g.nonce }

// nonce is that of the grant of generation n of the record whose key has the
// given hash. Hash and secret are the store's own, so it speaks for store, key
// and generation alike, and of any grant it can be told whether this store
// issued it, though no trace is kept of those that have ended. It is hard to
// guess by accident, and no signature.
//
// The mixing is the finalizer of SplitMix64 (Steele, Lea and Flood, 2014), a
// bijection, so no two generations of a record share a nonce; but for 0, which
// no grant has and 1 stands in for.
func (s *Store) nonce(hash uint64, n Generation) uint64 {
	z := hash + uint64(n)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return max(z^z>>31^s.secret, 1)
}

// TryAcquire claims the record of key for lease, or returns [ErrGrantHeld] at
// once. A grant whose lease has lapsed is taken over, unless claimants are
// waiting, whose turn it then is. The record need not exist. Errors:
// [ErrGrantHeld], [ErrInvalid], [ErrClosed], that of ctx.
func (s *Store) TryAcquire(ctx context.Context, key, holder string, lease time.Duration) (Grant, error) {
	if err := checkClaim(ctx, holder, lease); err != nil {
		return Grant{}, err
	}
	c := claim{holder: holder, lease: lease}
	st, hash := s.locate(key)
	st.mu.Lock()
	r, ok, err := st.claim(&c, key, hash)
	if !ok && err == nil {
		st.count.RefusedHeld++
		err = st.refuse(EventAcquire, &Record{Key: key, Holder: holder}, r, nil, held, &c.notices)
	}
	st.check(r)
	st.mu.Unlock()
	s.send(&c.notices)
	return c.grant, err
}

// Renew sets the lease of g to now plus lease, longer or shorter than it was,
// and returns g with its new Expires. A lease that has lapsed can be renewed as
// long as the grant has not ended. Claimants that wait follow the new lease.
// After an error the lease is as it was. Errors: [ErrStaleReadGeneration],
// [ErrForeignGrant], [ErrInvalid], [ErrClosed], that of ctx.
func (s *Store) Renew(ctx context.Context, g Grant, lease time.Duration) (Grant, error) {
	if err := checkContext(ctx); err != nil {
		return Grant{}, err
	}
	if err := CheckLease(lease); err != nil {
		return Grant{}, err
	}
	now := s.now()
	var n notices
	st, r := s.lock(&g)
	err := st.judge(EventRenew, &g, r, &n)
	if err == nil {
		h := r.holding
		h.peak = h.ran(now)
		h.from, h.until = now, now+int64(lease)
		st.expiries.file(r)
		st.arm(r, now)
		st.count.Renewals++
		if s.onEvent != nil {
			st.note(&n, Event{Kind: EventRenew, Key: r.key, Holder: h.holder, Generation: r.generation})
		}
		g.Expires = s.timeAt(h.until)
	}
	st.check(r)
	st.mu.Unlock()
	s.send(&n)
	if err != nil {
		return Grant{}, err
	}
	return g, nil
}

// Release ends g. The record goes to the claimant that has waited longest, if
// one does. After an error nothing has changed; in particular a grant that had
// ended already is refused with [ErrStaleReadGeneration]. Errors: that,
// [ErrForeignGrant], [ErrInvalid], [ErrClosed], that of ctx.
func (s *Store) Release(ctx context.Context, g Grant) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	now := s.now()
	var n notices
	st, r := s.lock(&g)
	err := st.judge(EventRelease, &g, r, &n)
	if err == nil {
		if r.holding.lapsed(now) {
			st.count.Overruns++
		}
		st.end(r, Released, now, r.holding.crowd.next(), &n)
		st.collect()
	}
	st.check(r)
	st.mu.Unlock()
	s.send(&n)
	return err
}

// Reclaim ends the grant of generation seen, whatever its lease, and returns the
// record as it then stands, which may have gone to a claimant that waited. If
// that grant is no longer the current one, or nobody holds any, it changes
// nothing and returns [ErrStaleReadGeneration]. Other errors: [ErrInvalid],
// [ErrClosed], that of ctx.
func (s *Store) Reclaim(ctx context.Context, key string, seen Generation) (Record, error) {
	if err := checkContext(ctx); err != nil {
		return Record{}, err
	}
	if err := CheckKey(key); err != nil {
		return Record{}, err
	}
	st, hash := s.locate(key)
	now := s.now()
	var n notices
	st.mu.Lock()
	if !st.open {
		st.mu.Unlock()
		return Record{}, ErrClosed
	}
	var v Record
	var err error
	r := st.records.find(key, hash)
	if r != nil && r.holding != nil && r.generation == seen {
		st.end(r, Reclaimed, now, r.holding.crowd.next(), &n)
		v = st.view(key, r)
		v.Value = copyOf(r.value)
		st.collect()
	} else {
		err = st.refuse(EventReclaim, &Record{Key: key, Generation: seen}, r, nil, stale, &n)
	}
	st.check(r)
	st.mu.Unlock()
	s.send(&n)
	return v, err
}

// ReclaimExpired ends up to limit grants whose lease has lapsed, all of them
// where limit is 0 or less, and returns them as they were, in no order. Each is
// looked at and ended in one step, so a grant renewed in the meantime is left
// alone. It takes time in proportion to what has lapsed. Where ctx ends or the
// store is closed midway, the grants ended so far come with the error.
func (s *Store) ReclaimExpired(ctx context.Context, limit int) ([]Grant, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	now := s.now()
	var ended []Grant
	from := s.sweeps.Inc() // a limit would else starve the stripes behind
	for i := range uint32(stripes) {
		st := &s.stripes[(from+i)%stripes]
		for {
			var n notices
			g, err := st.sweep(now, &n)
			if err != nil {
				return ended, err
			}
			if g.Generation == 0 {
				break
			}
			ended = append(ended, g)
			s.send(&n)
			if len(ended) == limit {
				return ended, nil
			}
			if err := ctx.Err(); err != nil {
				return ended, err
			}
		}
	}
	return ended, nil
}

// sweep ends one grant that has lapsed by now and returns it as it was, or the
// zero Grant.
func (st *stripe) sweep(now int64, n *notices) (Grant, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.open {
		return Grant{}, ErrClosed
	}
	r := st.expiries.lapsed(now)
	if r == nil {
		return Grant{}, nil
	}
	var g Grant
	st.grant(&g, r)
	st.expiries.drop(r) // or, claimed anew, it would be looked at before others once more
	st.end(r, Reclaimed, now, r.holding.crowd.next(), n)
	st.collect()
	st.check(r)
	return g, nil
}

// claim is what a claimant comes with, and what it leaves with.
type claim struct {
	holder  string
	lease   time.Duration
	grant   Grant
	notices notices
}

// claim serves c if the record is free, or if its lease has lapsed and nobody
// waits for it, and reports whether it did.
func (st *stripe) claim(c *claim, key string, hash uint64) (r *record, ok bool, err error) {
	if !st.open {
		return nil, false, ErrClosed
	}
	r = st.records.find(key, hash)
	if r == nil {
		if err := CheckKey(key); err != nil {
			return nil, false, err
		}
		r = st.add(key, hash)
	}
	if r.holding != nil && r.holding.crowd.head() != nil {
		return r, false, nil // till after that one; the timer is set
	}
	now := st.store.now()
	if r.holding != nil {
		st.arm(r, now) // head may have passed over the last to wait
		if !r.holding.lapsed(now) {
			return r, false, nil
		}
		st.end(r, TakenOver, now, nil, &c.notices)
	}
	if r.dead() {
		st.dead--
	}
	if last := len(st.spare) - 1; last >= 0 {
		r.holding = st.spare[last]
		st.spare = st.spare[:last]
	} else {
		r.holding = new(holding)
	}
	st.count.Live++
	st.issue(c, r, hash, now)
	return r, true, nil
}

// issue makes the grant of c the current one of r.
func (st *stripe) issue(c *claim, r *record, hash uint64, now int64) {
	h := r.holding
	h.holder, h.from, h.until, h.peak = c.holder, now, now+int64(c.lease), 0
	r.nonce = st.store.nonce(hash, r.generation)
	st.expiries.file(r)
	st.count.Grants++
	if st.store.onEvent != nil {
		st.note(&c.notices, Event{Kind: EventAcquire, Key: r.key, Holder: h.holder, Generation: r.generation})
	}
	st.grant(&c.grant, r)
}

// grant sets g to the current grant of r.
func (st *stripe) grant(g *Grant, r *record) {
	g.Record = st.view(r.key, r)
	g.Value = copyOf(r.value)
	g.nonce, g.at = r.nonce, r
}

// end ends the current grant of r: the one place where a generation moves. The
// record goes to the claimant to, which waited for it, or becomes free.
func (st *stripe) end(r *record, how Ending, now int64, to *waiter, n *notices) {
	h := r.holding
	if st.shares == nil {
		st.shares = new(shares)
	}
	st.shares.record(h.ran(now))
	st.count.end(how)
	if st.store.onEvent != nil {
		teller := n
		if to != nil && how == TakenOver {
			teller = &to.notices // the call is that of to
		}
		st.note(teller, Event{Kind: how.kind(), Key: r.key, Holder: h.holder, Generation: r.generation})
	}
	holder, watchers := h.holder, h.crowd.disperse()

	r.generation++
	r.ended, r.endedAt = how, now
	if to != nil {
		_, hash := st.store.locate(r.key)
		st.issue(&to.claim, r, hash, now)
		n.woken = to
		st.arm(r, now)
	} else {
		st.arm(r, now)
		r.holding = nil
		st.count.Live--
		st.expiries.leave(r, int(st.count.Live))
		st.keep(h)
		if r.dead() {
			st.dead++
		}
	}
	if watchers != nil {
		was := Record{Key: r.key, Version: r.version, Generation: r.generation - 1, Holder: holder}
		n.gone, n.cause = watchers, st.conflict(how.op(), &was, r, stale)
	}
}

// keep puts h by for the next claim.
func (st *stripe) keep(h *holding) {
	if len(st.spare) < maxSpare {
		h.holder = ""
		st.spare = append(st.spare, h)
	}
}
