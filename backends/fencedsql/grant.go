package fencedsql

import (
	"context"
	"time"

	"github.com/fencedgo/fenced"
)

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
	r, err := s.under(ctx, g, row.judge, call{op: "renew", step: &s.st.renew}, millis(lease))
	if err != nil {
		return fenced.Grant{}, err
	}
	g.Expires = r.Expires
	s.leases.renewed(r)
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
	// What w holds may be what it claimed itself, if the answer to this was not lost.
	mine := func(r row) bool {
		return r.lost && w.holds(r) && r.ended == fenced.Released && r.Generation == g.Generation+1 && r.endedNonce == g.Nonce()
	}
	r, err := s.under(ctx, g, row.judge, call{op: "release", step: &s.st.handOver, mine: mine, late: s.tooLate(w.claimant)},
		millis(w.lease), escape.Replace(w.holder), int64(w.nonce))
	w.note(err)
	if err != nil {
		return err
	}
	s.leases.ended(r)
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
