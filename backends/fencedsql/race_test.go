package fencedsql_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// TestRefusedInTheMoment reclaims a grant while a commit under it waits for the
// row. The statement began when the grant was current, and what it then saw
// contradicts its refusal.
func TestRefusedInTheMoment(t *testing.T) {
	for _, level := range []string{"read%20committed", "repeatable%20read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			r := newRace(t, postgres, fencedsql.Options{})
			s := postgres.storeIn(t, openDB(t, "pgx", r.dsn+"&default_transaction_isolation="+level), fencedsql.Options{})
			err := r.reclaimedInTheMoment(s)
			require.ErrorIs(t, err, fenced.ErrStaleReadGeneration)
			require.NotErrorIs(t, err, fencedsql.ErrRetry)
			var refused *fenced.ConflictError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, fenced.Reclaimed, refused.Ended)
			require.Equal(t, r.a.Generation+1, refused.Current.Generation)
			require.Empty(t, refused.Current.Holder)
		})
	}
}

// reclaimedInTheMoment ends A's grant while a commit under it waits for the row,
// and returns what the commit returns.
func (r *race) reclaimedInTheMoment(s *fencedsql.Store) error {
	r.Helper()
	reclaim := r.begin(sql.LevelDefault)
	_, err := reclaim.ExecContext(r.Context(), `UPDATE fenced_records SET generation = generation + 1, ended = 2,
		ended_at = now(), ended_nonce = nonce, holder = NULL, nonce = NULL, expires = NULL`)
	require.NoError(r, err)
	commit := make(chan error, 1)
	go func() {
		_, err := s.Commit(r.Context(), r.a, []byte("late"))
		commit <- err
	}()
	require.True(r, r.blocked(1, commit))
	require.NoError(r, reclaim.Commit())
	return <-commit
}

// TestClaimInTheMoment has two claims of a record that is new.
func TestClaimInTheMoment(t *testing.T) {
	r := newRace(t, postgres, fencedsql.Options{})
	first := r.begin(sql.LevelDefault)
	_, err := first.ExecContext(t.Context(), `INSERT INTO fenced_records (key, holder, nonce, expires) VALUES ('new', 'A', 1, now() + interval '1 hour')`)
	require.NoError(t, err)
	claim := make(chan error, 1)
	go func() {
		_, err := r.s.TryAcquire(t.Context(), "new", "B", time.Hour)
		claim <- err
	}()
	require.True(t, r.blocked(1, claim))
	require.NoError(t, first.Commit())
	err = <-claim
	require.ErrorIs(t, err, fenced.ErrGrantHeld)
	var refused *fenced.ConflictError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "A", refused.Current.Holder)
}

// TestSweepPasses leaves alone what a guard has locked, and does not wait for it.
func TestSweepPasses(t *testing.T) {
	r := newRace(t, postgres, fencedsql.Options{})
	tx := r.begin(sql.LevelDefault)
	require.NoError(t, guarded(r, tx))
	_, err := r.s.TryAcquire(t.Context(), "other", "A", time.Hour)
	require.NoError(t, err)
	sweep := func() (keys []string) {
		ended, err := r.s.ReclaimExpired(t.Context(), 0)
		require.NoError(t, err)
		for _, g := range ended {
			keys = append(keys, g.Key)
		}
		return keys
	}
	require.Empty(t, sweep())
	require.NoError(t, tx.Rollback())
	postgres.lapse(t, r.db)
	tx = r.begin(sql.LevelDefault)
	require.NoError(t, guarded(r, tx))
	require.Equal(t, []string{"other"}, sweep())
	require.NoError(t, tx.Commit())
	require.Equal(t, []string{invoice}, sweep())
}

// TestSweepPages ends more than one page of grants, and no more than asked for.
func TestSweepPages(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, db := d.store(t, fencedsql.Options{})
		const records = 250
		keys := make(map[string]bool)
		for i := range records {
			key := string(rune('一' + i))
			keys[key] = true
			_, err := s.CompareAndSwap(t.Context(), key, 0, []byte(key))
			require.NoError(t, err)
			_, err = s.TryAcquire(t.Context(), key, "A", time.Hour)
			require.NoError(t, err)
		}
		listed := 0
		for r, err := range s.Records(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, r.Key, string(r.Value))
			listed++
		}
		require.Equal(t, records, listed)
		d.lapse(t, db)
		for _, limit := range []int{120, 100, 0} {
			ended, err := s.ReclaimExpired(t.Context(), limit)
			require.NoError(t, err)
			if limit > 0 {
				require.Len(t, ended, limit)
			}
			for _, g := range ended {
				require.True(t, keys[g.Key], "%q ended twice", g.Key)
				delete(keys, g.Key)
				require.Equal(t, g.Key, string(g.Value))
				require.Equal(t, fenced.Generation(1), g.Generation)
				_, err := s.Commit(t.Context(), g, nil)
				require.ErrorIs(t, err, fenced.ErrStaleReadGeneration) // and not foreign: it is the grant itself
			}
		}
		require.Empty(t, keys)
	})
}

// TestPagesOfLargeValues reads no more than a megabyte of values, and one more,
// at a time.
func TestPagesOfLargeValues(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		p, db := d.tapped(t)
		s := d.storeIn(t, db, fencedsql.Options{})
		const records = 5
		value := bytes.Repeat([]byte("0123456789abcdef"), 600<<10/16)
		for i := range records {
			_, err := s.CompareAndSwap(t.Context(), fmt.Sprint(i), 0, value)
			require.NoError(t, err)
			_, err = s.TryAcquire(t.Context(), fmt.Sprint(i), "A", time.Millisecond)
			require.NoError(t, err)
		}
		before, listed := p.sent.Load(), 0
		for r, err := range s.Records(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(listed), r.Key)
			require.True(t, bytes.Equal(value, r.Value))
			listed++
		}
		require.Equal(t, records, listed)
		require.EqualValues(t, 3, p.sent.Load()-before)

		var ended []fenced.Grant
		require.Eventually(t, func() bool { // the last may not have lapsed yet
			before = p.sent.Load()
			some, err := s.ReclaimExpired(t.Context(), 0)
			require.NoError(t, err)
			if len(some) == records && d.dialect == fencedsql.PostgreSQL {
				require.EqualValues(t, 3, p.sent.Load()-before)
			}
			ended = append(ended, some...)
			return len(ended) == records
		}, 10*time.Second, time.Millisecond)
		for i, g := range ended {
			require.Equal(t, fmt.Sprint(i), g.Key)
			require.True(t, bytes.Equal(value, g.Value))
		}
	})
}

// TestSQLiteStoresTakeTurns has several Stores write to one file, whose
// connections do not wait for its lock: the Stores do.
func TestSQLiteStoresTakeTurns(t *testing.T) {
	_, dsn := sqlite.open(t)
	errs := make(chan error)
	const stores, records = 4, 2
	for i := range stores {
		s := sqlite.storeIn(t, openDB(t, "sqlite", dsn), fencedsql.Options{})
		for j := range records {
			go func() {
				g, err := s.TryAcquire(t.Context(), fmt.Sprintf("%d/%d", i, j), "A", time.Hour)
				for range 25 {
					if err == nil {
						g, err = s.Commit(t.Context(), g, nil)
					}
				}
				errs <- err
			}()
		}
	}
	for range stores * records {
		require.NoError(t, <-errs)
	}
}
