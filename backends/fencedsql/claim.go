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
		c := claimant{holder: holder, lease: lease, nonce: newNonce()}
		c.late = func(r row) { s.drop(ctx, r) }
		r, reasons, err = s.claim(ctx, key, c)
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
		r, reasons, err := s.claim(ctx, key, w.claimant)
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
	if s.lines.serve(w, r.grant()) {
		return true
	}
	end := func() {
		s.drop(ctx, r)
		s.lines.wake(r.Key)
	}
	if !s.spawn(end) {
		end()
	}
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

// claimant is who a claim is for.
type claimant struct {
	holder string
	lease  time.Duration
	nonce  uint64    // of all its tries: by it, it knows a grant for its own whose answer was lost
	late   func(row) // what becomes of a grant that comes too late, see [engine]
}

func (c claimant) holds(r row) bool { return r.wrote || r.held && r.nonce == c.nonce }

// claim tries to claim for c. It returns the row, and why not, if another holds
// the record.
func (s *Store) claim(ctx context.Context, key string, c claimant) (row, []error, error) {
	issued := s.issuing(c)
	late := func(r row) {
		if c.holds(r) {
			issued(r)
			c.late(r)
		}
	}
	r, reasons, err := s.run(ctx, call{op: "acquire", key: key, step: &s.st.claim, judge: row.judgeClaim, mine: c.holds, late: late},
		escape.Replace(c.holder), int64(c.nonce), millis(c.lease))
	if err == nil && reasons == nil {
		issued(r)
	}
	return r, reasons, err
}

// issuing is called before a grant is asked for. It returns a function that notes
// that grant, and the end of the one before.
func (s *Store) issuing(c claimant) func(row) {
	until := time.Now().Add(c.lease)
	return func(r row) {
		s.leases.ended(r)
		s.leases.issued(r, until)
	}
}

// drop ends a grant that was issued to a caller who had left.
func (s *Store) drop(ctx context.Context, r row) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Timeout)
	defer cancel()
	_, _ = s.step(ctx, &s.st.release, nil, escape.Replace(r.Key), int64(r.Generation), int64(r.nonce))
}
