package fencedsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"strings"
	"sync/atomic"
	"testing"
)

// tap is a driver between a Store and the driver of a database. It counts what is
// sent and loses what it is told to. As some drivers do, it cannot tell an empty
// value from null.
type tap struct {
	driver driver.Driver
	dsn    string
	sent   atomic.Int64 // queries, and what else takes a round trip
	lose   atomic.Int32
}

// What a tap loses.
const (
	nothing  = iota
	requests // the database never hears of them
	replies  // the database does as it was told
	// The same once, by a driver that takes either for a connection that was dead.
	deadRequest
	deadReply
)

// tapped returns a tap of a fresh database, and the database behind it.
func (d database) tapped(t *testing.T) (*tap, *sql.DB) {
	t.Helper()
	db, dsn := d.open(t)
	p := &tap{driver: db.Driver(), dsn: dsn}
	behind := sql.OpenDB(p)
	t.Cleanup(func() { _ = behind.Close() })
	return p, behind
}

// pass calls f, or loses it or its result. The transactions of SQLite are lost
// where it matters, at their end.
func (p *tap) pass(query string, f func() error) error {
	p.sent.Add(1)
	lose := p.lose.Load()
	if strings.HasPrefix(query, "BEGIN") || strings.HasPrefix(query, "ROLLBACK") || strings.Contains(query, "?") {
		lose = nothing
	}
	if lose == deadRequest || lose == deadReply {
		p.lose.CompareAndSwap(lose, nothing)
	}
	switch lose {
	case requests:
		return io.ErrUnexpectedEOF
	case deadRequest:
		return driver.ErrBadConn
	}
	if err := f(); err != nil {
		return err
	}
	switch lose {
	case replies:
		return io.ErrUnexpectedEOF
	case deadReply:
		return driver.ErrBadConn
	}
	return nil
}

func (p *tap) Driver() driver.Driver { return p.driver }

func (p *tap) Connect(context.Context) (driver.Conn, error) {
	c, err := p.driver.Open(p.dsn)
	if err != nil {
		return nil, err
	}
	return &tapConn{c, p}, nil
}

type tapConn struct {
	driver.Conn
	tap *tap
}

func (c *tapConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	empty(args)
	err = c.tap.pass(query, func() error {
		rows, err = c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
		return err
	})
	if err != nil && rows != nil {
		for err := error(nil); err == nil; { // the database has done it all
			err = rows.Next(make([]driver.Value, len(rows.Columns())))
		}
		_ = rows.Close()
		rows = nil
	}
	return rows, err
}

func (c *tapConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (r driver.Result, err error) {
	empty(args)
	err = c.tap.pass(query, func() error {
		r, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	})
	return r, err
}

func (c *tapConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.tap.sent.Add(1)
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

// empty makes nil of empty values.
func empty(args []driver.NamedValue) {
	for i := range args {
		if b, ok := args[i].Value.([]byte); ok && len(b) == 0 {
			args[i].Value = nil
		}
	}
}

func (c *tapConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *tapConn) ResetSession(ctx context.Context) error {
	if s, ok := c.Conn.(driver.SessionResetter); ok {
		return s.ResetSession(ctx)
	}
	return nil
}
