package fencedsql

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/fencedgo/fenced"
)

// engine runs statements in one dialect. Each call is atomic.
type engine interface {
	// check returns what is wrong with the database, and makes the tables.
	check(ctx context.Context, opts Options) error
	// step runs st. Where ctx ends before the answer, and late is not nil, the
	// step is not cancelled, and late gets the answer.
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
// current; they are in the database, which is not closed. It waits for the
// goroutines of the Store, not for calls that are under way on others, and
// returns nil.
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
