package fencedsql

import (
	"context"
	"fmt"
	"time"

	"github.com/fencedgo/fenced"
)

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
// trip, fewer where their values are large, and time in proportion to what has
// lapsed. PostgreSQL leaves for the next sweep what another transaction has
// locked at the moment. Where it breaks off, the grants ended so far come with
// the error; with [fenced.ErrUncertain], up to a hundred more may have ended.
func (s *Store) ReclaimExpired(ctx context.Context, limit int) ([]fenced.Grant, error) {
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
		return nil, fmt.Errorf("fencedsql: sweep: %w", err)
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
