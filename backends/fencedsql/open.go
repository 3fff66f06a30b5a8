package fencedsql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/fencedgo/fenced"
)

// The defaults of Options.
const (
	DefaultTimeout   = 10 * time.Second
	DefaultMaxValue  = 16 << 20
	DefaultPoll      = time.Second
	DefaultGuardIdle = 30 * time.Second
)

// Options configures a [Store]. The zero value is the default.
type Options struct {
	// Timeout is the longest that a call goes without an answer of the
	// database, the wait for a connection and for locks included. 0:
	// DefaultTimeout.
	Timeout time.Duration

	// MaxValue is the largest value in bytes. 0: DefaultMaxValue.
	MaxValue int

	// Poll is the longest pause between two looks at the database, of a claim
	// that waits and of the context of a grant. 0: DefaultPoll.
	Poll time.Duration

	// NoCreate makes Open check the tables but never make them.
	NoCreate bool

	// Relaxed accepts a database that may lose acknowledged writes with the
	// power, and with them generations: PostgreSQL with synchronous_commit or
	// fsync off, SQLite with synchronous below FULL.
	Relaxed bool

	// Notify is the channel of PostgreSQL on which reclaims notify, with the key
	// as payload; see [Store.Wake]. "": none.
	Notify string

	// GuardIdle has PostgreSQL end a transaction that has called [Store.Guard]
	// and is then idle for so long, and with it the lock that keeps the grant
	// from being reclaimed; where the session has a shorter time-out, that
	// holds. 0: DefaultGuardIdle. Negative: as the session has it.
	GuardIdle time.Duration

	_ struct{}
}

func (o Options) complete() (Options, error) {
	switch {
	case o.Timeout < 0, o.MaxValue < 0, o.Poll < 0:
		return o, invalid("negative option in %+v", o)
	case len(o.Notify) > 63 || !utf8.ValidString(o.Notify) || strings.ContainsAny(o.Notify, "\x00\\"):
		return o, invalid("channel %q, at most 63 bytes of UTF-8 and neither U+0000 nor a backslash", o.Notify)
	case o.GuardIdle > math.MaxInt32*time.Millisecond:
		return o, invalid("GuardIdle of %v, at most 24 days", o.GuardIdle)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxValue == 0 {
		o.MaxValue = DefaultMaxValue
	}
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	o.Poll = max(o.Poll, time.Millisecond)
	if o.GuardIdle == 0 {
		o.GuardIdle = DefaultGuardIdle
	}
	return o, nil
}

// engine runs statements in one dialect. Each call is atomic.
type engine interface {
	// check returns what is wrong with the database, and makes the tables.
	check(ctx context.Context, opts Options) error
	// step runs st. Where ctx ends before the answer, and late is not nil, the
	// step is not cancelled, and late gets what it wrote.
	step(ctx context.Context, st *statement, late func(row), args ...any) (row, error)
	// sweep ends up to limit lapsed grants and returns the rows as they were.
	sweep(ctx context.Context, limit int) ([]row, error)
	// rows runs st, which may yield many and writes nothing.
	rows(ctx context.Context, st *statement, args ...any) ([]row, error)
	guard(ctx context.Context, tx *sql.Tx, key string) (row, error)
}

// Store is a [fenced.Backend] in a database. It is safe for concurrent use, as
// are several Stores, of one process or of many, over one database. The zero
// Store is not usable; see [Open].
type Store struct {
	engine
	opts    Options
	st      statements
	lines   lines
	leases  leases
	mu      sync.Mutex // guards the closing of closed against new goroutines
	closed  chan struct{}
	running sync.WaitGroup // goroutines of the Store
}

// Open returns the store in db, which stays the caller's to close, after the
// Store. It checks that the server speaks the dialect, is new enough, takes
// writes and keeps them; it makes the tables where there are none. After an
// error they are as they were. Errors: [ErrDialect], [ErrUnsupported],
// [ErrNoSchema], [ErrNewerSchema], [ErrPermission], [ErrReadOnly],
// [fenced.ErrInvalid], those of the driver and of ctx.
func Open(ctx context.Context, db *sql.DB, dialect Dialect, opts Options) (*Store, error) {
	if ctx == nil || db == nil {
		return nil, invalid("no context or no database")
	}
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, closed: make(chan struct{})}
	switch dialect {
	case SQLite:
		s.engine, s.st = newSQLite(db)
	case PostgreSQL:
		s.engine, s.st = newPostgres(db, opts, s.spawn)
	default:
		return nil, invalid("%v", dialect)
	}
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	if err := s.check(ctx, opts); err != nil {
		return nil, fmt.Errorf("fencedsql: open: %w", err)
	}
	return s, nil
}

// Close ends the Store: claimants that wait get [fenced.ErrClosed], as does
// every later call, and the contexts of grants end with it. The grants stay
// current; they are in the database, which is not closed. It waits for what is
// under way and returns nil.
func (s *Store) Close() error {
	s.mu.Lock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// spawn calls f on a goroutine that Close waits for, unless the Store is closed.
func (s *Store) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return false
	default:
		s.running.Go(f)
		return true
	}
}

// live returns why a call under ctx may not begin, if anything.
func (s *Store) live(ctx context.Context) error {
	if ctx == nil {
		return invalid("nil context")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.closed:
		return fenced.ErrClosed
	default:
		return nil
	}
}

// call is a call of a Store's that takes a step on the record of key.
type call struct {
	op, key string
	step    *statement
	judge   func(row) []error // what speaks against the step, where it wrote nothing
	nonce   uint64            // of the grant that the step issues, 0 for none
	late    func(row)         // see [engine]
}

// run takes the step of c. It returns the row, and why the step wrote nothing, if
// it did not.
func (s *Store) run(ctx context.Context, c call, args ...any) (row, []error, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	args = append([]any{escape.Replace(c.key)}, args...)
	lost := false
	for try := 1; ; try++ {
		r, err := s.step(ctx, c.step, c.late, args...)
		lost = lost || r.lost
		if err != nil {
			if lost {
				err = inDoubt(err)
			}
			return row{}, nil, failed(c.op, c.key, err)
		}
		r = r.of(c.key)
		if r.wrote || c.nonce != 0 && r.nonce == c.nonce {
			return r, nil, nil
		}
		reasons := c.judge(r)
		switch {
		case reasons == nil && try < tries:
			// The record as the statement first saw it contradicts the refusal: it
			// has moved since. Another look, or another try, is from now.
		case lost: // what stands against the step may be what it did itself
			return row{}, nil, failed(c.op, c.key, inDoubt(errors.New("no answer came, and when sent again it had nothing to change")))
		case reasons == nil:
			return row{}, nil, failed(c.op, c.key, ErrRetry)
		default:
			return r, reasons, nil
		}
	}
}

// newNonce returns what a grant is issued under.
func newNonce() uint64 {
	for {
		var b [8]byte
		rand.Read(b[:])
		if n := binary.NativeEndian.Uint64(b[:]); n != 0 {
			return n
		}
	}
}
