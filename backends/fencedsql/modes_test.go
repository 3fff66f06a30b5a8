package fencedsql_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// TestExecModes makes every call in the modes that pgx has for servers behind a
// transaction pooler, which keeps no prepared statements.
func TestExecModes(t *testing.T) {
	for _, mode := range []string{"cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			_, dsn := postgres.open(t)
			db := openDB(t, "pgx", dsn+"&default_query_exec_mode="+mode)
			s := postgres.storeIn(t, db, fencedsql.Options{GuardIdle: time.Minute, Notify: "fenced"})
			ctx := t.Context()
			const key = "it's a 'key' \\ with \x00 and \x01"
			a, err := s.TryAcquire(ctx, key, "A's", time.Hour)
			require.NoError(t, err)
			_, err = s.TryAcquire(ctx, key, "B", time.Hour)
			require.ErrorIs(t, err, fenced.ErrGrantHeld)
			next, err := s.Commit(ctx, a, []byte("\x00'\\\xff"))
			require.NoError(t, err)
			_, err = s.Commit(ctx, a, nil)
			require.ErrorIs(t, err, fenced.ErrVersionConflict)
			renewed, err := s.Renew(ctx, next, 2*time.Hour)
			require.NoError(t, err)
			require.True(t, renewed.Expires.After(a.Expires))
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			require.NoError(t, s.Guard(ctx, tx, next))
			require.NoError(t, tx.Rollback())
			for r, err := range s.Records(ctx) {
				require.NoError(t, err)
				require.Equal(t, key, r.Key)
				require.Equal(t, "A's", r.Holder)
				require.Equal(t, "\x00'\\\xff", string(r.Value))
			}
			next, err = s.Delete(ctx, next)
			require.NoError(t, err)
			outcome, err := s.Resolve(ctx, a)
			require.NoError(t, err)
			require.Equal(t, fencedsql.Landed, outcome)
			_, err = s.Reclaim(ctx, key, a.Generation)
			require.NoError(t, err)
			require.ErrorIs(t, s.Release(ctx, next), fenced.ErrStaleReadGeneration)

			for want, call := range []func(fenced.Version) (fenced.Record, error){
				func(v fenced.Version) (fenced.Record, error) { return s.CompareAndDelete(ctx, "other", v) },
				func(v fenced.Version) (fenced.Record, error) { return s.CompareAndSwap(ctx, "other", 0, nil) },
				func(v fenced.Version) (fenced.Record, error) { return s.CompareAndSwap(ctx, "other", v, nil) },
				func(v fenced.Version) (fenced.Record, error) { return s.CompareAndDelete(ctx, "other", v) },
			} {
				r, err := call(fenced.Version(want))
				require.NoError(t, err)
				require.Equal(t, fenced.Version(want)+1, r.Version)
			}
			_, err = s.TryAcquire(ctx, key, "C", time.Millisecond)
			require.NoError(t, err)
			for swept := 0; swept == 0; {
				ended, err := s.ReclaimExpired(ctx, 7)
				require.NoError(t, err)
				swept = len(ended)
			}
		})
	}
}
