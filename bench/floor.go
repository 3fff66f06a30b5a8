package main

import (
	"hash/maphash"
	"sync"
)

// floor is what people write by hand, and what everything is measured against:
// a striped mutex and map doing a versioned compare-and-swap, with the value
// copied in under the lock. No grants, no leases, no events.
type floor struct {
	seed    maphash.Seed
	stripes [256]struct {
		mu      sync.Mutex
		entries map[string]entry
	}
}

type entry struct {
	version uint64
	value   []byte
}

func newFloor() *floor {
	f := &floor{seed: maphash.MakeSeed()}
	for i := range f.stripes {
		f.stripes[i].entries = make(map[string]entry)
	}
	return f
}

// swap writes a copy of value if the entry of key is at version, 0 where there
// is none, and returns the version it is at then.
func (f *floor) swap(key string, version uint64, value []byte) (uint64, bool) {
	s := &f.stripes[maphash.String(f.seed, key)%uint64(len(f.stripes))]
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	if e.version != version {
		return e.version, false
	}
	if cap(e.value) < len(value) {
		e.value = make([]byte, len(value))
	}
	e.value = e.value[:len(value)]
	copy(e.value, value)
	e.version++
	s.entries[key] = e
	return e.version, true
}

// read returns a copy of the value of key, and its version.
func (f *floor) read(key string) ([]byte, uint64) {
	s := &f.stripes[maphash.String(f.seed, key)%uint64(len(f.stripes))]
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	if !ok {
		return nil, 0
	}
	value := make([]byte, len(e.value))
	copy(value, e.value)
	return value, e.version
}
