package main

import (
	"bytes"

	"github.com/maypok86/otter/v2"
)

var otterPeer = peer{
	name:   "otter Cache.Compute",
	module: "github.com/maypok86/otter/v2",
	how:    "without a maximum size, since a cache that evicts is no store; reads are `GetIfPresent`, writes `Compute`; values are immutable, and handed over by an update as to xsync",
	wins:   "its reads take no lock, and " + lean,
	small:  lean,
	still:  lean,
	open: func() (store, error) {
		c, err := otter.New(&otter.Options[string, entry]{})
		return otterStore{c}, err
	},
	loops: versionedLoops,
}

type otterStore struct{ c *otter.Cache[string, entry] }

func (s otterStore) load(n, size int) {
	for key, value := range rows(0, n, size) {
		s.c.Set(key, entry{1, bytes.Clone(value)})
	}
}

func (s otterStore) read(key string) ([]byte, uint64) {
	e, _ := s.c.GetIfPresent(key)
	return bytes.Clone(e.value), e.version
}

func (s otterStore) swap(key string, version uint64, value []byte) bool {
	return s.put(key, version, value, bytes.Clone)
}

func (s otterStore) swapOwned(key string, version uint64, value []byte) bool {
	return s.put(key, version, value, handedOver)
}

// put writes what keep returns, if it writes.
func (s otterStore) put(key string, version uint64, value []byte, keep func([]byte) []byte) (landed bool) {
	s.c.Compute(key, func(old entry, _ bool) (entry, otter.ComputeOp) {
		landed = old.version == version
		if !landed {
			return old, otter.CancelOp
		}
		return entry{version + 1, keep(value)}, otter.WriteOp
	})
	return landed
}

func (s otterStore) close() error {
	s.c.StopAllGoroutines()
	return nil
}
