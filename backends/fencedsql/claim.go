package fencedsql

import (
	"context"
	"time"

	"github.com/fencedgo/fenced"
)

// Read returns the record as of one instant. An absent record is no error, its
// Value is nil. The slice is the caller's own. One round trip.
func (s *Store) Read(ctx context.Context, key string) (fenced.Record, error) {
	if err := s.live(ctx); err != nil {
		return fenced.Record{}, err
	}
	if err := fenced.CheckKey(key); err != nil {
		return fenced.Record{}, err
	}
	r, err := s.look(ctx, "read", key, &s.st.read)
	return r.Record, err
}

// look returns the row of key.
func (s *Store) look(ctx context.Context, op, key string, st *statement) (row, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	r, err := s.step(ctx, st, nil, escape.Replace(key))
	if err != nil {
		return row{}, failed(op, key, err)
	}
	return r.of(key), nil
}

// TryAcquire claims the record of key for lease, or returns
// [fenced.ErrGrantHeld] at once. A grant whose lease has lapsed, by the clock of
// the server, is taken over, unless claimants of this Store are waiting, whose
// turn it then is. One round trip, also when refused.
//
// Where ctx ends after the claim was sent, or no answer comes, the error is
// [fenced.ErrUncertain]. A grant that an answer still brings is released then; if
// none comes, it is a grant that nobody knows of and that ends with its lease.
// Other errors: [fenced.ErrGrantHeld], [fenced.ErrInvalid], [fenced.ErrClosed],
// that of ctx, those of the database.
func (s *Store) TryAcquire(ctx context.Context, key, holder string, lease time.Duration) (fenced.Grant, error) {
	if err := s.checkClaim(ctx, key, holder, lease); err != nil {
		return fenced.Grant{}, err
	}
	r, reasons, err := s.claimFirst(ctx, key)
	if err == nil && reasons == nil {
		r, reasons, err = s.claim(ctx, key, holder, lease)
	}
	switch {
	case err != nil:
		return fenced.Grant{}, err
	case reasons != nil:
		return fenced.Grant{}, r.conflict("acquire", fenced.Record{Key: key, Holder: holder}, reasons)
	}
	return r.grant(), nil
}

// claimFirst tries to claim for the claimant of this Store that has waited
// longest. If there is one, the record is held afterwards, by whomever.
func (s *Store) claimFirst(ctx context.Context, key string) (row, []error, error) {
	for {
		w, err := s.lines.take(ctx, key)
		if err != nil || w == nil {
			return row{}, nil, err
		}
		r, reasons, err := s.claim(ctx, key, w.holder, w.lease)
		served := err == nil && reasons == nil && s.serve(ctx, w, r)
		s.lines.put(w)
		w.wake() // to find that it is served, or to look for itself
		if err != nil || reasons != nil || served {
			return r, held, err
		}
	}
}

// serve hands the grant of r to w, which was taken, or ends it where w has left.
func (s *Store) serve(ctx context.Context, w *waiter, r row) bool {
	if s.lines.serve(w, r.grant()) {
		return true
	}
	s.drop(ctx, r)
	s.lines.wake(r.Key)
	return false
}

func (s *Store) checkClaim(ctx context.Context, key, holder string, lease time.Duration) error {
	if err := s.live(ctx); err != nil {
		return err
	}
	if err := fenced.CheckKey(key); err != nil {
		return err
	}
	if err := fenced.CheckHolder(holder); err != nil {
		return err
	}
	return fenced.CheckLease(lease)
}

// claim tries to claim. It returns the row, and why not, if the record is held.
func (s *Store) claim(ctx context.Context, key, holder string, lease time.Duration) (row, []error, error) {
	sent := time.Now()
	c := call{op: "acquire", key: key, step: &s.st.claim, judge: row.judgeClaim, nonce: newNonce(), late: func(r row) { s.drop(ctx, r) }}
	r, reasons, err := s.run(ctx, c, escape.Replace(holder), int64(c.nonce), millis(lease))
	if err == nil && reasons == nil {
		s.leases.ended(r)
		s.leases.set(r.grant(), sent.Add(lease))
	}
	return r, reasons, err
}

// drop ends a grant that was issued to a caller who had left.
func (s *Store) drop(ctx context.Context, r row) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Timeout)
	defer cancel()
	_, _ = s.step(ctx, &s.st.release, nil, escape.Replace(r.Key), int64(r.Generation), int64(r.nonce))
}

// Renew sets the lease of g to now, by the clock of the server, plus lease and
// returns g with its new Expires. A lapsed lease can be renewed as long as the
// grant has not ended. One round trip. Errors: [fenced.ErrStaleReadGeneration],
// [fenced.ErrForeignGrant], [fenced.ErrInvalid], [fenced.ErrClosed],
// [fenced.ErrUncertain], that of ctx, those of the database; after all but
// ErrUncertain the lease is as it was.
func (s *Store) Renew(ctx context.Context, g fenced.Grant, lease time.Duration) (fenced.Grant, error) {
	if err := s.live(ctx); err != nil {
		return fenced.Grant{}, err
	}
	if err := fenced.CheckLease(lease); err != nil {
		return fenced.Grant{}, err
	}
	sent := time.Now()
	r, err := s.under(ctx, g, row.judge, call{op: "renew", step: &s.st.renew}, millis(lease))
	if err != nil {
		return fenced.Grant{}, err
	}
	g.Expires = r.Expires
	s.leases.set(g, sent.Add(lease))
	return g, nil
}

// Release ends g. The record goes in the same step to the claimant of this Store
// that has waited longest, if one does. One round trip. Errors:
// [fenced.ErrStaleReadGeneration], [fenced.ErrForeignGrant],
// [fenced.ErrInvalid], [fenced.ErrClosed], [fenced.ErrUncertain], that of ctx,
// those of the database; after all but ErrUncertain nothing has changed.
func (s *Store) Release(ctx context.Context, g fenced.Grant) error {
	if err := s.live(ctx); err != nil {
		return err
	}
	w, err := s.lines.take(ctx, g.Key)
	if err != nil {
		return err
	}
	if w != nil {
		return s.handOver(ctx, g, w)
	}
	r, err := s.under(ctx, g, row.judge, call{op: "release", step: &s.st.release})
	if err != nil {
		return err
	}
	s.freed(r)
	return nil
}

// handOver ends g for the claimant w, which was taken.
func (s *Store) handOver(ctx context.Context, g fenced.Grant, w *waiter) error {
	defer func() {
		s.lines.put(w)
		w.wake() // to find that it is served, or to look for itself
	}()
	sent := time.Now()
	c := call{op: "release", step: &s.st.handOver, nonce: newNonce(), late: func(r row) { s.drop(ctx, r) }}
	r, err := s.under(ctx, g, row.judge, c, millis(w.lease), escape.Replace(w.holder), int64(c.nonce))
	if err != nil {
		return err
	}
	s.leases.ended(r)
	s.leases.set(r.grant(), sent.Add(w.lease))
	s.serve(ctx, w, r)
	return nil
}

// under runs c under g. It returns the row where the step wrote.
func (s *Store) under(ctx context.Context, g fenced.Grant, judge func(row, fenced.Grant) []error, c call, args ...any) (row, error) {
	if err := fenced.CheckGrant(g); err != nil {
		return row{}, err
	}
	c.key, c.judge = g.Key, func(r row) []error { return judge(r, g) }
	args = append([]any{int64(g.Generation), int64(g.Nonce())}, args...)
	r, reasons, err := s.run(ctx, c, args...)
	switch {
	case err != nil:
		return row{}, err
	case reasons != nil:
		return row{}, r.conflict(c.op, g.Record, reasons)
	}
	return r, nil
}

// Reclaim ends the grant of generation seen, whatever its lease, and returns the
// record as it then stands. If that grant is no longer the current one, or
// nobody holds any, it changes nothing and returns
// [fenced.ErrStaleReadGeneration]. A transaction that has passed
// [Store.Guard] with the grant makes it wait, at most [Options].Timeout. One
// round trip. Other errors: [fenced.ErrInvalid], [fenced.ErrClosed],
// [fenced.ErrUncertain], that of ctx, those of the database.
func (s *Store) Reclaim(ctx context.Context, key string, seen fenced.Generation) (fenced.Record, error) {
	if err := s.live(ctx); err != nil {
		return fenced.Record{}, err
	}
	if err := fenced.CheckKey(key); err != nil {
		return fenced.Record{}, err
	}
	judge := func(r row) []error { return r.judgeReclaim(seen) }
	r, reasons, err := s.run(ctx, call{op: "reclaim", key: key, step: &s.st.reclaim, judge: judge}, int64(seen))
	switch {
	case err != nil:
		return fenced.Record{}, err
	case reasons != nil:
		return fenced.Record{}, r.conflict("reclaim", fenced.Record{Key: key, Generation: seen}, reasons)
	}
	s.freed(r)
	return r.Record, nil
}

// ReclaimExpired ends up to limit grants whose lease has lapsed, all of them
// where limit is 0 or less, those longest lapsed first, and returns them as they
// were. Each is looked at and ended in one step. It takes a hundred in a round
// trip, fewer where their values are large, and time in proportion to what has lapsed. PostgreSQL leaves for the
// next sweep what another transaction has locked at the moment. Where it breaks
// off, the grants ended so far come with the error; with
// [fenced.ErrUncertain], up to a hundred more may have ended.
func (s *Store) ReclaimExpired(ctx context.Context, limit int) ([]fenced.Grant, error) {
	if err := s.live(ctx); err != nil {
		return nil, err
	}
	var ended []fenced.Grant
	for {
		if err := s.live(ctx); err != nil {
			return ended, err
		}
		n := pageRecords
		if limit > 0 {
			n = min(n, limit-len(ended))
		}
		rows, err := s.sweepOnce(ctx, n)
		if err != nil {
			return ended, err
		}
		for _, r := range rows {
			ended = append(ended, r.grant())
			s.freed(r.after())
		}
		if last(rows, n) || len(ended) == limit {
			return ended, nil
		}
	}
}

func (s *Store) sweepOnce(ctx context.Context, n int) ([]row, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	rows, err := s.sweep(ctx, n)
	if err != nil {
		return nil, failed("reclaim", "", err)
	}
	return rows, nil
}

// after returns r as it is once a sweep has ended its grant.
func (r row) after() row {
	r.ended, r.endedAt, r.endedNonce, r.endedVersion = fenced.Reclaimed, r.now, r.nonce, r.Version
	r.Generation++
	r.held, r.nonce, r.Holder, r.Expires = false, 0, "", time.Time{}
	return r
}

// freed tells those of this process who care that the grant before r has ended.
func (s *Store) freed(r row) {
	s.leases.ended(r)
	s.lines.wake(r.Key)
}
