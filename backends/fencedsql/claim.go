package fencedsql

import (
	"context"
	"time"

	"github.com/fencedgo/fenced"
)

// TryAcquire claims the record of key for lease, or returns
// [fenced.ErrGrantHeld] at once. A grant whose lease has lapsed, by the clock of
// the server, is taken over, unless claimants of this Store are waiting, whose
// turn it then is; where a guard keeps it, that is waited for, see [Store.Guard].
// One round trip, also when refused.
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
		r, reasons, err = s.claim(ctx, key, claimant{holder, lease, newNonce(), func(r row) { s.drop(ctx, r) }})
	}
	switch {
	case err != nil:
		return fenced.Grant{}, err
	case reasons != nil:
		return fenced.Grant{}, r.conflict("acquire", fenced.Record{Key: key, Holder: holder}, reasons)
	}
	s.leases.issued(r)
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
		r, reasons, err := s.claim(ctx, key, w.claimant)
		w.note(err)
		served := err == nil && reasons == nil && s.serve(ctx, w, r)
		s.lines.put(w)
		w.wake() // to find that it is served, or to look for itself
		if err != nil || reasons != nil || served {
			return r, held, err
		}
	}
}

// serve hands the grant of r to w, or ends it where w has left.
func (s *Store) serve(ctx context.Context, w *waiter, r row) bool {
	has, first := s.lines.serve(w, r.grant())
	switch {
	case first:
		s.leases.issued(r)
	case !has && !s.spawn(func() { s.drop(ctx, r) }):
		s.drop(ctx, r)
	}
	return has
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

// claimant is who a claim is for.
type claimant struct {
	holder string
	lease  time.Duration
	nonce  uint64    // of all its tries: by it, it knows a grant for its own whose answer was lost
	late   func(row) // what becomes of a grant that comes too late, see [engine]
}

func (c claimant) holds(r row) bool { return r.wrote || r.held && r.nonce == c.nonce }

// tooLate is for the answer to a step that was to issue a grant to c.
func (s *Store) tooLate(c claimant) func(row) {
	sent := time.Now()
	return func(r row) {
		if c.holds(r) {
			r.sent = sent
			s.leases.ended(r)
			c.late(r)
		}
	}
}

// claim tries to claim for c. It returns the row, and why not, if another holds
// the record.
func (s *Store) claim(ctx context.Context, key string, c claimant) (row, []error, error) {
	r, reasons, err := s.run(ctx, call{op: "acquire", key: key, step: &s.st.claim, judge: row.judgeClaim, mine: c.holds, late: s.tooLate(c)},
		escape.Replace(c.holder), int64(c.nonce), millis(c.lease))
	if err == nil && reasons == nil {
		s.leases.ended(r)
	}
	return r, reasons, err
}

// drop ends a grant that was issued to a caller who had left.
func (s *Store) drop(ctx context.Context, r row) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Timeout)
	defer cancel()
	_, _ = s.step(ctx, &s.st.release, nil, escape.Replace(r.Key), int64(r.Generation), int64(r.nonce))
	s.lines.wake(r.Key)
}
