package fenced

import "context"

// CommitUnfenced is [Store.Commit] without the fence: it judges the version
// alone. It is what the fence is measured against, in the same build.
func (s *Store) CommitUnfenced(ctx context.Context, g Grant, value []byte) (Grant, error) {
	err := s.commitUnfenced(ctx, EventCommit, &g, value)
	return g, err
}

// commitUnfenced is commit but for one condition. TestUnfencedTwin keeps it so.
func (s *Store) commitUnfenced(ctx context.Context, kind EventKind, g *Grant, value []byte) error {
	if err := checkContext(ctx); err != nil {
		*g = Grant{}
		return err
	}
	if value == nil && kind == EventCommit {
		value = []byte{}
	}
	st, r := s.lock(g)
	if !st.admitsUnfenced(g, r) || s.onEvent != nil {
		return st.commitOrRefuse(kind, g, r, value)
	}
	st.apply(g, r, value)
	st.mu.Unlock()
	return nil
}

func (st *stripe) admitsUnfenced(g *Grant, r *record) bool {
	return st.open && r != nil && r.version == g.Version
}
