package fencedsql_test

import (
	"database/sql"
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
