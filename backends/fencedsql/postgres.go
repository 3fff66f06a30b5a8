package fencedsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fencedgo/fenced"
)

// postgres runs the statements of a Store on PostgreSQL. Each is a transaction
// of its own, at whatever isolation level the server gives it.
type postgres struct {
	db      *sql.DB
	timeout time.Duration
	spawn   func(func()) bool
	lapsed  statement
	guardQ  string
}

func newPostgres(db *sql.DB, opts Options, spawn func(func()) bool) (*postgres, statements) {
	notify := func(from string) string {
		if opts.Notify == "" {
			return from
		}
		return from + `, pg_notify(` + quote(opts.Notify) + `, ` + from + `.key)`
	}
	p := &postgres{db: db, timeout: opts.Timeout, spawn: spawn}
	p.lapsed = statement{writes: true, once: true, scan: whole.scan, text: `WITH locked AS (SELECT *, ` + dueSQL + ` FOR NO KEY UPDATE SKIP LOCKED),
due AS (SELECT ` + whole.list + ` FROM (SELECT *, ` + before(`expires`) + ` FROM locked) AS summed WHERE before < $2),
wrote AS (UPDATE fenced_records AS r SET ` + free + endedBy + reclaimed + `
	FROM due WHERE r.key = due.key AND r.generation = due.generation AND r.nonce = due.nonce
	RETURNING due.*)
SELECT true, wrote.* FROM ` + notify(`wrote`) + ` ORDER BY expires`}
	p.guardQ = strings.Replace(lookSQL(verdict), `SELECT false`, `SELECT `+idle(opts.GuardIdle), 1) + ` FOR SHARE`
	st := compile(asIs, p.writing)
	st.reclaim.text = strings.Replace(st.reclaim.text, `FROM wrote UNION`, `FROM `+notify(`wrote`)+` UNION`, 1)
	return p, st
}

// idle is an expression that is false, and that has the server end the
// transaction it is in where that idles for longer than most, unless it is to do
// so even sooner. A negative most leaves that as it is.
func idle(most time.Duration) string {
	if most < 0 {
		return `false`
	}
	const name = `'idle_in_transaction_session_timeout'`
	ms := strconv.FormatInt(millis(most), 10)
	return `set_config(` + name + `, CASE WHEN current_setting(` + name + `)::interval BETWEEN '1 ms' AND '` + ms + ` ms'
	THEN current_setting(` + name + `) ELSE '` + ms + `' END, true) IS NULL`
}

func asIs(text string) string { return text }

// quote returns a literal of text without backslashes, which some servers are
// set to take for escapes.
func quote(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }

// writing returns write and its look as one statement, one round trip. An
// UPDATE waits for whoever has the row locked and judges the newest row, at READ
// COMMITTED; where it has written, the look is not run. The look sees the record
// as of the start of the statement, which may contradict a refusal: see
// [Store.run].
func (p *postgres) writing(write string, c columns) statement {
	return statement{
		text: `WITH wrote AS (` + write + ` RETURNING true, ` + c.list + `)
SELECT wrote.* FROM wrote UNION ALL ` + lookSQL(c) + ` AND NOT EXISTS (SELECT 1 FROM wrote)`,
		scan:   c.scan,
		writes: true,
	}
}

// again calls f until others at work, or connections that have died unused, no
// longer get in its way, or ctx ends.
//
// A driver is to say driver.ErrBadConn only of what it has not sent, but some say
// it of a lost reply as well. So where f writes, it may have done so at a try
// before the last, which lost reports. What is not to be done twice is once.
func again(ctx context.Context, once bool, f func() error) (lost bool, err error) {
	for try := 1; ; try++ {
		err := f()
		sent := errors.Is(err, fenced.ErrUncertain)
		died := errors.Is(err, driver.ErrBadConn) && (!sent || !once)
		if !died && !errors.Is(err, errAnew) || pause(ctx, backoff(try, 100*time.Millisecond)) != nil {
			if lost {
				err = inDoubt(err)
			}
			return lost, because(ctx, err)
		}
		lost = lost || sent
	}
}

func (p *postgres) step(ctx context.Context, st *statement, late func(row), args ...any) (r row, err error) {
	lost, err := again(ctx, st.once, func() error {
		r, err = p.try(ctx, st, late, args)
		return err
	})
	r.lost = lost
	return r, err
}

// try runs st.
func (p *postgres) try(ctx context.Context, st *statement, late func(row), args []any) (row, error) {
	conn, err := p.conn(ctx)
	if err != nil {
		return row{}, err
	}
	run := func(ctx context.Context) (row, error) {
		defer conn.Close()
		r, err := direct(ctx, conn, st.text, st.scan, args)
		if err != nil {
			err = postgresFailure(err).wrap(because(ctx, err), st.writes)
		}
		return r, err
	}
	if late == nil {
		return run(ctx)
	}
	return p.abandonable(ctx, conn, run, late)
}

// conn returns a connection. To have one first tells what was never sent from
// what may have been.
func (p *postgres) conn(ctx context.Context) (*sql.Conn, error) {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, postgresFailure(err).wrap(because(ctx, err), false)
	}
	return conn, nil
}

// grace is how long an answer is waited for once the context has ended: it is
// better to know.
const grace = time.Second / 2

// abandonable calls run on conn, and leaves it where ctx ends and the answer does
// not come soon. That then goes to late.
func (p *postgres) abandonable(ctx context.Context, conn *sql.Conn, run func(context.Context) (row, error), late func(row)) (row, error) {
	type answer struct {
		r   row
		err error
	}
	answered, left := make(chan answer), make(chan struct{})
	spawned := p.spawn(func() {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.timeout)
		defer cancel()
		r, err := run(call)
		select {
		case answered <- answer{r, err}:
		case <-left:
			if err == nil {
				late(r)
			}
		}
	})
	if !spawned {
		_ = conn.Close()
		return row{}, fenced.ErrClosed
	}
	select {
	case a := <-answered:
		return a.r, a.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case a := <-answered:
		return a.r, a.err
	case <-timer.C:
		close(left)
		return row{}, fmt.Errorf("%w: %w", fenced.ErrUncertain, ctx.Err())
	}
}

func (p *postgres) sweep(ctx context.Context, limit int) ([]row, error) {
	return p.rows(ctx, &p.lapsed, limit, pageBytes)
}

func (p *postgres) rows(ctx context.Context, st *statement, args ...any) (rows []row, err error) {
	busy := false
	_, err = again(ctx, st.once, func() error {
		conn, err := p.conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		if rows, err = p.calmly(ctx, conn, st, args, busy); err != nil {
			busy = true
			return postgresFailure(err).wrap(because(ctx, err), st.writes)
		}
		return nil
	})
	return rows, err
}

// calmly runs st, which may yield many rows, and where others have been in its
// way, at READ COMMITTED, whatever the level is else: a write of many rows would
// have no end of conflicts.
func (p *postgres) calmly(ctx context.Context, conn *sql.Conn, st *statement, args []any, busy bool) ([]row, error) {
	if !busy || !st.writes {
		return many(ctx, conn, st.text, st.scan, args)
	}
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing once committed
	rows, err := many(ctx, tx, st.text, st.scan, args)
	if err != nil {
		return nil, err
	}
	return rows, tx.Commit()
}

// guard locks the record against any change of it until tx ends, by a lock that
// others who guard the same grant share. What it returns is the newest row, or
// an error where the snapshot of tx is older.
func (p *postgres) guard(ctx context.Context, tx *sql.Tx, key string) (row, error) {
	found, err := many(ctx, tx, p.guardQ, verdict.scan, []any{key})
	if err == nil && len(found) == 0 {
		err = p.sees(ctx, tx)
	}
	if err != nil {
		return row{}, postgresFailure(err).wrap(because(ctx, err), false)
	}
	return append(found, row{})[0], nil
}

// sees returns an error where tx may not see a row that is there: one that is
// newer than its snapshot.
func (p *postgres) sees(ctx context.Context, tx *sql.Tx) error {
	var level string
	if err := get(ctx, tx, `SELECT current_setting('transaction_isolation')`, &level); err != nil {
		return err
	}
	if level != "read committed" && level != "read uncommitted" {
		return fmt.Errorf("%w: no such record as of the snapshot of the transaction", ErrRetry)
	}
	return nil
}
