package fencedsql_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced/backends/fencedsql"
)

// TestHandedOverTooLate has the one who is to have the record leave while the
// release that hands it over waits for a lock: the record ends up free.
func TestHandedOverTooLate(t *testing.T) {
	p, db := postgres.tapped(t)
	r := &race{T: t, db: openDB(t, "pgx", p.dsn), s: postgres.storeIn(t, db, fencedsql.Options{Poll: never})}
	a, err := r.s.TryAcquire(t.Context(), "k", "A", time.Hour)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	before := p.sent.Load()
	got := acquire(ctx, r.s, "B")
	require.Eventually(t, func() bool { return p.sent.Load() > before }, 10*time.Second, time.Millisecond) // B waits
	lock := r.begin(sql.LevelDefault)
	_, err = lock.ExecContext(t.Context(), `SELECT 1 FROM fenced_records FOR SHARE`)
	require.NoError(t, err)
	released := make(chan error, 1)
	go func() { released <- r.s.Release(t.Context(), a) }()
	require.True(t, r.blocked(1, released))
	cancel()
	_, ok := <-got
	require.False(t, ok)
	require.NoError(t, lock.Commit())
	require.NoError(t, <-released)
	require.Eventually(t, func() bool {
		is, err := r.s.Read(t.Context(), "k")
		require.NoError(t, err)
		return is.Holder == "" && is.Generation == 3
	}, 10*time.Second, time.Millisecond)
}
