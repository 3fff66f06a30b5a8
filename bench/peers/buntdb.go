package main

import (
	"errors"

	"github.com/tidwall/buntdb"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

var buntdbPeer = peer{
	name:   "buntdb, in memory",
	module: "github.com/tidwall/buntdb",
	how:    "opened on `:memory:`; a write is an `Update`: `Get`, compare, `Set`",
	wins:   lean,
	small:  lean,
	still:  lean,
	open: func() (store, error) {
		db, err := buntdb.Open(":memory:")
		return buntdbStore{db}, err
	},
	loops: versionedLoops,
}

type buntdbStore struct{ db *buntdb.DB }

func (s buntdbStore) load(n int, value []byte) {
	must(s.db.Update(func(tx *buntdb.Tx) error {
		for i := range n {
			if _, _, err := tx.Set(harness.Key(i), string(pack(1, value)), nil); err != nil {
				return err
			}
		}
		return nil
	}))
}

// get returns the packed value of key, "" for none.
func (s buntdbStore) get(tx *buntdb.Tx, key string) (string, error) {
	packed, err := tx.Get(key)
	if errors.Is(err, buntdb.ErrNotFound) {
		return "", nil
	}
	return packed, err
}

func (s buntdbStore) read(key string) (value []byte, version uint64) {
	must(s.db.View(func(tx *buntdb.Tx) error {
		packed, err := s.get(tx, key)
		value, version = unpack([]byte(packed))
		return err
	}))
	return value, version
}

func (s buntdbStore) swap(key string, version uint64, value []byte) bool {
	err := s.db.Update(func(tx *buntdb.Tx) error {
		packed, err := s.get(tx, key)
		if err != nil {
			return err
		}
		if _, at := unpack([]byte(packed)); at != version {
			return errMoved
		}
		_, _, err = tx.Set(key, string(pack(version+1, value)), nil)
		return err
	})
	if errors.Is(err, errMoved) {
		return false
	}
	must(err)
	return true
}

func (s buntdbStore) close() error { return s.db.Close() }
