package fencedsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// direct is one for a connection, past the rows of package sql: those start a
// goroutine to watch a context that can end, which costs more than the fence
// does. The drivers of PostgreSQL watch it themselves.
func direct(ctx context.Context, conn *sql.Conn, text string, scan func(scanner) (row, error), args []any) (r row, err error) {
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	err = conn.Raw(func(c any) error {
		q, ok := c.(driver.QueryerContext)
		if !ok {
			return driver.ErrSkip
		}
		rows, err := q.QueryContext(ctx, text, named)
		if err != nil {
			return err
		}
		r, err = first(rows, scan)
		return errors.Join(err, rows.Close())
	})
	if errors.Is(err, driver.ErrSkip) { // the driver prepares all, or wants its arguments checked
		return one(ctx, conn, text, scan, args)
	}
	if err != nil {
		return row{}, err
	}
	return r, nil
}

// first returns the first of rows, and reads all: what they wrote can be undone
// after the last.
func first(rows driver.Rows, scan func(scanner) (row, error)) (r row, err error) {
	cells := make(cells, len(rows.Columns()))
	for n := 0; ; n++ {
		switch err := rows.Next(cells); {
		case err == io.EOF: //nolint:errorlint // nothing else is the end: a connection can end with an EOF too
			return r, nil
		case err != nil:
			return row{}, err
		case n > 0:
			continue
		}
		if r, err = scan(cells); err != nil {
			return row{}, err
		}
	}
}

// cells are a row as a driver has it.
type cells []driver.Value

// Scan does for the types that rows are read into what that of [sql.Rows] does.
func (c cells) Scan(dest ...any) (err error) {
	if len(dest) != len(c) {
		return fmt.Errorf("fencedsql: %d columns, want %d", len(c), len(dest))
	}
	for i, d := range dest {
		switch d := d.(type) {
		case sql.Scanner:
			err = d.Scan(c[i])
		case *bool:
			err = assign(d, c[i])
		case *uint8:
			err = assign(d, c[i])
		case *int64:
			err = assign(d, c[i])
		case *string:
			err = assign(d, c[i])
		case *[]byte:
			err = assign(d, c[i])
		default:
			err = fmt.Errorf("a %T", d)
		}
		if err != nil {
			return fmt.Errorf("fencedsql: column %d: %w", i+1, err)
		}
	}
	return nil
}

// assign converts v as package sql does, and copies bytes.
func assign[T any](to *T, v driver.Value) error {
	var n sql.Null[T]
	err := n.Scan(v)
	*to = n.V
	return err
}
