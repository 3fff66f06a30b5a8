// Package tap is a driver between database/sql and the driver of a database,
// with a hook around everything that is sent to the database.
package tap

import (
	"context"
	"database/sql/driver"
)

// Hook is called for each statement, and for what database/sql sends itself
// ("begin", "commit", "rollback"). It calls send or does not, and what it returns
// is what came of the statement.
type Hook func(statement string, send func() error) error

// New returns a connector to the database of dsn whose statements go through
// hook.
func New(d driver.Driver, dsn string, hook Hook) driver.Connector {
	return &connector{d, dsn, hook}
}

type connector struct {
	driver driver.Driver
	dsn    string
	hook   Hook
}

func (c *connector) Driver() driver.Driver { return c.driver }

func (c *connector) Connect(context.Context) (driver.Conn, error) {
	under, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return &conn{under, c.hook}, nil
}

type conn struct {
	driver.Conn
	hook Hook
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	var rows driver.Rows
	err := c.hook(query, func() (err error) {
		rows, err = c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
		return err
	})
	if err != nil && rows != nil {
		// The hook lost the answer, not the statement.
		for next := error(nil); next == nil; {
			next = rows.Next(make([]driver.Value, len(rows.Columns())))
		}
		_ = rows.Close()
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	err = c.hook(query, func() error {
		result, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	})
	return result, err
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	var under driver.Tx
	err := c.hook("begin", func() (err error) {
		under, err = c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &tx{under, c.hook}, nil
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *conn) ResetSession(ctx context.Context) error {
	if s, ok := c.Conn.(driver.SessionResetter); ok {
		return s.ResetSession(ctx)
	}
	return nil
}

type tx struct {
	under driver.Tx
	hook  Hook
}

func (t *tx) Commit() error   { return t.hook("commit", t.under.Commit) }
func (t *tx) Rollback() error { return t.hook("rollback", t.under.Rollback) }
