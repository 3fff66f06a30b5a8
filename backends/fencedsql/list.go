package fencedsql

import (
	"context"
	"iter"

	"github.com/fencedgo/fenced"
)

// A page is what a list or a sweep takes in one round trip: a hundred records, or
// as few as have a megabyte of values.
const (
	pageRecords = 100
	pageBytes   = 1 << 20
)

// last reports whether a page that was to have n records is the last one.
func last(page []row, n int) bool {
	size := 0
	for _, r := range page {
		size += len(r.Value)
	}
	return len(page) < n && size < pageBytes
}

// Records yields every record that exists, by key, a page to a round trip: a
// hundred records or, where they are large, a megabyte and one more. A record is
// as it was when its page was read, and one that comes or goes meanwhile may be
// yielded or not. Where a page cannot be read, its error comes last, with the
// zero Record. The slices are the caller's own.
func (s *Store) Records(ctx context.Context) iter.Seq2[fenced.Record, error] {
	return func(yield func(fenced.Record, error) bool) {
		for after := ""; ; {
			page, err := s.list(ctx, after)
			if err != nil {
				yield(fenced.Record{}, err)
				return
			}
			for _, r := range page {
				if !yield(r.Record, nil) {
					return
				}
			}
			if last(page, pageRecords) {
				return
			}
			after = page[len(page)-1].Key
		}
	}
}

func (s *Store) list(ctx context.Context, after string) ([]row, error) {
	if err := s.live(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	page, err := s.rows(ctx, &s.st.page, escape.Replace(after), pageBytes, pageRecords)
	if err != nil {
		return nil, failed("list", after, err)
	}
	return page, nil
}

// All yields the same as [Store.Records] and ends early where a page cannot be
// read, which it has no way to say: use Records where that matters.
func (s *Store) All() iter.Seq[fenced.Record] {
	return func(yield func(fenced.Record) bool) {
		for r, err := range s.Records(context.Background()) {
			if err != nil || !yield(r) {
				return
			}
		}
	}
}
