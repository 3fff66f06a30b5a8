package main

import (
	"bytes"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

var xsyncPeer = peer{
	name:   "xsync Map.Compute",
	module: "github.com/puzpuzpuz/xsync/v4",
	how:    "reads are `Load`, writes `Compute`; values are immutable, so each write allocates one",
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

// next is the entry that a write leaves.
func (e entry) next(value []byte) entry { return entry{e.version + 1, bytes.Clone(value)} }

type xsyncStore struct{ m *xsync.Map[string, entry] }

func (s xsyncStore) load(n int, value []byte) {
	for i := range n {
		s.m.Store(harness.Key(i), entry{}.next(value))
	}
}

func (s xsyncStore) read(key string) ([]byte, uint64) {
	e, _ := s.m.Load(key)
	return bytes.Clone(e.value), e.version
}

func (s xsyncStore) swap(key string, version uint64, value []byte) (landed bool) {
	s.m.Compute(key, func(old entry, _ bool) (entry, xsync.ComputeOp) {
		landed = old.version == version
		if !landed {
			return old, xsync.CancelOp
		}
		return old.next(value), xsync.UpdateOp
	})
	return landed
}

func (s xsyncStore) close() error { return nil }
