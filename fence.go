package fenced

import (
	"context"
	"slices"
)

// Commit writes value under g: the fence. It lands only if g is still the
// record's current grant and g.Version its version, in one step with both
// checks. No clock is consulted: a grant whose lease has lapsed can commit until
// it ends. The grant is returned at its new version, so commits chain.
//
// A nil value counts as an empty one. The store keeps a copy; the Value of the
// returned grant is value itself, still the caller's. After an error nothing
// has changed. Errors: [ErrVersionConflict] and [ErrStaleReadGeneration], which
// may come together, [ErrForeignGrant], [ErrInvalid], [ErrClosed], that of ctx.
func (s *Store) Commit(ctx context.Context, g Grant, value []byte) (Grant, error) {
	err := s.commit(ctx, EventCommit, &g, value)
	return g, err
}

// Delete removes the record under g, fenced like [Store.Commit], with the same
// errors. It moves the version, also where there was nothing to remove. The
// grant stays current and is returned at its new version.
func (s *Store) Delete(ctx context.Context, g Grant) (Grant, error) {
	err := s.commit(ctx, EventDelete, &g, nil)
	return g, err
}

// commit is Commit or Delete, as kind says. It moves g to the new version, or to
// the zero Grant where it fails. It stands apart so that the two are inlined and
// a grant is not copied to and fro.
func (s *Store) commit(ctx context.Context, kind EventKind, g *Grant, value []byte) error {
	if err := checkContext(ctx); err != nil {
		*g = Grant{}
		return err
	}
	if value == nil && kind == EventCommit {
		value = []byte{}
	}
	st, r := s.lock(g)
	if !st.admits(g, r) || s.onEvent != nil {
		return st.commitOrRefuse(kind, g, r, value)
	}
	st.apply(g, r, value)
	st.mu.Unlock()
	return nil
}

// commitOrRefuse is the rest of commit where there is more to do than to write.
// It unlocks st.
func (st *stripe) commitOrRefuse(kind EventKind, g *Grant, r *record, value []byte) error {
	var n notices
	var waived, err error
	if !st.admits(g, r) {
		r, waived, err = st.refuseWrite(kind, g, r, value, &n)
		g.at = r
	}
	if err != nil {
		*g = Grant{}
	} else {
		if st.store.onEvent != nil {
			holder := g.Holder
			if r.holds(g) {
				holder = r.holding.holder // a grant from a token has no label
			}
			st.note(&n, Event{
				Kind: kind, Key: r.key, Holder: holder,
				Version: r.version + 1, Generation: g.Generation, Err: waived,
			})
		}
		st.apply(g, r, value)
	}
	st.mu.Unlock()
	st.store.send(&n)
	return err
}

// apply writes, once admitted, and moves g to the new version.
func (st *stripe) apply(g *Grant, r *record, value []byte) {
	st.write(r, value)
	g.Value, g.Version = value, r.version
	if value != nil {
		st.count.Commits++
	} else {
		st.count.Deletes++
		st.collect() // in report-only mode nobody may hold it
	}
	st.check(r)
}

// lock returns the record of g, nil if the store has none, and its stripe
// locked. A grant that remembers its record needs no look-up, and one that did
// not does so now.
func (s *Store) lock(g *Grant) (*stripe, *record) {
	if r := g.at; r != nil && r.stripe.store == s && r.key == g.Key {
		r.stripe.mu.Lock()
		if r.generation != 0 {
			return r.stripe, r
		}
		r.stripe.mu.Unlock() // r was collected; there may be another by now
	}
	st, hash := s.locate(g.Key)
	st.mu.Lock()
	g.at = st.records.find(g.Key, hash)
	return st, g.at
}

// holds is the one question that commit, delete, renew and release ask: is g the
// current grant of r? By equality of generation, under the nonce that this store
// gives that generation of this record; no label and no clock answers it.
func (r *record) holds(g *Grant) bool {
	return r != nil && r.holding != nil && r.generation == g.Generation && r.nonce == g.nonce
}

// admits is the fence: may g write to r? Both checks, and the write after them,
// are made under one lock.
func (st *stripe) admits(g *Grant, r *record) bool {
	return st.open && r.holds(g) && r.version == g.Version
}

// usable returns what is wrong with a call under g, whatever the record.
func (st *stripe) usable(g *Grant) error {
	if !st.open {
		return ErrClosed
	}
	return CheckGrant(*g)
}

// refuseWrite returns why g may not write. In report-only mode, where the fence
// alone is in the way, it returns instead the record to write to, and the
// refusal that is waived.
func (st *stripe) refuseWrite(
	kind EventKind, g *Grant, r *record, value []byte, n *notices,
) (to *record, waived, err error) {
	if err := st.usable(g); err != nil {
		return nil, nil, err
	}
	_, hash := st.store.locate(g.Key)
	var reasons []error
	switch isMoved := st.view(g.Key, r).Version != g.Version; {
	case g.nonce != st.store.nonce(hash, g.Generation): // this store never issued it
		reasons = foreign
	case isMoved && r.holds(g):
		reasons = moved
		st.count.RefusedVersion++
	case isMoved:
		reasons = movedStale
		st.count.RefusedBoth++
	case st.store.reportOnly:
		st.count.WouldRefuse++
		waived = st.conflict(kind.String(), &g.Record, r, stale)
		if r == nil {
			r = st.add(g.Key, hash)
		}
		return r, waived, nil
	default:
		reasons = stale
		st.count.RefusedGeneration++
	}
	return nil, nil, st.refuse(kind, &g.Record, r, value, reasons, n)
}

// judge says why the call of the given kind, which reads no version, may not be
// made under g, if anything.
func (st *stripe) judge(kind EventKind, g *Grant, r *record, n *notices) error {
	if st.open && r.holds(g) {
		return nil
	}
	if err := st.usable(g); err != nil {
		return err
	}
	return st.refuse(kind, &g.Record, r, nil, st.against(g), n)
}

// against returns what speaks against g, which is not current.
func (st *stripe) against(g *Grant) []error {
	if _, hash := st.store.locate(g.Key); g.nonce != st.store.nonce(hash, g.Generation) {
		return foreign // this store never issued it
	}
	return stale
}

// refuse returns the refusal of a call, and notes it.
func (st *stripe) refuse(
	kind EventKind, presented *Record, r *record, value []byte, reasons []error, n *notices,
) error {
	err := st.conflict(kind.String(), presented, r, reasons)
	if st.store.onEvent != nil {
		st.note(n, Event{
			Kind: kind, Key: presented.Key, Holder: presented.Holder,
			Generation: presented.Generation, Err: err, Value: copyOf(value),
		})
	}
	return err
}

// conflict sets what the caller came with against the record as it stands, r,
// nil if not seen before.
func (st *stripe) conflict(op string, presented *Record, r *record, reasons []error) *ConflictError {
	e := &struct {
		ConflictError
		reasons [2]error // with it, so that a refusal costs one allocation
	}{}
	e.Op, e.Key, e.Presented, e.Current = op, presented.Key, *presented, st.view(presented.Key, r)
	e.Presented.Value = nil
	e.Reasons = append(e.reasons[:0], reasons...)
	if r != nil && r.ended != EndingUnknown && presented.Generation+1 == r.generation &&
		!slices.Contains(reasons, ErrForeignGrant) {
		e.Ended, e.EndedAt = r.ended, st.store.timeAt(r.endedAt)
	}
	return &e.ConflictError
}
