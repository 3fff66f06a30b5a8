// Package linear_test has histories of concurrent clients of one database,
// some of whose calls get lost, be linearizable.
package linear_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/database"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/proxy"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/tap"
	"github.com/fencedgo/fenced/tests/linear"
	"github.com/fencedgo/fenced/tests/model"
)

// load is clients of two Stores, as of two processes, of one database.
func load(t *testing.T, k database.Kind, open func() *sql.DB) linear.Load {
	t.Helper()
	l := linear.Load{Clients: 4, Calls: 30, Keys: 2, Fate: fate}
	for range 2 {
		l.Stores = append(l.Stores, k.Store(t, open(), fencedsql.Options{Poll: 5 * time.Millisecond, Timeout: 10 * time.Second}))
	}
	return l
}

// fate is what an error of a Store leaves of a call. One that is no sentinel of
// the library's, as that of a connection, says that nothing has changed.
func fate(call model.Call, err error) linear.Fate {
	switch {
	case errors.Is(err, fenced.ErrUncertain), call.Op == linear.Acquire && errors.Is(err, context.DeadlineExceeded):
		return linear.Lost
	case model.ReasonsOf(err) == model.Other:
		return linear.Undone
	default:
		return linear.Told
	}
}

// record records history i of the database.
func record(l linear.Load, i int, seed uint64) ([]porcupine.Operation, error) {
	l.Prefix = fmt.Sprintf("h%d/", i)
	return l.Record(seed)
}

// sound records histories and wants each to be linearizable.
func sound(t *testing.T, l linear.Load) {
	t.Helper()
	tally := linear.Sound(t, 25, func(i int, seed uint64) ([]porcupine.Operation, error) { return record(l, i, seed) })
	require.NotZero(t, tally.Lost)
	require.NotZero(t, tally.Refused[model.Stale]+tally.Refused[model.Moved|model.Stale])
	require.NotZero(t, tally.Refused[model.Held])
}

// TestLinearizable has claims wait, which give up and leave others.
func TestLinearizable(t *testing.T) {
	database.Each(t, func(t *testing.T, k database.Kind) {
		dsn := k.Fresh(t)
		l := load(t, k, func() *sql.DB { return k.Open(t, dsn) })
		l.Waits = 5 * time.Millisecond
		sound(t, l)
	})
}

// TestLinearizableWithLosses loses replies and requests.
func TestLinearizableWithLosses(t *testing.T) {
	database.Each(t, func(t *testing.T, k database.Kind) { sound(t, lossy(t, k)) })
}

// TestForgetful shows that the check sees a store that takes a lost reply for a
// call that never happened.
func TestForgetful(t *testing.T) {
	database.Each(t, func(t *testing.T, k database.Kind) {
		l := lossy(t, k)
		l.Fate = func(call model.Call, err error) linear.Fate {
			if told := fate(call, err); told != linear.Lost {
				return told
			}
			return linear.Undone
		}
		for i := range 100 {
			history, err := record(l, i, uint64(i))
			require.NoError(t, err)
			if verdict, _ := linear.Check(history); verdict == porcupine.Illegal {
				return
			}
		}
		t.Fatal("no history was broken")
	})
}

// lossy is a load whose calls get lost now and then.
func lossy(t *testing.T, k database.Kind) linear.Load {
	t.Helper()
	dsn := k.Fresh(t)
	if k == database.SQLite {
		driver := k.Open(t, dsn).Driver()
		var begun atomic.Bool
		l := load(t, k, func() *sql.DB {
			db := sql.OpenDB(tap.New(driver, dsn, func(statement string, send func() error) error {
				if !begun.Load() {
					return send()
				}
				return loseCommits(statement, send)
			}))
			t.Cleanup(func() { _ = db.Close() })
			return db
		})
		begun.Store(true)
		return l
	}
	p := proxy.New(t, dsn)
	l := load(t, k, func() *sql.DB { return k.Open(t, p.DSN) })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			p.Arm(proxy.Fault{Side: proxy.Side(rand.IntN(2)), At: rand.IntN(60), Act: proxy.Cut})
			select {
			case <-p.Hit():
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return l
}

// loseCommits loses some ends of transactions, before they are or after.
func loseCommits(statement string, send func() error) error {
	if !strings.HasPrefix(statement, "COMMIT") {
		return send()
	}
	switch rand.IntN(20) {
	case 0:
		return io.ErrUnexpectedEOF
	case 1:
		if err := send(); err != nil {
			return err
		}
		return io.ErrUnexpectedEOF
	default:
		return send()
	}
}
