package fenced

import "context"

// CompareAndSwap writes value if the record is at version, or does not exist
// where version is 0: the optimistic path, of a writer that read and took no
// grant. While anyone holds the record it is refused, whatever the version. It
// returns the record as written.
//
// A non-zero version must be that of the record, be it deleted; version 0 is
// the one check that does not notice that a record came and went. A nil value
// counts as an empty one. The store keeps a copy; the Value of the returned
// record is value itself, still the caller's. After an error nothing has
// changed. Errors: [ErrGrantHeld] and [ErrVersionConflict], which may come
// together, [ErrInvalid], [ErrClosed], that of ctx.
func (s *Store) CompareAndSwap(ctx context.Context, key string, version Version, value []byte) (Record, error) {
	return s.swap(ctx, EventCompareAndSwap, key, version, orEmpty(value))
}

// CompareAndDelete removes the record if it is at version, with the rules and
// errors of [Store.CompareAndSwap]. It moves the version, also where there was
// nothing to remove.
func (s *Store) CompareAndDelete(ctx context.Context, key string, version Version) (Record, error) {
	return s.swap(ctx, EventCompareAndDelete, key, version, nil)
}

// swap stores value, nil to delete, where nobody holds the record and it is at
// version.
func (s *Store) swap(ctx context.Context, kind EventKind, key string, version Version, value []byte) (Record, error) {
	if err := live(ctx); err != nil {
		return Record{}, err
	}
	if err := CheckKey(key); err != nil {
		return Record{}, err
	}
	st, hash := s.at(key)
	var n notices
	st.mu.Lock()
	if !st.open {
		st.mu.Unlock()
		return Record{}, ErrClosed
	}
	r := st.records[key]
	if !st.unheldAt(r, version) {
		err := st.refuseSwap(kind, r, &Record{Key: key, Version: version}, value, &n)
		st.mu.Unlock()
		s.send(&n)
		return Record{}, err
	}
	if r == nil {
		r = st.add(key, hash)
	}
	st.write(r, value)
	v := Record{Key: r.key, Value: value, Version: r.version, Generation: r.generation}
	if s.onEvent != nil {
		st.note(&n, Event{Kind: kind, Key: r.key, Version: r.version})
	}
	if value != nil {
		st.count.Swaps++
	} else {
		st.count.Deletes++
		st.collect()
	}
	st.check(r)
	st.mu.Unlock()
	s.send(&n)
	return v, nil
}

// unheldAt reports whether r, nil if not seen before, is free and at version.
func (st *stripe) unheldAt(r *record, version Version) bool {
	if r == nil {
		return version == 0 || version == st.version
	}
	return r.holding == nil && r.isAt(version)
}

// isAt reports whether r is at version; to be at 0 is not to exist.
func (r *record) isAt(version Version) bool {
	if version == 0 {
		return !r.exists()
	}
	return version == r.version
}

// refuseSwap says why a writer without a grant may not write to r.
func (st *stripe) refuseSwap(kind EventKind, r *record, presented *Record, value []byte, n *notices) error {
	reasons := moved
	switch {
	case r == nil || r.holding == nil:
		st.count.RefusedVersion++
	case r.isAt(presented.Version):
		reasons = held
		st.count.RefusedHeld++
	default:
		reasons = heldAndMoved
		st.count.RefusedHeld++
	}
	return st.refuse(kind, presented, value, reasons, n)
}
