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
	p.lapsed = statement{writes: true, scan: whole.scan, text: `WITH due AS (SELECT ` + named + dueSQL + ` FOR NO KEY UPDATE SKIP LOCKED),
wrote AS (UPDATE fenced_records AS r SET holder = NULL, nonce = NULL, expires = NULL, generation = r.generation + 1,
	ended_at = statement_timestamp(), ended_nonce = r.nonce, ended_version = r.version, ended = ` + reclaimed + `
	FROM due WHERE r.key = due.key AND r.generation = due.generation AND r.nonce = due.nonce
	RETURNING due.*)
SELECT true, wrote.* FROM ` + notify(`wrote`)}
	p.guardQ = lookSQL(verdict) + ` FOR SHARE`
	if opts.GuardIdle > 0 {
		ms := strconv.FormatInt(millis(opts.GuardIdle), 10)
		p.guardQ = strings.Replace(p.guardQ, `SELECT false`, `SELECT set_config('idle_in_transaction_session_timeout', '`+ms+`', true) IS NULL`, 1)
	}
	st := compile(asIs, p.writing)
	st.reclaim.text = strings.Replace(st.reclaim.text, `FROM wrote UNION`, `FROM `+notify(`wrote`)+` UNION`, 1)
	return p, st
}

// named are the columns of whole, each under a name.
var named = strings.NewReplacer(`value IS NOT NULL`, `value IS NOT NULL AS present`, `statement_timestamp()`, `statement_timestamp() AS now`).Replace(whole.list)

func asIs(text string) string { return text }

func quote(literal string) string { return `'` + strings.ReplaceAll(literal, `'`, `''`) + `'` }

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

// tries is how often a statement is run that others at work got in the way of.
const tries = 10

// again calls f until others at work, or connections that have died unused, no
// longer get in its way.
func again(ctx context.Context, f func() error) error {
	for try := 1; ; try++ {
		err := f()
		retry := errors.Is(err, ErrRetry) || errors.Is(err, driver.ErrBadConn)
		if !retry || try == tries || pause(ctx, backoff(try, 100*time.Millisecond)) != nil {
			return err
		}
	}
}

func (p *postgres) step(ctx context.Context, st *statement, late func(row), args ...any) (r row, err error) {
	err = again(ctx, func() error {
		r, err = p.once(ctx, st, late, args)
		return err
	})
	return r, err
}

// once runs st.
func (p *postgres) once(ctx context.Context, st *statement, late func(row), args []any) (row, error) {
	conn, err := p.conn(ctx)
	if err != nil {
		return row{}, err
	}
	run := func(ctx context.Context) (row, error) {
		defer conn.Close()
		r, err := one(ctx, conn, st.text, st.scan, args)
		if err != nil {
			err = postgresFailure(err).wrap(err, st.writes)
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
		return nil, postgresFailure(err).wrap(err, false)
	}
	return conn, nil
}

// abandonable calls run on conn, and leaves it where ctx ends and the answer does
// not come soon. What it then wrote goes to late.
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
			if err == nil && r.wrote {
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
	return p.rows(ctx, &p.lapsed, limit)
}

func (p *postgres) rows(ctx context.Context, st *statement, args ...any) (rows []row, err error) {
	err = again(ctx, func() error {
		conn, err := p.conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		if rows, err = many(ctx, conn, st.text, st.scan, args); err != nil {
			return postgresFailure(err).wrap(err, st.writes)
		}
		return nil
	})
	return rows, err
}

// guard locks the record against any change of it until tx ends, by a lock that
// others who guard the same grant share. What it returns is the newest row, or
// an error where the snapshot of tx is older.
func (p *postgres) guard(ctx context.Context, tx *sql.Tx, key string) (row, error) {
	r, err := one(ctx, tx, p.guardQ, verdict.scan, []any{key})
	if err != nil {
		return row{}, postgresFailure(err).wrap(err, false)
	}
	return r, nil
}
