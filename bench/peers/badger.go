package main

import (
	"errors"

	"github.com/dgraph-io/badger/v4"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

var badgerPeer = peer{
	name:   "badger, in memory",
	module: "github.com/dgraph-io/badger/v4",
	how:    "`WithInMemory`, its own conflict detection on; a write is an `Update`: `Get`, compare, `Set`",
	wins:   lean,
	small:  "its records are packed into blocks",
	still:  "its records are in blocks that have no pointers in them",
	open: func() (store, error) {
		db, err := badger.Open(badger.DefaultOptions("").WithInMemory(true).WithLoggingLevel(badger.ERROR))
		return badgerStore{db}, err
	},
	loops: versionedLoops,
}

type badgerStore struct{ db *badger.DB }

func (s badgerStore) load(n int, value []byte) {
	b := s.db.NewWriteBatch()
	for i := range n {
		must(b.Set([]byte(harness.Key(i)), pack(1, value)))
	}
	must(b.Flush())
}

// get returns a copy of the value of key, and its version.
func (s badgerStore) get(txn *badger.Txn, key string) (value []byte, version uint64, err error) {
	item, err := txn.Get([]byte(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	packed, err := item.ValueCopy(nil)
	value, version = unpack(packed)
	return value, version, err
}

func (s badgerStore) read(key string) (value []byte, version uint64) {
	must(s.db.View(func(txn *badger.Txn) (err error) {
		value, version, err = s.get(txn, key)
		return err
	}))
	return value, version
}

func (s badgerStore) swap(key string, version uint64, value []byte) bool {
	err := s.db.Update(func(txn *badger.Txn) error {
		_, at, err := s.get(txn, key)
		if err != nil {
			return err
		}
		if at != version {
			return errMoved
		}
		return txn.Set([]byte(key), pack(version+1, value))
	})
	if errors.Is(err, errMoved) || errors.Is(err, badger.ErrConflict) {
		return false
	}
	must(err)
	return true
}

func (s badgerStore) close() error { return s.db.Close() }
