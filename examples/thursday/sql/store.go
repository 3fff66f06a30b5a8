package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/fencedgo/fenced/backends/fencedsql"
)

// store is a Store with its database.
type store struct {
	*fencedsql.Store
	db     *sql.DB
	remove func() error // what is left of it in the database
}

// open returns a store in db, over so many connections; a worker whose call
// stalls needs none. If it fails, db is closed and remove called, as by
// Close.
func open(ctx context.Context, db *sql.DB, dialect fencedsql.Dialect, conns int, remove func() error) (*store, error) {
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	s, err := fencedsql.Open(ctx, db, dialect, fencedsql.Options{})
	if err != nil {
		return nil, errors.Join(err, db.Close(), remove())
	}
	return &store{s, db, remove}, nil
}

// Close ends the Store, closes the database and removes what is left.
func (s *store) Close() error { return errors.Join(s.Store.Close(), s.db.Close(), s.remove()) }
