package fenced

import "context"

// CommitUnfenced is [Store.Commit] without the fence: it judges the version
// alone. It is what the fence is measured against, in the same build.
func (s *Store) CommitUnfenced(ctx context.Context, g Grant, value []byte) (Grant, error) {
	value = orEmpty(value)
	if err := s.writeUnfenced(ctx, EventCommit, &g, value); err != nil {
		return Grant{}, err
	}
	g.Value = value
	return g, nil
}

// writeUnfenced is write but for one condition. TestUnfencedTwin keeps it so.
func (s *Store) writeUnfenced(ctx context.Context, kind EventKind, g *Grant, value []byte) error {
	if err := live(ctx); err != nil {
		return err
	}
	var n notices
	st, r := s.lock(g)
	if !st.open || r == nil || r.version != g.Version {
		var err error
		if r, err = st.refuseWrite(kind, g, value, &n); err != nil {
			st.mu.Unlock()
			s.send(&n)
			return err
		}
	}
	st.write(r, value)
	if s.onEvent != nil {
		st.note(&n, Event{Kind: kind, Key: r.key, Holder: g.Holder, Version: r.version, Generation: g.Generation, Err: n.waived})
	}
	g.Version, g.at = r.version, r
	if value != nil {
		st.count.Commits++
	} else {
		st.count.Deletes++
		st.collect()
	}
	st.mu.Unlock()
	s.send(&n)
	return nil
}
