package fenced

// Kept returns the number of records that s keeps, deleted ones included.
func Kept(s *Store) int {
	return sum(s, func(st *stripe) int { return len(st.records) })
}

// Filed returns the number of entries in the heaps of leases.
func Filed(s *Store) int {
	return sum(s, func(st *stripe) int { return len(st.expiries) })
}

// Waiting returns the number of claimants in the queue for key.
func Waiting(s *Store, key string) int {
	st, hash := s.at(key)
	st.mu.Lock()
	defer st.mu.Unlock()
	r := st.records.find(key, hash)
	if r == nil || r.holding == nil || r.holding.crowd == nil {
		return 0
	}
	n := 0
	for w := r.holding.crowd.first; w != nil; w = w.next {
		n++
	}
	return n
}

// Watching returns the number of contexts that the end of the grant of key
// would end.
func Watching(s *Store, key string) int {
	st, hash := s.at(key)
	st.mu.Lock()
	defer st.mu.Unlock()
	n := 0
	if r := st.records.find(key, hash); r != nil && r.holding != nil && r.holding.crowd != nil {
		for w := r.holding.crowd.watchers; w != nil; w = w.next {
			n++
		}
	}
	return n
}

func sum(s *Store, of func(*stripe) int) int {
	n := 0
	for i := range s.stripes {
		st := &s.stripes[i]
		st.mu.Lock()
		n += of(st)
		st.mu.Unlock()
	}
	return n
}
