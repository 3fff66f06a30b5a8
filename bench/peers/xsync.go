package main

import (
	"bytes"

	"github.com/puzpuzpuz/xsync/v4"
)

var xsyncPeer = peer{
	name:   "xsync Map.Compute",
	module: "github.com/puzpuzpuz/xsync/v4",
	how:    "reads are `Load`, writes `Compute`; values are immutable, so an update hands over the copy that it has derived the new value in, and a write, whose value is the writer's, allocates one",
	wins:   "its reads take no lock, and " + lean,
	small:  lean,
	still:  lean,
	open: func() (store, error) {
		return xsyncStore{xsync.NewMap[string, entry]()}, nil
	},
	loops: versionedLoops,
}

// entry is a record in a map whose readers take no lock: it is replaced and
// never changed.
type entry struct {
	version uint64
	value   []byte
}

type xsyncStore struct{ m *xsync.Map[string, entry] }

func (s xsyncStore) load(n, size int) {
	for key, value := range rows(0, n, size) {
		s.m.Store(key, entry{1, bytes.Clone(value)})
	}
}

func (s xsyncStore) read(key string) ([]byte, uint64) {
	e, _ := s.m.Load(key)
	return bytes.Clone(e.value), e.version
}

func (s xsyncStore) swap(key string, version uint64, value []byte) bool {
	return s.put(key, version, value, bytes.Clone)
}

func (s xsyncStore) swapOwned(key string, version uint64, value []byte) bool {
	return s.put(key, version, value, handedOver)
}

// put writes what keep returns, if it writes.
func (s xsyncStore) put(key string, version uint64, value []byte, keep func([]byte) []byte) (landed bool) {
	s.m.Compute(key, func(old entry, _ bool) (entry, xsync.ComputeOp) {
		landed = old.version == version
		if !landed {
			return old, xsync.CancelOp
		}
		return entry{version + 1, keep(value)}, xsync.UpdateOp
	})
	return landed
}

func (s xsyncStore) close() error { return nil }
