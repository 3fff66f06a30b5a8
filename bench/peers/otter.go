package main

import (
	"bytes"

	"github.com/maypok86/otter/v2"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

var otterPeer = peer{
	name:   "otter Cache.Compute",
	module: "github.com/maypok86/otter/v2",
	how:    "without a maximum size, since a cache that evicts is no store; reads are `GetIfPresent`, writes `Compute`",
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

func (s otterStore) load(n int, value []byte) {
	for i := range n {
		s.c.Set(harness.Key(i), entry{}.next(value))
	}
}

func (s otterStore) read(key string) ([]byte, uint64) {
	e, _ := s.c.GetIfPresent(key)
	return bytes.Clone(e.value), e.version
}

func (s otterStore) swap(key string, version uint64, value []byte) (landed bool) {
	s.c.Compute(key, func(old entry, _ bool) (entry, otter.ComputeOp) {
		landed = old.version == version
		if !landed {
			return old, otter.CancelOp
		}
		return old.next(value), otter.WriteOp
	})
	return landed
}

func (s otterStore) close() error {
	s.c.StopAllGoroutines()
	return nil
}
