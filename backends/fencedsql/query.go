package fencedsql

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"time"
)

// querier is a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// scanner is a row of a result.
type scanner interface {
	Scan(dest ...any) error
}

// one returns the row that a statement yields, the zero row for none.
func one(ctx context.Context, q querier, text string, scan func(scanner) (row, error), args []any) (row, error) {
	rows, err := many(ctx, q, text, scan, args)
	if err != nil || len(rows) == 0 {
		return row{}, err
	}
	return rows[0], nil
}

// many returns the rows that a statement yields. What it has written can be
// undone after its last row, so no error is let pass.
func many(ctx context.Context, q querier, text string, scan func(scanner) (row, error), args []any) (all []row, err error) {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closing := rows.Close(); err == nil && closing != nil {
			all, err = nil, closing
		}
	}()
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// pause waits for d or for the end of ctx, whose error it returns.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// backoff is how long to wait after the given try, from 1 on: twice as long each
// time, at most most, less a random part of up to a half, so that those who
// failed together do not try together.
func backoff(try int, most time.Duration) time.Duration {
	d := min(time.Millisecond<<min(try, 20), most)
	return d - rand.N(d/2+1)
}

// millis is d in whole milliseconds, rounded up.
func millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
