package fencedsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"
	"time"

	_ "github.com/lib/pq"
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
			everyCall(t, openDB(t, "pgx", dsn+"&default_query_exec_mode="+mode))
		})
	}
}

// TestDrivers makes every call by drivers that do less for it.
func TestDrivers(t *testing.T) {
	t.Run("pq", func(t *testing.T) {
		_, dsn := postgres.open(t)
		everyCall(t, openDB(t, "postgres", dsn))
	})
	for name, wrap := range map[string]func(driver.Conn) driver.Conn{
		"prepares all":     func(c driver.Conn) driver.Conn { return struct{ driver.Conn }{c} },
		"skips the direct": func(c driver.Conn) driver.Conn { return skipping{c} },
	} {
		t.Run(name, func(t *testing.T) {
			db, dsn := postgres.open(t)
			postgres.storeIn(t, db, fencedsql.Options{}) // these know no isolation level, which to make the tables takes
			behind := sql.OpenDB(wrapped{db.Driver(), dsn, wrap})
			t.Cleanup(func() { _ = behind.Close() })
			everyCall(t, behind)
		})
	}
}

// wrapped is a driver whose connections are wrapped.
type wrapped struct {
	driver driver.Driver
	dsn    string
	wrap   func(driver.Conn) driver.Conn
}

func (w wrapped) Driver() driver.Driver { return w.driver }

func (w wrapped) Connect(context.Context) (driver.Conn, error) {
	c, err := w.driver.Open(w.dsn)
	if err != nil {
		return nil, err
	}
	return w.wrap(c), nil
}

// skipping is a connection that asks for each statement to be prepared.
type skipping struct{ driver.Conn }

func (skipping) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, driver.ErrSkip
}

// everyCall makes every call on a database of PostgreSQL.
func everyCall(t *testing.T, db *sql.DB) {
	t.Helper()
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
}
