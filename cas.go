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
	v := Record{Key: key, Version: version}
	err := s.swap(ctx, EventCompareAndSwap, &v, value)
	return v, err
}

// CompareAndDelete removes the record if it is at version, with the rules and
// errors of [Store.CompareAndSwap]. It moves the version, also where there was
// nothing to remove.
func (s *Store) CompareAndDelete(ctx context.Context, key string, version Version) (Record, error) {
	v := Record{Key: key, Version: version}
	err := s.swap(ctx, EventCompareAndDelete, &v, nil)
	return v, err
}

// swap is CompareAndSwap or CompareAndDelete, as kind says. It moves v, which
// holds key and version, to the record as written, or to the zero Record where
// it fails.
func (s *Store) swap(ctx context.Context, kind EventKind, v *Record, value []byte) error {
	if err := checkContext(ctx); err != nil {
		*v = Record{}
		return err
	}
	if value == nil && kind == EventCompareAndSwap {
		value = []byte{}
	}
	st, hash := s.locate(v.Key)
	st.mu.Lock()
	r := st.records.find(v.Key, hash)
	if r == nil || !st.admitsSwap(r, v.Version) || s.onEvent != nil {
		return st.swapOrRefuse(kind, v, hash, r, value)
	}
	st.applySwap(v, r, value)
	st.mu.Unlock()
	return nil
}

// swapOrRefuse is the rest of swap where there is more to do than to write. It
// unlocks st.
func (st *stripe) swapOrRefuse(kind EventKind, v *Record, hash uint64, r *record, value []byte) error {
	var n notices
	err := st.refuseSwap(kind, v, r, value, &n)
	if err != nil {
		*v = Record{}
	} else {
		if r == nil {
			r = st.add(v.Key, hash)
		}
		if st.store.onEvent != nil {
			st.note(&n, Event{Kind: kind, Key: r.key, Version: r.version + 1})
		}
		st.applySwap(v, r, value)
	}
	st.mu.Unlock()
	st.store.send(&n)
	return err
}

// applySwap writes, once admitted, and moves v to what was written.
func (st *stripe) applySwap(v *Record, r *record, value []byte) {
	st.write(r, value)
	v.Value, v.Version, v.Generation = value, r.version, r.generation
	if value != nil {
		st.count.Swaps++
	} else {
		st.count.Deletes++
		st.collect()
	}
	st.check(r)
}

// admitsSwap reports whether r is free and at version.
func (st *stripe) admitsSwap(r *record, version Version) bool {
	return st.open && r.holding == nil && r.isAt(version)
}

// isAt reports whether r is at version; to be at 0 is not to exist.
func (r *record) isAt(version Version) bool {
	if version == 0 {
		return !r.exists()
	}
	return version == r.version
}

// refuseSwap says why a writer without a grant may not write to r, nil if not
// seen before, or returns nil.
func (st *stripe) refuseSwap(kind EventKind, presented *Record, r *record, value []byte, n *notices) error {
	if !st.open {
		return ErrClosed
	}
	if err := CheckKey(presented.Key); err != nil {
		return err
	}
	var reasons []error
	switch {
	case r == nil && (presented.Version == 0 || presented.Version == st.version):
		return nil
	case r == nil:
		reasons = moved
		st.count.RefusedVersion++
	case st.admitsSwap(r, presented.Version):
		return nil
	case r.holding == nil:
		reasons = moved
		st.count.RefusedVersion++
	case r.isAt(presented.Version):
		reasons = held
		st.count.RefusedHeld++
	default:
		reasons = heldAndMoved
		st.count.RefusedHeld++
	}
	return st.refuse(kind, presented, r, value, reasons, n)
}
