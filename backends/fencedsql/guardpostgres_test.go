package fencedsql_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// race is a table of a user's own, one row of which goes with a record: who
// holds the record decides who is to write "owner". A is reclaimed in the worst
// moment, and B claims.
type race struct {
	*testing.T
	db   *sql.DB
	dsn  string
	s    *fencedsql.Store
	a, b fenced.Grant
}

const invoice = "invoices/1"

func newRace(t *testing.T, d database, opts fencedsql.Options) *race {
	t.Helper()
	db, dsn := d.open(t)
	r := &race{T: t, db: db, dsn: dsn, s: d.storeIn(t, db, opts)}
	r.exec(`CREATE TABLE invoices (id integer PRIMARY KEY, owner text NOT NULL, seen integer NOT NULL)`)
	r.exec(`INSERT INTO invoices (id, owner, seen) VALUES (1, 'nobody', 0)`)
	var err error
	r.a, err = r.s.TryAcquire(t.Context(), invoice, "A", time.Hour)
	require.NoError(t, err)
	return r
}

func (r *race) exec(query string) {
	r.Helper()
	_, err := r.db.ExecContext(r.Context(), query)
	require.NoError(r, err)
}

func (r *race) owner() string {
	r.Helper()
	var owner string
	require.NoError(r, r.db.QueryRowContext(r.Context(), `SELECT owner FROM invoices WHERE id = 1`).Scan(&owner))
	return owner
}

func (r *race) begin(level sql.IsolationLevel) *sql.Tx {
	r.Helper()
	tx, err := r.db.BeginTx(r.Context(), &sql.TxOptions{Isolation: level})
	require.NoError(r, err)
	r.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// succeed has a supervisor reclaim A's grant, and B claim and write. It runs on a
// goroutine of its own, whose end the channel tells.
func (r *race) succeed() <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := r.s.Reclaim(r.Context(), invoice, r.a.Generation)
		if err == nil {
			r.b, err = r.s.TryAcquire(r.Context(), invoice, "B", time.Hour)
		}
		if err == nil {
			_, err = r.db.ExecContext(r.Context(), `UPDATE invoices SET owner = 'B' WHERE id = 1`)
		}
		done <- err
	}()
	return done
}

// blocked waits until done, or n statements on this database wait for a lock, and
// reports whether they do.
func (r *race) blocked(n int, done <-chan error) bool {
	r.Helper()
	for {
		select {
		case err := <-done:
			require.NoError(r, err)
			return false
		default:
		}
		var waiting int
		require.NoError(r, r.db.QueryRowContext(r.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE application_name = current_setting('application_name') AND wait_event_type = 'Lock'`).Scan(&waiting))
		if waiting >= n {
			return true
		}
	}
}

// fence is the look at the fence that people write themselves.
const fence = `SELECT 1 FROM fenced_records WHERE key = $1 AND generation = $2 AND nonce = $3`

func naive(lock string) func(*race, *sql.Tx) error {
	return func(r *race, tx *sql.Tx) error {
		var one int
		return tx.QueryRowContext(r.Context(), fence+lock, r.a.Key, int64(r.a.Generation), int64(r.a.Nonce())).Scan(&one)
	}
}

func guarded(r *race, tx *sql.Tx) error { return r.s.Guard(r.Context(), tx, r.a) }

// TestGuardFirst ends the grant between the guard and the write.
func TestGuardFirst(t *testing.T) {
	for _, test := range []struct {
		name  string
		guard func(*race, *sql.Tx) error
		last  string // who writes last: B, or the zombie A
	}{
		{"Guard", guarded, "B"},
		{"for share", naive(` FOR SHARE`), "B"},
		{"plain select", naive(``), "A"},
		{"for key share", naive(` FOR KEY SHARE`), "A"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRace(t, postgres, fencedsql.Options{})
			tx := r.begin(sql.LevelDefault)
			require.NoError(t, test.guard(r, tx))
			done := r.succeed()
			waits := r.blocked(1, done)
			_, err := tx.ExecContext(t.Context(), `UPDATE invoices SET owner = 'A' WHERE id = 1`)
			require.NoError(t, err)
			require.NoError(t, tx.Commit())
			if waits {
				require.Equal(t, "B", test.last)
				require.NoError(t, <-done)
			}
			require.Equal(t, test.last, r.owner())
		})
	}
}

// TestGuardInStatement ends the grant while the write, which has looked at the
// fence in the same statement, waits for the lock of its own row.
func TestGuardInStatement(t *testing.T) {
	for _, test := range []struct {
		name, write string
		lets        bool // the zombie in
	}{
		{"exists", `UPDATE invoices SET owner = 'A' WHERE id = 1 AND EXISTS (` + fence + `)`, true},
		{"update from", `UPDATE invoices SET owner = 'A' FROM (` + fence + `) AS fence WHERE id = 1`, true},
		{"exists for key share", `UPDATE invoices SET owner = 'A' WHERE id = 1 AND EXISTS (` + fence + ` FOR KEY SHARE)`, true},
		{"exists for share", `UPDATE invoices SET owner = 'A' WHERE id = 1 AND EXISTS (` + fence + ` FOR SHARE)`, false},
		{"cte for share", `WITH fence AS (` + fence + ` FOR SHARE) UPDATE invoices SET owner = 'A' FROM fence WHERE id = 1`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRace(t, postgres, fencedsql.Options{})
			bystander := r.begin(sql.LevelDefault)
			_, err := bystander.ExecContext(t.Context(), `UPDATE invoices SET seen = seen + 1 WHERE id = 1`)
			require.NoError(t, err)
			wrote := make(chan error, 1)
			go func() {
				_, err := r.db.ExecContext(t.Context(), test.write, r.a.Key, int64(r.a.Generation), int64(r.a.Nonce()))
				wrote <- err
			}()
			require.True(t, r.blocked(1, wrote))

			reclaimed := make(chan error, 1)
			go func() {
				_, err := r.s.Reclaim(t.Context(), invoice, r.a.Generation)
				reclaimed <- err
			}()
			waits := r.blocked(2, reclaimed)
			require.Equal(t, test.lets, !waits)
			if !waits {
				_, err = r.s.TryAcquire(t.Context(), invoice, "B", time.Hour)
				require.NoError(t, err)
			}
			require.NoError(t, bystander.Commit())
			require.NoError(t, <-wrote)
			require.Equal(t, "A", r.owner()) // with B the holder, where the guard is naive
			if waits {
				require.NoError(t, <-reclaimed)
			}
		})
	}
}

// TestGuardLast writes first and asks then, when the grant has ended.
func TestGuardLast(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelRepeatableRead, sql.LevelSerializable} {
		t.Run(level.String(), func(t *testing.T) {
			r := newRace(t, postgres, fencedsql.Options{})
			tx := r.begin(level)
			_, err := tx.ExecContext(t.Context(), `INSERT INTO invoices (id, owner, seen) VALUES (2, 'A', 0)`)
			require.NoError(t, err)
			require.NoError(t, <-r.succeed())
			err = r.s.Guard(t.Context(), tx, r.a)
			if level == sql.LevelDefault {
				require.ErrorIs(t, err, fenced.ErrStaleReadGeneration)
				var refused *fenced.ConflictError
				require.ErrorAs(t, err, &refused)
				require.Equal(t, "guard", refused.Op)
				require.Equal(t, fenced.Reclaimed, refused.Ended)
				return
			}
			require.ErrorIs(t, err, fencedsql.ErrRetry)
			require.NotErrorIs(t, err, fenced.ErrStaleReadGeneration) // not known, in an old snapshot
		})
	}
}

// TestGuardOldSnapshot shows what an isolation level above READ COMMITTED makes
// of a plain look at the fence: it goes on seeing the grant.
func TestGuardOldSnapshot(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
		t.Run(level.String(), func(t *testing.T) {
			r := newRace(t, postgres, fencedsql.Options{})
			tx := r.begin(level)
			var seen int
			require.NoError(t, tx.QueryRowContext(t.Context(), `SELECT count(*) FROM invoices`).Scan(&seen))
			_, err := r.s.Reclaim(t.Context(), invoice, r.a.Generation)
			require.NoError(t, err)
			_, err = r.s.TryAcquire(t.Context(), invoice, "B", time.Hour)
			require.NoError(t, err)

			require.NoError(t, naive(``)(r, tx))
			require.ErrorIs(t, r.s.Guard(t.Context(), tx, r.a), fencedsql.ErrRetry)
		})
	}
}

// TestGuardNewRecord has the record claimed for the first time after the snapshot
// of the transaction was taken: it cannot see that there is one.
func TestGuardNewRecord(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		t.Run(level.String(), func(t *testing.T) {
			r := newRace(t, postgres, fencedsql.Options{})
			tx := r.begin(level)
			var seen int
			require.NoError(t, tx.QueryRowContext(t.Context(), `SELECT count(*) FROM invoices`).Scan(&seen))
			g, err := r.s.TryAcquire(t.Context(), "invoices/new", "A", time.Hour)
			require.NoError(t, err)
			err = r.s.Guard(t.Context(), tx, g)
			if level == sql.LevelReadCommitted {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, fencedsql.ErrRetry)
			require.NotErrorIs(t, err, fenced.ErrForeignGrant)
		})
	}
}

// TestGuardSavepoint returns to a savepoint. A guard from before it stands; one
// from after is undone with all else, and lets the zombie in.
func TestGuardSavepoint(t *testing.T) {
	for _, test := range []struct {
		name  string
		first string // what is done first, and so again after the return
		last  string // who writes last: B, or the zombie A
	}{
		{"guard first", "guard", "B"},
		{"savepoint first", "savepoint", "A"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRace(t, postgres, fencedsql.Options{})
			tx := r.begin(sql.LevelDefault)
			run := func(query string) {
				_, err := tx.ExecContext(t.Context(), query)
				require.NoError(t, err)
			}
			if test.first == "guard" {
				require.NoError(t, guarded(r, tx))
			}
			run(`SAVEPOINT here`)
			if test.first == "savepoint" {
				require.NoError(t, guarded(r, tx))
			}
			run(`ROLLBACK TO SAVEPOINT here`)
			done := r.succeed()
			waits := r.blocked(1, done)
			run(`UPDATE invoices SET owner = 'A' WHERE id = 1`)
			require.NoError(t, tx.Commit())
			if waits {
				require.NoError(t, <-done)
			}
			require.Equal(t, test.last == "B", waits)
			require.Equal(t, test.last, r.owner())
		})
	}
}

// TestGuardShared has two transactions under one grant at once: a guard keeps
// out those who would end the grant, and nobody else.
func TestGuardShared(t *testing.T) {
	r := newRace(t, postgres, fencedsql.Options{})
	first, second := r.begin(sql.LevelDefault), r.begin(sql.LevelDefault)
	require.NoError(t, guarded(r, first))
	require.NoError(t, guarded(r, second))
	require.NoError(t, first.Commit())
	require.NoError(t, second.Commit())
}

// TestGuardIdle has a transaction that guards and then hangs ended by the
// server.
func TestGuardIdle(t *testing.T) {
	r := newRace(t, postgres, fencedsql.Options{GuardIdle: 100 * time.Millisecond})
	tx := r.begin(sql.LevelDefault)
	require.NoError(t, guarded(r, tx))
	require.NoError(t, <-r.succeed()) // waits for no commit
	_, err := tx.ExecContext(t.Context(), `UPDATE invoices SET owner = 'A' WHERE id = 1`)
	require.Error(t, err)
	require.Equal(t, "B", r.owner())
}

// TestGuardIdleLimit takes the shorter of the limits of Store and session.
func TestGuardIdleLimit(t *testing.T) {
	for _, test := range []struct {
		idle          time.Duration
		session, want string
	}{
		{0, "0", "30s"},
		{0, "10s", "10s"},
		{0, "1min", "30s"},
		{0, "1d", "30s"},
		{0, "250ms", "250ms"},
		{2 * time.Minute, "1min", "1min"},
		{2 * time.Minute, "1h", "2min"},
		{-1, "0", "0"},
		{-1, "1h", "1h"},
	} {
		r := newRace(t, postgres, fencedsql.Options{GuardIdle: test.idle})
		tx := r.begin(sql.LevelDefault)
		_, err := tx.ExecContext(t.Context(), `SET SESSION idle_in_transaction_session_timeout = '`+test.session+`'`)
		require.NoError(t, err)
		require.NoError(t, guarded(r, tx))
		const show = `SHOW idle_in_transaction_session_timeout`
		var limit string
		require.NoError(t, tx.QueryRowContext(t.Context(), show).Scan(&limit))
		require.Equal(t, test.want, limit, "%+v", test)
		require.NoError(t, tx.Commit())
		r.db.SetMaxOpenConns(1) // the connection of tx
		require.NoError(t, r.db.QueryRowContext(t.Context(), show).Scan(&limit))
		require.Equal(t, test.session, limit, "%+v: after the transaction", test)
	}
}

// TestLockTimeout has the session of a supervisor say how long it waits for a
// guard.
func TestLockTimeout(t *testing.T) {
	r := newRace(t, postgres, fencedsql.Options{})
	tx := r.begin(sql.LevelDefault)
	require.NoError(t, guarded(r, tx))
	p := &tap{driver: r.db.Driver(), dsn: r.dsn + "&lock_timeout=50"}
	db := sql.OpenDB(p)
	t.Cleanup(func() { _ = db.Close() })
	s := postgres.storeIn(t, db, fencedsql.Options{})
	before := p.sent.Load()
	_, err := s.Reclaim(t.Context(), invoice, r.a.Generation)
	require.ErrorIs(t, err, fencedsql.ErrRetry)
	require.NotErrorIs(t, err, fenced.ErrUncertain)
	require.EqualValues(t, 1, p.sent.Load()-before)
}

// TestGuardHoldsUpReclaim names what a supervisor meets: not a refusal.
func TestGuardHoldsUpReclaim(t *testing.T) {
	r := newRace(t, postgres, fencedsql.Options{})
	tx := r.begin(sql.LevelDefault)
	require.NoError(t, guarded(r, tx))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
	defer cancel()
	_, err := r.s.Reclaim(ctx, invoice, r.a.Generation)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, fenced.ErrUncertain) // the statement may yet have its way
	require.NotErrorIs(t, err, fenced.ErrStaleReadGeneration)
}
