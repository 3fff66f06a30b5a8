package fencedsql_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// TestRoundTrips counts what each call sends to PostgreSQL.
func TestRoundTrips(t *testing.T) {
	p, db := postgres.tapped(t)
	s := postgres.storeIn(t, db, fencedsql.Options{})
	ctx := t.Context()
	costs := func(what string, want int64, call func() error) {
		t.Helper()
		before := p.sent.Load()
		err := call()
		require.Equal(t, want, p.sent.Load()-before, "%s: %v", what, err)
	}
	var g fenced.Grant
	costs("claim", 1, func() (err error) { g, err = s.TryAcquire(ctx, "k", "A", time.Hour); return err })
	for name, call := range calls(t, s, fenced.NewGrant(g.Record, g.Nonce()+1)) {
		costs(name+", refused or not", 1, call)
	}
	g, err := s.TryAcquire(ctx, "k2", "A", time.Hour)
	require.NoError(t, err)
	old := g
	costs("commit", 1, func() (err error) { g, err = s.Commit(ctx, g, nil); return err })
	costs("commit, refused", 1, func() (err error) { _, err = s.Commit(ctx, old, nil); return err })
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	costs("guard", 1, func() error { return s.Guard(ctx, tx, g) })
	require.NoError(t, tx.Rollback())
	costs("context of a grant just issued", 0, func() error { _, cancel := s.Context(ctx, g); cancel(); return nil })
	costs("claim, commit, release", 3, func() error {
		g, err := s.Acquire(ctx, "k3", "A", time.Hour)
		require.NoError(t, err)
		g, err = s.Commit(ctx, g, nil)
		require.NoError(t, err)
		return s.Release(ctx, g)
	})
}
