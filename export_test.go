package fenced

// Kept returns the number of records that s keeps, deleted ones included.
func Kept(s *Store) int {
	return sum(s, func(st *stripe) int { return len(st.records) })
}

// Filed returns the number of entries in the heaps of leases.
func Filed(s *Store) int {
	return sum(s, func(st *stripe) int { return len(st.expiries) })
}

// Lock returns which of the locks of s guards the record of key.
func Lock(s *Store, key string) int {
	_, hash := s.locate(key)
	return int(hash % stripes)
}

// Waiting returns the number of claimants in the queue for key.
func Waiting(s *Store, key string) int {
	st, hash := s.locate(key)
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
	st, hash := s.locate(key)
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

// Collide puts keys into one table under one hash, and returns which key the
// table then finds for each of them and for one that is not in it.
func Collide(hash uint64, keys []string, absent string) (found []string, foundAbsent bool) {
	t := make(table)
	for _, key := range keys {
		t.add(&record{key: key}, hash)
	}
	for _, key := range keys {
		if r := t.find(key, hash); r != nil {
			found = append(found, r.key)
		}
	}
	return found, t.find(absent, hash) != nil
}

// Damage breaks the invariants of the record of key in one of the ways that
// Damages names, has them checked, and mends it again. It returns what the
// check panicked with.
func Damage(s *Store, key, how string) (broken any) {
	st, hash := s.locate(key)
	st.mu.Lock()
	defer st.mu.Unlock()
	r := st.records.find(key, hash)
	mend := Damages[how](st, r)
	defer mend()
	defer func() { broken = recover() }()
	st.check(r)
	return nil
}

// Damages are ways to break invariants. Each takes a record that is held, with
// claimants waiting and contexts open, and returns how to mend it.
var Damages = map[string]func(*stripe, *record) func(){
	"nothing":             func(*stripe, *record) func() { return func() {} },
	"count of existing":   func(st *stripe, _ *record) func() { st.exist++; return func() { st.exist-- } },
	"count of dead":       func(st *stripe, _ *record) func() { st.dead++; return func() { st.dead-- } },
	"count of live":       func(st *stripe, _ *record) func() { st.count.Live++; return func() { st.count.Live-- } },
	"count of grants":     func(st *stripe, _ *record) func() { st.count.Grants++; return func() { st.count.Grants-- } },
	"no generation":       func(_ *stripe, r *record) func() { return swapped(&r.generation, 0) },
	"not filed":           func(_ *stripe, r *record) func() { return swapped(&r.filed, 0) },
	"filed elsewhere":     func(_ *stripe, r *record) func() { return swapped(&r.filed, 99) },
	"filed too late":      func(st *stripe, r *record) func() { return swapped(&st.expiries[r.filed-1].until, r.holding.until+1) },
	"heap out of order":   func(st *stripe, _ *record) func() { return swapped(&st.expiries[0].until, 1<<62) },
	"held by nobody":      func(_ *stripe, r *record) func() { return swapped(&r.holding.holder, "") },
	"no lease":            func(_ *stripe, r *record) func() { return swapped(&r.holding.until, r.holding.from) },
	"timer not set":       func(_ *stripe, r *record) func() { return swapped(&r.holding.crowd.rings, 0) },
	"timer rings late":    func(_ *stripe, r *record) func() { return swapped(&r.holding.crowd.rings, r.holding.until+1) },
	"queue of another":    func(_ *stripe, r *record) func() { return swapped(&r.holding.crowd.r, new(record)) },
	"queue without end":   func(_ *stripe, r *record) func() { return swapped(&r.holding.crowd.last, nil) },
	"queue cut":           func(_ *stripe, r *record) func() { return swapped(&r.holding.crowd.first.next, nil) },
	"queue not doubled":   func(_ *stripe, r *record) func() { return swapped(&r.holding.crowd.last.prev, nil) },
	"passed over, queued": func(_ *stripe, r *record) func() { return swapped(&r.holding.crowd.first.passed, true) },
	"queue, nobody waits": func(_ *stripe, r *record) func() {
		c := r.holding.crowd
		first, last := c.first, c.last
		c.first, c.last = nil, nil
		return func() { c.first, c.last = first, last }
	},
	"contexts not doubled": func(_ *stripe, r *record) func() { return swapped(&r.holding.crowd.watchers.next.prev, nil) },
	"context of another":   func(_ *stripe, r *record) func() { return swapped(&r.holding.crowd.watchers.crowd, nil) },
	"under another key": func(st *stripe, r *record) func() {
		_, hash := st.store.locate("another")
		st.records[hash] = r
		return func() { delete(st.records, hash) }
	},
	"gone and filed": func(st *stripe, r *record) func() {
		_, hash := st.store.locate(r.key)
		delete(st.records, hash)
		return func() { st.records[hash] = r }
	},
	"of another stripe": func(_ *stripe, r *record) func() { return swapped(&r.stripe, new(stripe)) },
	"spare in use": func(st *stripe, r *record) func() {
		return swapped(&st.spare, append(st.spare[:len(st.spare):len(st.spare)], r.holding))
	},
}

// swapped sets *p to v, and returns how to undo it.
func swapped[T any](p *T, v T) func() {
	was := *p
	*p = v
	return func() { *p = was }
}
