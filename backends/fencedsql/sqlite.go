package fencedsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// sqlite runs the statements of a Store on SQLite, each in an immediate
// transaction on a connection of its own. It waits for the lock of the database
// until the context ends, whatever time-out the connection has; from then on
// nothing is cancelled, so that what became of the transaction is known.
type sqlite struct {
	db      *sql.DB
	turn    chan struct{} // holds one while this Store writes: there is but one writer
	dueQ    string
	guardQ  string
	reclaim string
}

func newSQLite(db *sql.DB) (*sqlite, statements) {
	l := &sqlite{
		db:      db,
		turn:    make(chan struct{}, 1),
		dueQ:    toSQLite.Replace(upTo(dueSQL, `expires`)),
		guardQ:  toSQLite.Replace(lookSQL(verdict)),
		reclaim: toSQLite.Replace(`UPDATE fenced_records AS r SET ` + free + endedBy + reclaimed + ` WHERE ` + current),
	}
	return l, compile(toSQLite.Replace, l.writing)
}

// writing returns write and its look as two statements: within a transaction of
// its own a look is cheaper than RETURNING, and mostly not needed.
func (l *sqlite) writing(write string, c columns) statement {
	return statement{text: toSQLite.Replace(write), look: toSQLite.Replace(lookSQL(c)), scan: c.scan, brief: c.brief, writes: true}
}

func (l *sqlite) step(ctx context.Context, st *statement, _ func(row), args ...any) (r row, err error) {
	if !st.writes {
		rows, err := l.rows(ctx, st, args...)
		if err != nil || len(rows) == 0 {
			return row{}, err
		}
		return rows[0], nil
	}
	err = l.transact(ctx, func(ctx context.Context, conn *sql.Conn) error {
		done, err := conn.ExecContext(ctx, st.text, args...)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if err == nil && (n == 0 || !st.brief) {
			r, err = one(ctx, conn, st.look, st.scan, args[:1])
		}
		r.wrote = n > 0
		return err
	})
	return r, err
}

// transact calls f in an immediate transaction, which it commits unless f
// fails.
func (l *sqlite) transact(ctx context.Context, f func(context.Context, *sql.Conn) error) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrRetry, ctx.Err())
	}
	conn, err := l.conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := l.begin(ctx, conn); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := f(ctx, conn); err != nil {
		rollback(ctx, conn)
		return sqliteFailure(err).wrap(err, false)
	}
	if _, err := conn.ExecContext(ctx, `COMMIT`); err != nil {
		rollback(ctx, conn)
		fail := sqliteFailure(err)
		fail.answered = fail.sentinel != nil // of other errors it is not known when they came
		return fail.wrap(err, true)
	}
	return nil
}

// conn returns a connection. To make one can take a lock too, as for a pragma of
// the DSN.
func (l *sqlite) conn(ctx context.Context) (conn *sql.Conn, err error) {
	err = untilFree(ctx, func() error {
		conn, err = l.db.Conn(ctx)
		return err
	})
	return conn, err
}

// begin takes the lock of the database.
func (l *sqlite) begin(ctx context.Context, conn *sql.Conn) error {
	return untilFree(ctx, func() error {
		_, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`)
		if err == nil || errors.Is(sqliteFailure(err).sentinel, ErrRetry) {
			return err
		}
		// It may have begun all the same, where ctx has ended.
		rollback(context.WithoutCancel(ctx), conn)
		if ctx.Err() != nil { // while SQLite waited, as a busy_timeout has it do
			return fmt.Errorf("%w: %w", ErrRetry, because(ctx, err))
		}
		return err
	})
}

// untilFree calls f until the database is not locked or ctx ends.
func untilFree(ctx context.Context, f func() error) error {
	var locked error
	for try := 1; ; try++ {
		err := f()
		switch {
		case err == nil:
			return nil
		case errors.Is(sqliteFailure(err).sentinel, ErrRetry):
			locked = err
		case locked == nil || ctx.Err() == nil:
			return sqliteFailure(err).wrap(err, false)
		}
		if ended := pause(ctx, backoff(try, 20*time.Millisecond)); ended != nil {
			return fmt.Errorf("%w: %w: %w", ErrRetry, ended, locked)
		}
	}
}

// rollback leaves conn without a transaction, or the pool without conn.
func rollback(ctx context.Context, conn *sql.Conn) {
	if _, err := conn.ExecContext(ctx, `ROLLBACK`); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

func (l *sqlite) sweep(ctx context.Context, limit int) (due []row, err error) {
	err = l.transact(ctx, func(ctx context.Context, conn *sql.Conn) error {
		if due, err = many(ctx, conn, l.dueQ, whole.scan, []any{limit, pageBytes}); err != nil {
			return err
		}
		for _, r := range due {
			if _, err := conn.ExecContext(ctx, l.reclaim, escape.Replace(r.Key), int64(r.Generation), int64(r.nonce)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return due, nil
}

func (l *sqlite) rows(ctx context.Context, st *statement, args ...any) (rows []row, err error) {
	conn, err := l.conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	err = untilFree(ctx, func() error {
		rows, err = many(ctx, conn, st.text, st.scan, args)
		return err
	})
	return rows, err
}

// becomeWriter changes nothing, but takes the lock of the database.
const becomeWriter = `UPDATE fenced_records SET version = version WHERE false`

// guard makes tx a writer before it looks. A transaction that has read already,
// and since when another has written, cannot become one: its snapshot is older.
// So what guard returns is the newest row, and stays it until tx ends.
func (l *sqlite) guard(ctx context.Context, tx *sql.Tx, key string) (row, error) {
	if _, err := tx.ExecContext(ctx, becomeWriter); err != nil {
		return row{}, sqliteFailure(err).wrap(err, false)
	}
	r, err := one(ctx, tx, l.guardQ, verdict.scan, []any{key})
	if err != nil {
		return row{}, sqliteFailure(err).wrap(err, false)
	}
	return r, nil
}
