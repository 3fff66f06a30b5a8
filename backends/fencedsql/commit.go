package fencedsql

import (
	"context"
	"fmt"

	"github.com/fencedgo/fenced"
)

// Commit writes value under g: the fence. It lands only if g is still the
// record's current grant and g.Version its version, in one step with both
// checks. No clock is consulted. The grant is returned at its new version. A nil
// value counts as an empty one. The Value of the returned grant is value itself,
// still the caller's. One round trip, also when refused.
//
// Errors: [fenced.ErrVersionConflict] and [fenced.ErrStaleReadGeneration], which
// may come together, [fenced.ErrForeignGrant], [ErrTooLarge],
// [fenced.ErrInvalid], [fenced.ErrClosed], that of ctx, those of the database:
// after all these nothing has changed. And [fenced.ErrUncertain], where no
// answer came: see [Store.Resolve].
func (s *Store) Commit(ctx context.Context, g fenced.Grant, value []byte) (fenced.Grant, error) {
	if err := s.live(ctx); err != nil {
		return fenced.Grant{}, err
	}
	value, err := s.fits(value)
	if err != nil {
		return fenced.Grant{}, err
	}
	if _, err := s.under(ctx, g, row.judgeWrite, call{op: "commit", step: &s.st.commit}, int64(g.Version), value); err != nil {
		return fenced.Grant{}, err
	}
	g.Version, g.Value = g.Version+1, value
	return g, nil
}

// Delete removes the record under g, fenced like [Store.Commit], with the same
// errors. It moves the version, also where there was nothing to remove.
func (s *Store) Delete(ctx context.Context, g fenced.Grant) (fenced.Grant, error) {
	if err := s.live(ctx); err != nil {
		return fenced.Grant{}, err
	}
	if _, err := s.under(ctx, g, row.judgeWrite, call{op: "delete", step: &s.st.delete}, int64(g.Version)); err != nil {
		return fenced.Grant{}, err
	}
	g.Version, g.Value = g.Version+1, nil
	return g, nil
}

// fits returns value as it is stored: nil counts as empty.
func (s *Store) fits(value []byte) ([]byte, error) {
	if len(value) > s.opts.MaxValue {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(value), s.opts.MaxValue)
	}
	if value == nil {
		value = []byte{}
	}
	return value, nil
}

// CompareAndSwap writes value if the record is at version, or does not exist
// where version is 0. While anyone holds the record it is refused, whatever the
// version. It returns the record as written, whose Value is value itself. One
// round trip, also when refused. Errors: [fenced.ErrGrantHeld] and
// [fenced.ErrVersionConflict], which may come together, and those of
// [Store.Commit] that are not about a grant. After [fenced.ErrUncertain] only a
// read tells, and not for certain: that is what grants are for.
func (s *Store) CompareAndSwap(ctx context.Context, key string, version fenced.Version, value []byte) (fenced.Record, error) {
	if err := s.live(ctx); err != nil {
		return fenced.Record{}, err
	}
	value, err := s.fits(value)
	if err != nil {
		return fenced.Record{}, err
	}
	if version == 0 {
		return s.exchange(ctx, "compare-and-swap", key, version, value, &s.st.create, value)
	}
	return s.exchange(ctx, "compare-and-swap", key, version, value, &s.st.swap, int64(version), value)
}

// CompareAndDelete removes the record if it is at version, with the rules and
// errors of [Store.CompareAndSwap]. It moves the version, also where there was
// nothing to remove.
func (s *Store) CompareAndDelete(ctx context.Context, key string, version fenced.Version) (fenced.Record, error) {
	if err := s.live(ctx); err != nil {
		return fenced.Record{}, err
	}
	if version == 0 {
		return s.exchange(ctx, "compare-and-delete", key, version, nil, &s.st.bury)
	}
	return s.exchange(ctx, "compare-and-delete", key, version, nil, &s.st.remove, int64(version))
}

func (s *Store) exchange(ctx context.Context, op, key string, version fenced.Version, value []byte, st *statement, args ...any) (fenced.Record, error) {
	if err := fenced.CheckKey(key); err != nil {
		return fenced.Record{}, err
	}
	r, reasons, err := s.run(ctx, call{op: op, key: key, step: st, judge: func(r row) []error { return r.judgeSwap(version) }}, args...)
	switch {
	case err != nil:
		return fenced.Record{}, err
	case reasons != nil:
		return fenced.Record{}, r.conflict(op, fenced.Record{Key: key, Version: version}, reasons)
	}
	r.Value = value
	return r.Record, nil
}
