// Package database gives the tests of this module databases of their own.
package database

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "github.com/lib/pq"              // the driver "postgres"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/fencedgo/fenced/backends/fencedsql"
)

// Variable names the environment variable with the DSN of a PostgreSQL server.
const Variable = "FENCEDSQL_POSTGRES"

// Kind is a database and its driver.
type Kind struct {
	Dialect fencedsql.Dialect
	Driver  string
}

// The kinds that are tested.
var (
	SQLite     = Kind{fencedsql.SQLite, "sqlite"}
	PostgreSQL = Kind{fencedsql.PostgreSQL, "pgx"}
	// PQ is PostgreSQL by a driver that takes a lost reply for a connection that
	// was dead, and so asks for the statement to be sent again.
	PQ = Kind{fencedsql.PostgreSQL, "postgres"}
)

// Each runs f as a subtest for each kind.
func Each(t *testing.T, f func(t *testing.T, k Kind)) {
	t.Helper()
	for _, k := range []Kind{SQLite, PostgreSQL} {
		t.Run(k.Dialect.String(), func(t *testing.T) { f(t, k) })
	}
}

// Fresh returns the DSN of an empty database that goes away with tb: a file, or
// a schema in the server that Variable names.
func (k Kind) Fresh(tb testing.TB) string {
	tb.Helper()
	if k == SQLite {
		return File(filepath.Join(tb.TempDir(), "fenced.db"))
	}
	return Schema(tb, Server(tb))
}

// Open opens the database of dsn until the end of tb.
func (k Kind) Open(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open(k.Driver, dsn)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// Store returns a Store over db until the end of tb.
func (k Kind) Store(tb testing.TB, db *sql.DB, opts fencedsql.Options) *fencedsql.Store {
	tb.Helper()
	s, err := fencedsql.Open(tb.Context(), db, k.Dialect, opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// File returns the DSN of a file of SQLite.
func File(path string) string {
	return "file:" + path + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)"
}

// Server returns the DSN that Variable has, or skips tb.
func Server(tb testing.TB) string {
	tb.Helper()
	dsn := os.Getenv(Variable)
	if dsn == "" {
		tb.Skipf("no PostgreSQL to test against: set %s to the DSN of one (postgres.sh starts one)", Variable)
	}
	return dsn
}

var schemas atomic.Int64

// Schema makes a schema in the server of dsn that goes away with tb, and returns
// the DSN of that schema. Connections made with it have its name as
// application_name.
func Schema(tb testing.TB, dsn string) string {
	tb.Helper()
	name := fmt.Sprintf("fenced_tests_%d_%d", os.Getpid(), schemas.Add(1))
	admin := PostgreSQL.Open(tb, dsn)
	_, err := admin.ExecContext(tb.Context(), `CREATE SCHEMA `+name)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_, err := admin.ExecContext(ctx, `DROP SCHEMA `+name+` CASCADE`)
		require.NoError(tb, err)
	})
	return With(With(dsn, "search_path", name), "application_name", name)
}

// With returns dsn with a parameter, in place of the one it had.
func With(dsn, name, value string) string {
	base, query, _ := strings.Cut(dsn, "?")
	var parameters []string
	for p := range strings.SplitSeq(query, "&") {
		if p != "" && !strings.HasPrefix(p, name+"=") {
			parameters = append(parameters, p)
		}
	}
	return base + "?" + strings.Join(append(parameters, name+"="+value), "&")
}
