package fencedsql_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// TestGuard asks about grants of every kind, of records that exist nowhere.
func TestGuard(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, db := d.store(t, fencedsql.Options{})
		other, _ := d.store(t, fencedsql.Options{})
		ask := func(g fenced.Grant) error {
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer tx.Rollback() //nolint:errcheck // nothing was written
			return s.Guard(t.Context(), tx, g)
		}
		g, err := s.TryAcquire(t.Context(), invoice, "A", time.Hour)
		require.NoError(t, err)
		require.NoError(t, ask(g))
		theirs, err := other.TryAcquire(t.Context(), invoice, "A", time.Hour)
		require.NoError(t, err)
		require.ErrorIs(t, ask(theirs), fenced.ErrForeignGrant)
		theirs.Key = "unheard of"
		require.ErrorIs(t, ask(theirs), fenced.ErrForeignGrant)
		require.ErrorIs(t, ask(fenced.Grant{}), fenced.ErrInvalid)
		require.ErrorIs(t, s.Guard(t.Context(), nil, g), fenced.ErrInvalid)

		parsed, err := fenced.ParseToken(g.Token())
		require.NoError(t, err)
		require.NoError(t, ask(parsed))

		committed, err := s.Commit(t.Context(), g, []byte("x"))
		require.NoError(t, err)
		require.NoError(t, ask(committed))
		require.NoError(t, ask(g)) // no data is at stake but the user's

		require.NoError(t, s.Release(t.Context(), g))
		require.ErrorIs(t, ask(g), fenced.ErrStaleReadGeneration)
		require.ErrorIs(t, ask(committed), fenced.ErrStaleReadGeneration)

		lapsed, err := s.TryAcquire(t.Context(), invoice, "A", time.Millisecond)
		require.NoError(t, err)
		require.NoError(t, ask(lapsed)) // NoClock
		require.NoError(t, s.Close())
		require.ErrorIs(t, ask(lapsed), fenced.ErrClosed)
	})
}

// TestGuardSQLite keeps everybody out until the transaction ends, however it was
// begun.
func TestGuardSQLite(t *testing.T) {
	for _, begin := range []string{"immediate", "deferred"} {
		t.Run(begin, func(t *testing.T) {
			r := newRace(t, sqlite, fencedsql.Options{})
			r.db = openDB(t, "sqlite", r.dsn+"&_txlock="+begin)
			tx := r.begin(sql.LevelDefault)
			require.NoError(t, guarded(r, tx))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			defer cancel()
			_, err := r.s.Reclaim(ctx, invoice, r.a.Generation)
			require.ErrorIs(t, err, fencedsql.ErrRetry)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, fenced.ErrUncertain) // in a file, it is known

			_, err = tx.ExecContext(t.Context(), `UPDATE invoices SET owner = 'A' WHERE id = 1`)
			require.NoError(t, err)
			require.NoError(t, tx.Commit())
			require.Equal(t, "A", r.owner())
			require.NoError(t, <-r.succeed())
			require.Equal(t, "B", r.owner())
		})
	}
}

// TestGuardSQLiteOldSnapshot has a deferred transaction read, and another write,
// before the guard: also where that left the grant alone.
func TestGuardSQLiteOldSnapshot(t *testing.T) {
	for name, meanwhile := range map[string]func(*race){
		"grant ended": func(r *race) { require.NoError(r, <-r.succeed()) },
		"other write": func(r *race) { r.exec(`UPDATE invoices SET seen = seen + 1`) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRace(t, sqlite, fencedsql.Options{})
			tx := r.begin(sql.LevelDefault)
			var seen int
			require.NoError(t, tx.QueryRowContext(t.Context(), `SELECT count(*) FROM invoices`).Scan(&seen))
			meanwhile(r)
			require.NoError(t, naive(``)(r, tx)) // a plain look still finds the grant
			err := guarded(r, tx)
			require.ErrorIs(t, err, fencedsql.ErrRetry)
			require.NotErrorIs(t, err, fenced.ErrStaleReadGeneration)
		})
	}
}

// TestGuardSQLiteOutside looks at the fence before the transaction, not in it.
func TestGuardSQLiteOutside(t *testing.T) {
	r := newRace(t, sqlite, fencedsql.Options{})
	before := r.begin(sql.LevelDefault)
	require.NoError(t, naive(``)(r, before))
	require.NoError(t, before.Commit())
	require.NoError(t, <-r.succeed())
	tx := r.begin(sql.LevelDefault)
	_, err := tx.ExecContext(t.Context(), `UPDATE invoices SET owner = 'A' WHERE id = 1`)
	require.NoError(t, err)
	require.ErrorIs(t, guarded(r, tx), fenced.ErrStaleReadGeneration) // which here comes last
	require.NoError(t, tx.Commit())                                   // and is not heeded
	require.Equal(t, "A", r.owner())
}
