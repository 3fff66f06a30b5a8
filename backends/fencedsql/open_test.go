package fencedsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/fencedgo/fenced/backends/fencedsql"
)

// database makes databases of one dialect.
type database struct {
	dialect fencedsql.Dialect
	driver  string
	// open returns a fresh and empty database, which is closed with t, and its
	// DSN.
	open func(tb testing.TB) (*sql.DB, string)
}

// The databases that the tests run against.
var (
	sqlite   = database{fencedsql.SQLite, "sqlite", openSQLite}
	postgres = database{fencedsql.PostgreSQL, "pgx", openPostgres}
)

// onEach runs f as a subtest for each database.
func onEach(t *testing.T, f func(t *testing.T, d database)) {
	t.Helper()
	for _, d := range []database{sqlite, postgres} {
		t.Run(d.dialect.String(), func(t *testing.T) { f(t, d) })
	}
}

// store returns a Store over a fresh database.
func (d database) store(tb testing.TB, opts fencedsql.Options) (*fencedsql.Store, *sql.DB) {
	tb.Helper()
	db, _ := d.open(tb)
	return d.storeIn(tb, db, opts), db
}

// storeIn returns a Store over db.
func (d database) storeIn(tb testing.TB, db *sql.DB, opts fencedsql.Options) *fencedsql.Store {
	tb.Helper()
	s, err := fencedsql.Open(tb.Context(), db, d.dialect, opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func openDB(tb testing.TB, driver, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open(driver, dsn)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func sqliteDSN(path string, pragmas ...string) string {
	dsn := "file:" + path + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	for _, p := range pragmas {
		dsn += "&" + p
	}
	return dsn
}

func openSQLite(tb testing.TB) (*sql.DB, string) {
	tb.Helper()
	dsn := sqliteDSN(filepath.Join(tb.TempDir(), "fenced.db"))
	return openDB(tb, "sqlite", dsn), dsn
}

var schemas atomic.Int64

// openPostgres returns a database that is a schema of its own in the server that
// FENCEDSQL_POSTGRES names.
func openPostgres(tb testing.TB) (*sql.DB, string) {
	tb.Helper()
	dsn := os.Getenv("FENCEDSQL_POSTGRES")
	if dsn == "" {
		tb.Skip("no PostgreSQL to test against: set FENCEDSQL_POSTGRES to the DSN of one (postgres.sh starts one)")
	}
	name := fmt.Sprintf("fenced_%d_%d", os.Getpid(), schemas.Add(1))
	admin := openDB(tb, "pgx", dsn)
	_, err := admin.ExecContext(tb.Context(), `CREATE SCHEMA `+name)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		_, err := admin.ExecContext(context.Background(), `DROP SCHEMA `+name+` CASCADE`)
		require.NoError(tb, err)
	})
	sep := "?"
	if strings.Contains(dsn, "?") {
		sep = "&"
	}
	dsn += sep + "search_path=" + name + "&application_name=" + name
	db := openDB(tb, "pgx", dsn)
	db.SetMaxIdleConns(8)
	return db, dsn
}
