// Package linear_test records the calls of concurrent clients of one database
// and checks whether there is an order of them all, each within its own
// interval, in which the model gives every result that was seen. A call whose
// reply was lost has an interval that never ends.
package linear_test

import (
	"context"
	"database/sql"
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
	"github.com/fencedgo/fenced/tests/effort"
	"github.com/fencedgo/fenced/tests/model"
)

// stores returns two Stores, as of two processes, of one database.
func stores(t *testing.T, k database.Kind, open func() *sql.DB) []*fencedsql.Store {
	t.Helper()
	opts := fencedsql.Options{Poll: 5 * time.Millisecond, Timeout: 10 * time.Second}
	return []*fencedsql.Store{k.Store(t, open(), opts), k.Store(t, open(), opts)}
}

// sound records histories and wants each to be linearizable.
func (l load) sound(t *testing.T, histories int) {
	t.Helper()
	seed := effort.Seed(t)
	calls, lost, overlaps := 0, 0, 0
	refused := map[model.Reasons]int{}
	for i := range effort.Of(histories) {
		l.prefix = fmt.Sprintf("h%d/", i)
		history, err := l.record(seed + uint64(i))
		require.NoError(t, err)
		verdict, blame := check(history)
		require.Equal(t, porcupine.Ok, verdict, "history of seed %d:\n%s", seed+uint64(i), blame)
		for i, op := range history {
			calls++
			got := op.Output.(outcome)
			if got.lost {
				lost++
			}
			refused[got.Refused&refusals]++
			for _, other := range history[:i] {
				if op.Call < other.Return && other.Call < op.Return {
					overlaps++
				}
			}
		}
	}
	t.Logf("%d calls, %d lost, %d pairs at the same time, refused: %v", calls, lost, overlaps, refused)
	require.NotZero(t, overlaps)
	require.NotZero(t, lost)
	require.NotZero(t, refused[model.Stale]+refused[model.Moved|model.Stale])
	require.NotZero(t, refused[model.Held])
}

// TestLinearizable has claims wait, which give up and leave others.
func TestLinearizable(t *testing.T) {
	database.Each(t, func(t *testing.T, k database.Kind) {
		dsn := k.Fresh(t)
		l := load{clients: 4, calls: 30, keys: 2, waits: true}
		l.stores = stores(t, k, func() *sql.DB { return k.Open(t, dsn) })
		l.sound(t, 25)
	})
}

// TestLinearizableWithLosses loses replies and requests.
func TestLinearizableWithLosses(t *testing.T) {
	database.Each(t, func(t *testing.T, k database.Kind) {
		l := load{clients: 4, calls: 30, keys: 2, stores: lossy(t, k)}
		l.sound(t, 25)
	})
}

// TestForgetful shows that the check sees a store that takes a lost reply for a
// call that never happened.
func TestForgetful(t *testing.T) {
	database.Each(t, func(t *testing.T, k database.Kind) {
		l := load{clients: 4, calls: 30, keys: 2, stores: lossy(t, k), forget: true}
		for i := range 100 {
			l.prefix = fmt.Sprintf("h%d/", i)
			history, err := l.record(uint64(i))
			require.NoError(t, err)
			if verdict, _ := check(history); verdict == porcupine.Illegal {
				return
			}
		}
		t.Fatal("no history was broken")
	})
}

// lossy returns Stores whose calls get lost now and then.
func lossy(t *testing.T, k database.Kind) []*fencedsql.Store {
	t.Helper()
	dsn := k.Fresh(t)
	if k == database.SQLite {
		driver := k.Open(t, dsn).Driver()
		var begun atomic.Bool
		all := stores(t, k, func() *sql.DB {
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
		return all
	}
	p := proxy.New(t, dsn)
	all := stores(t, k, func() *sql.DB { return k.Open(t, p.DSN) })
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
	return all
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

// TestNotLinearizable shows that the check can fail, and what a lost call may
// and may not explain.
func TestNotLinearizable(t *testing.T) {
	at := func(value string, version fenced.Version, generation fenced.Generation, holder string) model.View {
		return model.View{Key: "r", Exists: value != "", Value: value, Version: version, Generation: generation, Holder: holder}
	}
	grant := model.Grant{View: at("", 0, 1, "A"), Issued: true}
	ok := func(c model.Call, v model.View) call { return call{c, outcome{Outcome: model.Outcome{View: v}}} }
	lost := func(c model.Call) call { return call{c, outcome{lost: true}} }
	claimA := model.Call{Op: model.TryAcquire, Holder: "A", Lease: long}
	claimB := model.Call{Op: model.TryAcquire, Holder: "B", Lease: long}
	dropA := model.Call{Op: drop, Holder: "A"}
	commitA := model.Call{Op: model.Commit, Grant: grant, Value: []byte("a")}
	reclaimA := model.Call{Op: model.Reclaim, Seen: 1}
	read := model.Call{Op: model.Read}

	for _, test := range []struct {
		name    string
		history []call
		want    porcupine.CheckResult
	}{
		{"a lost commit that landed", []call{ok(claimA, at("", 0, 1, "A")), lost(commitA), ok(read, at("a", 1, 1, "A"))}, porcupine.Ok},
		{"one that lands later", []call{ok(claimA, at("", 0, 1, "A")), lost(commitA), ok(read, at("", 0, 1, "A")), ok(read, at("a", 1, 1, "A"))}, porcupine.Ok},
		{"one that never does", []call{ok(claimA, at("", 0, 1, "A")), lost(commitA), ok(read, at("", 0, 1, "A"))}, porcupine.Ok},
		{"one that lands after its grant has ended", []call{ok(claimA, at("", 0, 1, "A")), lost(commitA), ok(reclaimA, at("", 0, 2, "")), ok(read, at("", 0, 2, "")), ok(read, at("a", 1, 2, ""))}, porcupine.Illegal},
		{"one that lands twice", []call{ok(claimA, at("", 0, 1, "A")), lost(commitA), ok(read, at("a", 1, 1, "A")), ok(read, at("a", 2, 1, "A"))}, porcupine.Illegal},
		{"one that lands and goes", []call{ok(claimA, at("", 0, 1, "A")), lost(commitA), ok(read, at("a", 1, 1, "A")), ok(read, at("", 0, 1, "A"))}, porcupine.Illegal},
		{"one that was acknowledged and is not there", []call{ok(claimA, at("", 0, 1, "A")), ok(commitA, at("a", 1, 1, "A")), ok(read, at("", 0, 1, "A"))}, porcupine.Illegal},
		{"a lost claim, dropped", []call{lost(claimA), lost(dropA), ok(read, at("", 0, 1, "A")), ok(claimB, at("", 0, 2, "B"))}, porcupine.Ok},
		{"a lost claim that another passes", []call{lost(claimA), ok(read, at("", 0, 1, "A")), ok(claimB, at("", 0, 2, "B"))}, porcupine.Illegal},
		{"two grants at once", []call{ok(claimA, at("", 0, 1, "A")), ok(claimB, at("", 0, 1, "B"))}, porcupine.Illegal},
		{"a zombie's commit", []call{ok(claimA, at("", 0, 1, "A")), ok(reclaimA, at("", 0, 2, "")), ok(commitA, at("a", 1, 1, "A"))}, porcupine.Illegal},
	} {
		t.Run(test.name, func(t *testing.T) {
			var history []porcupine.Operation
			for i, c := range test.history {
				c.Key, c.Grant.Key = "r", "r"
				op := porcupine.Operation{Input: c.Call, Call: int64(2 * i), Output: c.outcome, Return: int64(2*i + 1)}
				if c.lost {
					op.Return = open
				}
				history = append(history, op)
			}
			verdict, _ := check(history)
			require.Equal(t, test.want, verdict)
		})
	}
}

type call struct {
	model.Call
	outcome
}
