package fencedsql

import (
	"context"
	"time"

	"github.com/fencedgo/fenced"
)

// Read returns the record as of one instant. An absent record is no error, its
// Value is nil. The slice is the caller's own. One round trip.
func (s *Store) Read(ctx context.Context, key string) (fenced.Record, error) {
	if err := s.live(ctx); err != nil {
		return fenced.Record{}, err
	}
	if err := fenced.CheckKey(key); err != nil {
		return fenced.Record{}, err
	}
	r, err := s.look(ctx, "read", key, &s.st.read)
	return r.Record, err
}

// look returns the row of key.
func (s *Store) look(ctx context.Context, op, key string, st *statement) (row, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	sent := time.Now()
	r, err := s.step(ctx, st, nil, escape.Replace(key))
	if err != nil {
		return row{}, failed(op, key, err)
	}
	r.sent = sent
	return r.of(key), nil
}
