package main

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/tidwall/buntdb"
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
	slow:  true,
}

type buntdbStore struct{ db *buntdb.DB }

func (s buntdbStore) load(n, size int) {
	must(s.db.Update(func(tx *buntdb.Tx) error {
		for key, value := range rows(0, n, size) {
			if _, _, err := tx.Set(key, packString(1, value), nil); err != nil {
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
		if versionOf(packed) != version {
			return errMoved
		}
		_, _, err = tx.Set(key, packString(version+1, value), nil)
		return err
	})
	if errors.Is(err, errMoved) {
		return false
	}
	must(err)
	return true
}

// packString is pack for a store of strings.
func packString(version uint64, value []byte) string {
	var packed strings.Builder
	packed.Grow(8 + len(value))
	var head [8]byte
	binary.BigEndian.PutUint64(head[:], version)
	packed.Write(head[:])
	packed.Write(value)
	return packed.String()
}

// versionOf returns the version in a packed value, 0 for none.
func versionOf(packed string) uint64 {
	if packed == "" {
		return 0
	}
	return binary.BigEndian.Uint64([]byte(packed[:8]))
}

func (s buntdbStore) close() error { return s.db.Close() }
