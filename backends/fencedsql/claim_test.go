package fencedsql_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// TestClaimLeavesTheHeldAlone claims a record whose holder has locked it: a claim
// that is refused waits for no lock and takes none.
func TestClaimLeavesTheHeldAlone(t *testing.T) {
	r := newRace(t, postgres, fencedsql.Options{})
	tx := r.begin(sql.LevelDefault)
	require.NoError(t, guarded(r, tx))
	_, err := r.s.TryAcquire(t.Context(), invoice, "B", time.Hour)
	require.ErrorIs(t, err, fenced.ErrGrantHeld)
	require.NoError(t, tx.Commit())
}

// claims is in the statement of a claim.
const claims = `INSERT INTO fenced_records AS r (key, holder`

// TestReleaseBehindClaim has a claimant take a lapsed grant over, and its holder
// release it while the answer to that is on its way: the release is refused, though
// whom it would hand the record to has it.
func TestReleaseBehindClaim(t *testing.T) {
	p, db := postgres.tapped(t)
	let := make(chan struct{})
	answer := sync.OnceFunc(func() { close(let) })
	landed := p.heldBack(claims, 2, let)
	s := postgres.storeIn(t, db, fencedsql.Options{Timeout: time.Second})
	a, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
	require.NoError(t, err)
	postgres.lapse(t, db)
	defer answer()
	got := acquire(t.Context(), s, "B")
	<-landed
	require.ErrorIs(t, s.Release(t.Context(), a), fenced.ErrStaleReadGeneration)
	b := <-got // which does without the answer
	require.Equal(t, a.Generation+1, b.Generation)
	_, err = s.Renew(t.Context(), b, time.Hour)
	require.NoError(t, err)
	answer()
	require.NoError(t, s.Close()) // once the answer is dealt with
	_, err = postgres.storeIn(t, db, fencedsql.Options{}).Commit(t.Context(), b, nil)
	require.NoError(t, err)
}

// TestClaimLostForAnother loses the answer to a claim that one caller makes for
// another, who then gives up: it is not told that it got nothing.
func TestClaimLostForAnother(t *testing.T) {
	p, db := postgres.tapped(t)
	p.only = claims
	s := postgres.storeIn(t, db, fencedsql.Options{Poll: never})
	there := postgres.storeIn(t, openDB(t, "pgx", p.dsn), fencedsql.Options{})
	a, err := there.TryAcquire(t.Context(), "k", "A", time.Hour)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	p.after = func(string) {
		if p.lose.Load() == replies {
			cancel()
		}
	}
	failed := make(chan error, 1)
	go func() {
		_, err := s.Acquire(ctx, "k", "B", time.Hour)
		failed <- err
	}()
	before := p.sent.Load()
	require.Eventually(t, func() bool { return p.sent.Load() > before+7 }, 20*time.Second, time.Millisecond) // the next look is far
	require.NoError(t, there.Release(t.Context(), a))
	p.lose.Store(replies)
	_, err = s.TryAcquire(t.Context(), "k", "C", time.Hour)
	p.lose.Store(nothing)
	require.ErrorIs(t, err, fenced.ErrUncertain)
	require.ErrorIs(t, <-failed, fenced.ErrUncertain)
}
