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
	open func(t testing.TB) (*sql.DB, string)
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
func (d database) store(t testing.TB, opts fencedsql.Options) (*fencedsql.Store, *sql.DB) {
	t.Helper()
	db, _ := d.open(t)
	return d.storeIn(t, db, opts), db
}

// storeIn returns a Store over db.
func (d database) storeIn(t testing.TB, db *sql.DB, opts fencedsql.Options) *fencedsql.Store {
	t.Helper()
	s, err := fencedsql.Open(t.Context(), db, d.dialect, opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func openDB(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func sqliteDSN(path string, pragmas ...string) string {
	dsn := "file:" + path + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	for _, p := range pragmas {
		dsn += "&" + p
	}
	return dsn
}

func openSQLite(t testing.TB) (*sql.DB, string) {
	t.Helper()
	dsn := sqliteDSN(filepath.Join(t.TempDir(), "fenced.db"))
	return openDB(t, "sqlite", dsn), dsn
}

var schemas atomic.Int64

// openPostgres returns a database that is a schema of its own in the server that
// FENCEDSQL_POSTGRES names.
func openPostgres(t testing.TB) (*sql.DB, string) {
	t.Helper()
	dsn := os.Getenv("FENCEDSQL_POSTGRES")
	if dsn == "" {
		t.Skip("no PostgreSQL to test against: set FENCEDSQL_POSTGRES to the DSN of one (postgres.sh starts one)")
	}
	name := fmt.Sprintf("fenced_%d_%d", os.Getpid(), schemas.Add(1))
	admin := openDB(t, "pgx", dsn)
	_, err := admin.ExecContext(t.Context(), `CREATE SCHEMA `+name)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := admin.ExecContext(context.Background(), `DROP SCHEMA `+name+` CASCADE`)
		require.NoError(t, err)
	})
	sep := "?"
	if strings.Contains(dsn, "?") {
		sep = "&"
	}
	dsn += sep + "search_path=" + name + "&application_name=" + name
	db := openDB(t, "pgx", dsn)
	db.SetMaxIdleConns(8)
	return db, dsn
}
