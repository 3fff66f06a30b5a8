// Package faults_test loses messages between a Store and PostgreSQL, and the
// server itself, at every point of every call, and asks whether what the call
// returned was true.
package faults_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/database"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/proxy"
)

// truth is a row as the database has it, read past every Store.
type truth struct {
	version, generation int64
	value, holder       sql.NullString
	nonce               sql.NullInt64
	expires             sql.NullTime
}

// lives reports whether g is the current grant.
func (v truth) lives(g fenced.Grant) bool {
	return v.nonce.Valid && uint64(v.nonce.Int64) == g.Nonce() && v.generation == int64(g.Generation)
}

// bench is a database that is reached in two ways: by a Store directly, and
// through a proxy by victims.
type bench struct {
	t     *testing.T
	db    *sql.DB
	s     *fencedsql.Store
	proxy *proxy.Proxy
	kind  database.Kind // of the victims
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchIn(t, database.PostgreSQL.Fresh(t))
}

func newBenchIn(t *testing.T, dsn string) *bench {
	t.Helper()
	db := database.PostgreSQL.Open(t, dsn)
	s := database.PostgreSQL.Store(t, db, fencedsql.Options{Poll: 10 * time.Millisecond})
	return &bench{t: t, db: db, s: s, proxy: proxy.New(t, dsn), kind: database.PostgreSQL}
}

func (b *bench) truth(key string) (v truth) {
	b.t.Helper()
	err := b.db.QueryRowContext(b.t.Context(), `SELECT version, generation, convert_from(value, 'UTF8'), holder, nonce, expires
		FROM fenced_records WHERE key = $1`, key).Scan(&v.version, &v.generation, &v.value, &v.holder, &v.nonce, &v.expires)
	require.NoError(b.t, err)
	return v
}

func (b *bench) claim(key, holder string) fenced.Grant {
	b.t.Helper()
	g, err := b.s.TryAcquire(b.t.Context(), key, holder, time.Hour)
	require.NoError(b.t, err)
	return g
}

// victim is a Store behind the proxy, with a pool of its own. It waits for an
// answer that nobody wants any more no longer than a second.
type victim struct {
	b    *bench
	s    *fencedsql.Store
	pool *sql.DB
	name string
}

var victims atomic.Int64

func (b *bench) victim() *victim {
	b.t.Helper()
	v := &victim{b: b, name: fmt.Sprintf("victim_%d_%d", os.Getpid(), victims.Add(1))}
	v.pool = b.kind.Open(b.t, database.With(b.proxy.DSN, "application_name", v.name))
	v.s = b.kind.Store(b.t, v.pool, fencedsql.Options{Timeout: time.Second})
	return v
}

// settle ends v, and returns when the server has done with all that it ever
// heard from it.
func (v *victim) settle() {
	v.b.t.Helper()
	require.NoError(v.b.t, v.s.Close())
	require.NoError(v.b.t, v.pool.Close())
	require.Eventually(v.b.t, func() bool {
		var n int
		err := v.b.db.QueryRowContext(v.b.t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, v.name).Scan(&n)
		return err == nil && n == 0
	}, 30*time.Second, 2*time.Millisecond)
}

func uncertain(err error) bool { return errors.Is(err, fenced.ErrUncertain) }

// refused reports whether err is a refusal.
func refused(err error) bool {
	var conflict *fenced.ConflictError
	return errors.As(err, &conflict)
}

// caused reports whether err, which is uncertain, has a cause besides.
func caused(err error) bool {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, under := range e.Unwrap() {
			if caused(under) {
				return true
			}
		}
		return false
	case interface{ Unwrap() error }:
		return caused(e.Unwrap())
	default:
		return err != nil && err != fenced.ErrUncertain
	}
}
