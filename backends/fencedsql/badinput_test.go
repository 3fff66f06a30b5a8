package fencedsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// refuses fails unless Open returns an error that is want.
func (d database) refuses(t *testing.T, db *sql.DB, opts fencedsql.Options, want error) {
	t.Helper()
	s, err := fencedsql.Open(t.Context(), db, d.dialect, opts)
	require.ErrorIs(t, err, want)
	require.Nil(t, s)
}

func TestOpenInvalid(t *testing.T) {
	db, _ := sqlite.open(t)
	for _, opts := range []fencedsql.Options{
		{Timeout: -1},
		{MaxValue: -1},
		{Poll: -1},
		{Notify: "a\\b"},
		{Notify: "\xff"},
		{GuardIdle: 1000 * time.Hour},
		{GuardIdle: math.MaxInt64},
		{Notify: strings.Repeat("x", 64)},
		{Notify: "\x00"},
	} {
		sqlite.refuses(t, db, opts, fenced.ErrInvalid)
	}
	sqlite.refuses(t, nil, fencedsql.Options{}, fenced.ErrInvalid)
	database{}.refuses(t, db, fencedsql.Options{}, fenced.ErrInvalid)
	var none int
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_master`).Scan(&none))
	require.Zero(t, none)
}

func TestOpenWrongDialect(t *testing.T) {
	t.Run("SQLite as PostgreSQL", func(t *testing.T) {
		db, _ := sqlite.open(t)
		postgres.refuses(t, db, fencedsql.Options{}, fencedsql.ErrDialect)
	})
	t.Run("PostgreSQL as SQLite", func(t *testing.T) {
		db, _ := postgres.open(t)
		sqlite.refuses(t, db, fencedsql.Options{}, fencedsql.ErrDialect)
	})
}

// TestOpenLost loses the connection before the database has said what it is.
func TestOpenLost(t *testing.T) {
	p, db := postgres.tapped(t)
	p.lose.Store(replies)
	postgres.refuses(t, db, fencedsql.Options{}, io.ErrUnexpectedEOF)
	_, err := fencedsql.Open(t.Context(), db, fencedsql.PostgreSQL, fencedsql.Options{})
	require.NotErrorIs(t, err, fencedsql.ErrDialect)
	p.lose.Store(nothing)
	postgres.storeIn(t, db, fencedsql.Options{})
}

// TestOpenSchema meets no tables, those made by hand, newer ones, others' and
// broken ones.
func TestOpenSchema(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		exec := func(t *testing.T, db *sql.DB, statements ...string) {
			t.Helper()
			for _, statement := range statements {
				_, err := db.ExecContext(t.Context(), statement)
				require.NoError(t, err)
			}
		}
		byHand := fencedsql.Options{NoCreate: true}
		t.Run("missing", func(t *testing.T) {
			db, _ := d.open(t)
			d.refuses(t, db, byHand, fencedsql.ErrNoSchema)
			d.storeIn(t, db, fencedsql.Options{}) // not even a part of it was made
		})
		t.Run("by hand", func(t *testing.T) {
			db, _ := d.open(t)
			exec(t, db, fencedsql.Schema(d.dialect)...)
			s := d.storeIn(t, db, byHand)
			_, err := s.CompareAndSwap(t.Context(), "k", 0, []byte("v"))
			require.NoError(t, err)
		})
		t.Run("again", func(t *testing.T) {
			s, db := d.store(t, fencedsql.Options{})
			_, err := s.CompareAndSwap(t.Context(), "k", 0, []byte("v"))
			require.NoError(t, err)
			r, err := d.storeIn(t, db, byHand).Read(t.Context(), "k")
			require.NoError(t, err)
			require.Equal(t, "v", string(r.Value))
		})
		t.Run("newer", func(t *testing.T) {
			_, db := d.store(t, fencedsql.Options{})
			exec(t, db, `UPDATE fenced_schema SET version = version + 1`)
			d.refuses(t, db, fencedsql.Options{}, fencedsql.ErrNewerSchema)
		})
		t.Run("others", func(t *testing.T) {
			db, _ := d.open(t)
			exec(t, db, `CREATE TABLE fenced_records (id integer)`)
			d.refuses(t, db, fencedsql.Options{}, fencedsql.ErrNoSchema)
			exec(t, db, `CREATE TABLE fenced_schema (version integer)`, `INSERT INTO fenced_schema VALUES (1)`)
			d.refuses(t, db, fencedsql.Options{}, fencedsql.ErrNoSchema)
		})
		t.Run("empty version", func(t *testing.T) {
			_, db := d.store(t, fencedsql.Options{})
			exec(t, db, `DELETE FROM fenced_schema`)
			d.refuses(t, db, fencedsql.Options{}, fencedsql.ErrNoSchema)
		})
		t.Run("at once", func(t *testing.T) {
			db, dsn := d.open(t)
			if d.dialect == fencedsql.PostgreSQL { // where what others made could go unseen
				db = openDB(t, "pgx", dsn+"&default_transaction_isolation=serializable")
			}
			errs := make(chan error)
			for range 8 {
				go func() {
					s, err := fencedsql.Open(t.Context(), db, d.dialect, fencedsql.Options{})
					if err == nil {
						err = s.Close()
					}
					errs <- err
				}()
			}
			for range 8 {
				require.NoError(t, <-errs)
			}
		})
	})
}

// calls are all calls of a Store that ask the database, on a record that g
// holds.
func calls(t *testing.T, s *fencedsql.Store, g fenced.Grant) map[string]func() error {
	ctx := t.Context()
	return map[string]func() error{
		"read":               func() error { _, err := s.Read(ctx, g.Key); return err },
		"try acquire":        func() error { _, err := s.TryAcquire(ctx, "free", "B", time.Hour); return err },
		"acquire":            func() error { _, err := s.Acquire(ctx, "free too", "B", time.Hour); return err },
		"commit":             func() error { _, err := s.Commit(ctx, g, []byte("late")); return err },
		"delete":             func() error { _, err := s.Delete(ctx, g); return err },
		"renew":              func() error { _, err := s.Renew(ctx, g, time.Minute); return err },
		"release":            func() error { return s.Release(ctx, g) },
		"reclaim":            func() error { _, err := s.Reclaim(ctx, g.Key, g.Generation); return err },
		"reclaim expired":    func() error { _, err := s.ReclaimExpired(ctx, 0); return err },
		"compare-and-swap":   func() error { _, err := s.CompareAndSwap(ctx, "free", 0, []byte("late")); return err },
		"compare-and-delete": func() error { _, err := s.CompareAndDelete(ctx, "free", 0); return err },
		"resolve":            func() error { _, err := s.Resolve(ctx, g); return err },
		"records": func() error {
			for _, err := range s.Records(ctx) {
				return err
			}
			return nil
		},
	}
}

func TestTableDropped(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, db := d.store(t, fencedsql.Options{})
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), `DROP TABLE fenced_records`)
		require.NoError(t, err)
		for name, call := range calls(t, s, g) {
			err := call()
			require.ErrorIs(t, err, fencedsql.ErrNoSchema, name)
			require.NotErrorIs(t, err, fenced.ErrUncertain, name)
		}
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		require.ErrorIs(t, s.Guard(t.Context(), tx, g), fencedsql.ErrNoSchema)
		require.NoError(t, tx.Rollback())
	})
}

func TestValueLimit(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, _ := d.store(t, fencedsql.Options{MaxValue: 8})
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		_, err = s.Commit(t.Context(), g, make([]byte, 9))
		require.ErrorIs(t, err, fencedsql.ErrTooLarge)
		require.ErrorIs(t, err, fenced.ErrInvalid)
		_, err = s.CompareAndSwap(t.Context(), "other", 0, make([]byte, 9))
		require.ErrorIs(t, err, fencedsql.ErrTooLarge)
		for range s.All() {
			t.Fatal("something was written")
		}
		_, err = s.Commit(t.Context(), g, make([]byte, 8))
		require.NoError(t, err)
	})
}

// TestLargeValue writes what fills many pages and packets.
func TestLargeValue(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, _ := d.store(t, fencedsql.Options{})
		value := []byte(strings.Repeat("0123456789abcdef", 1<<16))
		_, err := s.CompareAndSwap(t.Context(), "k", 0, value)
		require.NoError(t, err)
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		require.Equal(t, string(value), string(g.Value))
	})
}

func TestReadOnly(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		db, dsn := sqlite.open(t)
		sqlite.storeIn(t, db, fencedsql.Options{})
		sqlite.refuses(t, openDB(t, "sqlite", dsn+"&mode=ro"), fencedsql.Options{}, fencedsql.ErrReadOnly)
		sqlite.refuses(t, openDB(t, "sqlite", dsn+"&_pragma=query_only(1)"), fencedsql.Options{}, fencedsql.ErrReadOnly)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		s, db := postgres.store(t, fencedsql.Options{})
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		_, dsn := postgres.open(t)
		postgres.refuses(t, openDB(t, "pgx", dsn+"&default_transaction_read_only=on"), fencedsql.Options{}, fencedsql.ErrReadOnly)

		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
		require.NoError(t, err)
		require.ErrorIs(t, s.Guard(t.Context(), tx, g), fencedsql.ErrReadOnly)
		require.NoError(t, tx.Rollback())
	})
	t.Run("PostgreSQL, later", func(t *testing.T) {
		s, db := postgres.store(t, fencedsql.Options{})
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		db.SetMaxOpenConns(1)
		_, err = db.ExecContext(t.Context(), `SET default_transaction_read_only = on`)
		require.NoError(t, err)
		_, err = s.Commit(t.Context(), g, []byte("late"))
		require.ErrorIs(t, err, fencedsql.ErrReadOnly)
		require.NotErrorIs(t, err, fenced.ErrUncertain)
	})
}

// TestPrivileges grants a role one thing after the other: before the last, Open
// says what is missing, and changes nothing.
func TestPrivileges(t *testing.T) {
	_, db := postgres.store(t, fencedsql.Options{})
	role := fmt.Sprintf("fenced_role_%d_%d", os.Getpid(), schemas.Add(1))
	db.SetMaxOpenConns(1)
	exec := func(statement string) {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	var schema string
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT current_schema()`).Scan(&schema))
	exec(`CREATE ROLE ` + role)
	for _, step := range []struct {
		grant string
		want  error
	}{
		{`SELECT ON fenced_schema`, fencedsql.ErrNoSchema}, // which cannot be looked into
		{`USAGE ON SCHEMA ` + schema, fencedsql.ErrPermission},
		{`SELECT ON fenced_records`, fencedsql.ErrPermission},
		{`INSERT, UPDATE ON fenced_records`, nil},
	} {
		exec(`GRANT ` + step.grant + ` TO ` + role)
		exec(`SET ROLE ` + role)
		s, err := fencedsql.Open(t.Context(), db, fencedsql.PostgreSQL, fencedsql.Options{NoCreate: true})
		require.ErrorIs(t, err, step.want, step.grant)
		if step.want == nil {
			g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
			require.NoError(t, err)
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			require.NoError(t, s.Guard(t.Context(), tx, g))
			require.NoError(t, tx.Commit())
			exec(`RESET ROLE`)
			exec(`REVOKE UPDATE ON fenced_records FROM ` + role)
			exec(`SET ROLE ` + role)
			_, err = s.Commit(t.Context(), g, nil)
			require.ErrorIs(t, err, fencedsql.ErrPermission)
			require.NotErrorIs(t, err, fenced.ErrUncertain)
		}
		exec(`RESET ROLE`)
	}
	exec(`DROP OWNED BY ` + role)
	exec(`DROP ROLE ` + role)
}

// TestSQLiteBusyTimeout has SQLite itself wait for the lock, as its busy_timeout
// says, until the context ends.
func TestSQLiteBusyTimeout(t *testing.T) {
	db, dsn := sqlite.open(t)
	s := sqlite.storeIn(t, openDB(t, "sqlite", dsn+"&_pragma=busy_timeout(60000)"), fencedsql.Options{})
	g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
	require.NoError(t, err)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, s.Guard(t.Context(), tx, g))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = s.Commit(ctx, g, nil)
	require.ErrorIs(t, err, fencedsql.ErrRetry)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, fenced.ErrUncertain)
	require.NoError(t, tx.Rollback())
	_, err = s.Commit(t.Context(), g, nil)
	require.NoError(t, err)
}

// TestFull fills the database up to a limit of pages.
func TestFull(t *testing.T) {
	dsn := sqliteDSN(filepath.Join(t.TempDir(), "fenced.db"), "_pragma=max_page_count(40)")
	s := sqlite.storeIn(t, openDB(t, "sqlite", dsn), fencedsql.Options{})
	g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
	require.NoError(t, err)
	g, err = s.Commit(t.Context(), g, []byte("fits"))
	require.NoError(t, err)
	_, err = s.Commit(t.Context(), g, make([]byte, 1<<20))
	require.ErrorIs(t, err, fencedsql.ErrFull)
	require.NotErrorIs(t, err, fenced.ErrUncertain)
	_, err = s.CompareAndSwap(t.Context(), "other", 0, make([]byte, 1<<20))
	require.ErrorIs(t, err, fencedsql.ErrFull)

	r, err := s.Read(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "fits", string(r.Value))
	require.Equal(t, fenced.Version(1), r.Version)
	_, err = s.Commit(t.Context(), g, []byte("again"))
	require.NoError(t, err)
}

func TestSQLitePragmas(t *testing.T) {
	dir := t.TempDir()
	for i, test := range []struct {
		dsn  string
		opts fencedsql.Options
		want error
	}{
		{"file:%s", fencedsql.Options{}, fencedsql.ErrUnsupported},
		{"file:%s?_pragma=journal_mode(DELETE)", fencedsql.Options{}, fencedsql.ErrUnsupported},
		{"file:%s?mode=memory", fencedsql.Options{}, fencedsql.ErrUnsupported},
		{"file:%s?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)", fencedsql.Options{}, fencedsql.ErrUnsupported},
		{"file:%s?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)", fencedsql.Options{Relaxed: true}, nil},
		{"file:%s?_pragma=journal_mode(WAL)&_pragma=synchronous(EXTRA)", fencedsql.Options{}, nil},
	} {
		db := openDB(t, "sqlite", fmt.Sprintf(test.dsn, filepath.Join(dir, fmt.Sprintf("%d.db", i))))
		s, err := fencedsql.Open(t.Context(), db, fencedsql.SQLite, test.opts)
		if test.want != nil {
			require.ErrorIs(t, err, test.want, test.dsn)
			continue
		}
		require.NoError(t, err, test.dsn)
		require.NoError(t, s.Close())
	}
}

func TestPostgresSettings(t *testing.T) {
	_, dsn := postgres.open(t)
	db := openDB(t, "pgx", dsn+"&synchronous_commit=off")
	postgres.refuses(t, db, fencedsql.Options{}, fencedsql.ErrUnsupported)
	postgres.storeIn(t, db, fencedsql.Options{Relaxed: true})
}

// TestEmptyValue writes empty values through a driver that makes null of them.
func TestEmptyValue(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		_, db := d.tapped(t)
		s := d.storeIn(t, db, fencedsql.Options{})
		exists := func(key string) {
			t.Helper()
			r, err := s.Read(t.Context(), key)
			require.NoError(t, err)
			require.True(t, r.Exists())
			require.Empty(t, r.Value)
		}
		for v := range fenced.Version(2) {
			_, err := s.CompareAndSwap(t.Context(), "k", v, nil)
			require.NoError(t, err)
			exists("k")
		}
		g, err := s.TryAcquire(t.Context(), "other", "A", time.Hour)
		require.NoError(t, err)
		_, err = s.Commit(t.Context(), g, []byte{})
		require.NoError(t, err)
		exists("other")
	})
}
