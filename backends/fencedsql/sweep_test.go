package fencedsql_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// lapse has every lease in db lapse.
func (d database) lapse(t *testing.T, db *sql.DB) {
	t.Helper()
	past := `now()`
	if d.dialect == fencedsql.SQLite {
		past = `0`
	}
	_, err := db.ExecContext(t.Context(), `UPDATE fenced_records SET expires = `+past+` WHERE holder IS NOT NULL`)
	require.NoError(t, err)
}

// TestContextSwept sweeps a grant, which tells the contexts of this Store at once.
func TestContextSwept(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, db := d.store(t, fencedsql.Options{Poll: never})
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		ctx, cancel := s.Context(t.Context(), g)
		defer cancel()
		d.lapse(t, db)
		ended, err := s.ReclaimExpired(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, ended, 1)
		endedBy(ctx, t, fenced.Reclaimed)
	})
}

// TestSweepLongestLapsedFirst sweeps one by one what lapsed at different times.
func TestSweepLongestLapsedFirst(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, db := d.store(t, fencedsql.Options{})
		for key, ago := range map[string]int{"second": 2, "third": 1, "first": 3} {
			_, err := s.TryAcquire(t.Context(), key, "A", time.Hour)
			require.NoError(t, err)
			past := fmt.Sprintf(`now() - interval '%d s'`, ago)
			if d.dialect == fencedsql.SQLite {
				past = fmt.Sprint(-ago)
			}
			_, err = db.ExecContext(t.Context(), `UPDATE fenced_records SET expires = `+past+` WHERE key = '`+key+`'`)
			require.NoError(t, err)
		}
		for _, want := range []string{"first", "second", "third"} {
			ended, err := s.ReclaimExpired(t.Context(), 1)
			require.NoError(t, err)
			require.Len(t, ended, 1)
			require.Equal(t, want, ended[0].Key)
		}
	})
}
