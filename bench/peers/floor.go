package main

import "github.com/fencedgo/fenced/bench/internal/floor"

var floorPeer = peer{
	name:  "floor: mutexes and maps",
	how:   "256 stripes of a mutex and a map, values written in place under the lock",
	wins:  lean,
	small: lean,
	still: "an entry is in the map itself, and its value the one thing that it points to",
	open:  func() (store, error) { return floorStore{floor.New()}, nil },
	loops: versionedLoops,
}

type floorStore struct{ f *floor.Floor }

func (s floorStore) load(n, size int) {
	for key, value := range rows(0, n, size) {
		create(s, key, value)
	}
}

func (s floorStore) read(key string) ([]byte, uint64) { return s.f.Read(key) }

func (s floorStore) swap(key string, version uint64, value []byte) bool {
	_, ok := s.f.Swap(key, version, value)
	return ok
}

func (s floorStore) close() error { return nil }
