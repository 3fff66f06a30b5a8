// Package floor is what people write by hand, and what everything is measured
// against: a striped mutex and map doing a versioned compare-and-swap, with the
// value copied in under the lock. No grants, no leases, no events.
package floor

import (
	"hash/maphash"
	"sync"
)

// Floor is a store of versioned values. To be made by [New].
type Floor struct {
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

// New returns an empty floor.
func New() *Floor {
	f := &Floor{seed: maphash.MakeSeed()}
	for i := range f.stripes {
		f.stripes[i].entries = make(map[string]entry)
	}
	return f
}

// Swap writes a copy of value if the entry of key is at version, 0 where there
// is none, and returns the version it is at then.
func (f *Floor) Swap(key string, version uint64, value []byte) (uint64, bool) {
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

// Read returns a copy of the value of key, and its version.
func (f *Floor) Read(key string) ([]byte, uint64) {
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
