package fencedsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/fencedgo/fenced"
)

// What is wrong with the database. Open returns the first six; the others, and
// ErrNoSchema, ErrPermission and ErrReadOnly once more, may come from any call.
var (
	// ErrDialect says that the database does not speak the dialect given.
	ErrDialect = errors.New("fencedsql: wrong dialect")

	// ErrUnsupported says that the server is too old, is not what it should be,
	// or is set up so that acknowledged writes can be lost.
	ErrUnsupported = errors.New("fencedsql: unsupported database")

	// ErrNoSchema says that the tables are missing or are not those of this
	// package.
	ErrNoSchema = errors.New("fencedsql: schema missing")

	// ErrNewerSchema says that a later version of this package made the tables.
	ErrNewerSchema = errors.New("fencedsql: schema newer than this package")

	// ErrPermission says that the role may not do to the tables what it has to.
	// Nothing has changed.
	ErrPermission = errors.New("fencedsql: permission denied")

	// ErrReadOnly says that the database, the server or the transaction takes
	// no writes. Nothing has changed.
	ErrReadOnly = errors.New("fencedsql: database is read-only")

	// ErrFull says that the database has no space left. Nothing has changed.
	ErrFull = errors.New("fencedsql: database is full")

	// ErrRetry says that others at work, not the fence, stopped the call: a lock
	// that was not to be had, a deadlock, a failure to serialize. Nothing has
	// changed; the call may be made again. Where [Store.Guard] returns it, the
	// whole transaction has to be.
	ErrRetry = errors.New("fencedsql: busy, try again")

	// ErrTooLarge says that a value is over [Options].MaxValue. It is a
	// [fenced.ErrInvalid].
	ErrTooLarge = fmt.Errorf("%w: value too large", fenced.ErrInvalid)
)

// errAnew is an ErrRetry that another try at once may well get past, unlike that
// of a time-out.
var errAnew = fmt.Errorf("%w: in conflict with others at work", ErrRetry)

// failure is what a driver's error amounts to.
type failure struct {
	sentinel error // nil: none of this package's
	answered bool  // the database itself said no: nothing has changed
}

// wrap returns err under what it amounts to. A call that may have changed
// something and got no answer is uncertain.
func (f failure) wrap(err error, sent bool) error {
	if sent && !f.answered {
		return inDoubt(err)
	}
	if f.sentinel != nil && !errors.Is(err, f.sentinel) {
		return fmt.Errorf("%w: %w", f.sentinel, err)
	}
	return err
}

// inDoubt returns err, if it is one, as that of a call that may have been carried
// out all the same.
func inDoubt(err error) error {
	if err == nil || errors.Is(err, fenced.ErrUncertain) {
		return err
	}
	return fmt.Errorf("%w: %w", fenced.ErrUncertain, err)
}

// postgresFailure sorts an error by its SQLSTATE, which the drivers of
// PostgreSQL have a method for.
func postgresFailure(err error) failure {
	var server interface{ SQLState() string }
	if !errors.As(err, &server) {
		var unsent interface{ SafeToRetry() bool } // pgx: nothing was sent
		return failure{answered: errors.As(err, &unsent) && unsent.SafeToRetry()}
	}
	switch state := server.SQLState(); state {
	case "25006":
		return failure{ErrReadOnly, true}
	case "42501":
		return failure{ErrPermission, true}
	case "53100":
		return failure{ErrFull, true}
	case "42P01", "42703", "3F000": // no such table, column, schema
		return failure{ErrNoSchema, true}
	case "55P03", "57014": // lock or statement time-out
		return failure{ErrRetry, true}
	case "40003", "25P03", "25P04": // completion unknown; the server has ended the session
		return failure{}
	default:
		switch {
		case strings.HasPrefix(state, "40"): // serialization, deadlock
			return failure{errAnew, true}
		case slices.ContainsFunc(ends, func(class string) bool { return strings.HasPrefix(state, class) }):
			return failure{}
		}
		return failure{answered: true}
	}
}

// ends are the classes of errors that can end a session, perhaps in the middle of
// a commit: of the connection, the operator, the system, and the server itself.
var ends = []string{"08", "57P", "58", "XX"}

// The primary result codes of SQLite.
const (
	sqliteBusy     = 5
	sqliteLocked   = 6
	sqliteReadOnly = 8
	sqliteIO       = 10
	sqliteFull     = 13
	sqliteTooBig   = 18
)

// sqliteFailure sorts an error by its result code or, since not every driver
// shows it, by the text that SQLite has for it.
func sqliteFailure(err error) failure {
	code, text := 0, err.Error()
	var result interface{ Code() int }
	if errors.As(err, &result) {
		code = result.Code() & 0xff
	}
	is := func(want int, texts ...string) bool {
		for _, t := range texts {
			if code == 0 && strings.Contains(text, t) {
				return true
			}
		}
		return code == want
	}
	switch {
	case is(sqliteBusy, "database is locked"), is(sqliteLocked, "database table is locked"):
		return failure{ErrRetry, true}
	case is(sqliteReadOnly, "attempt to write a readonly database"):
		return failure{ErrReadOnly, true}
	case is(sqliteFull, "database or disk is full"):
		return failure{ErrFull, true}
	case is(sqliteTooBig, "string or blob too big"):
		return failure{ErrTooLarge, true}
	case strings.Contains(text, "no such table"), strings.Contains(text, "no such column"):
		return failure{ErrNoSchema, true}
	case is(sqliteIO, "disk I/O error"):
		return failure{}
	}
	return failure{answered: true}
}

// finished reports whether err is that of a context.
func finished(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// because returns err with the end of ctx, where that is its cause: not every
// driver says so.
func because(ctx context.Context, err error) error {
	if ctx.Err() == nil || finished(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}

// broken reports whether err is of a connection rather than from what is at its
// other end.
func broken(err error) bool {
	var network net.Error
	var server interface{ SQLState() string }
	switch {
	case errors.As(err, &server):
		return postgresFailure(err) == failure{}
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		return true
	default:
		return false
	}
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", fenced.ErrInvalid, fmt.Sprintf(format, args...))
}

// failed says which call err is of. Refusals say so themselves.
func failed(op, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("fencedsql: %s of %q: %w", op, key, err)
}
