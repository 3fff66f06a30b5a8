package main

import (
	"bytes"
	"errors"

	"github.com/dgraph-io/badger/v4"
)

var badgerPeer = peer{
	name:   "badger, in memory",
	module: "github.com/dgraph-io/badger/v4",
	how:    "`WithInMemory`, its own conflict detection on; a write is an `Update`: `Get`, compare, `Set`",
	wins:   lean,
	small:  "its records are packed into blocks; its memtables, of 64 MiB each however few records there are, are counted too",
	still:  "its records are in blocks that have no pointers in them",
	open: func() (store, error) {
		db, err := badger.Open(badger.DefaultOptions("").WithInMemory(true).WithLoggingLevel(badger.ERROR))
		return badgerStore{db}, err
	},
	loops: versionedLoops,
	slow:  true,
}

type badgerStore struct{ db *badger.DB }

func (s badgerStore) load(n, size int) {
	b := s.db.NewWriteBatch()
	for key, value := range rows(0, n, size) {
		must(b.Set([]byte(key), pack(1, value)))
	}
	must(b.Flush())
}

// settle has what was loaded moved to where it stays.
func (s badgerStore) settle() error { return s.db.Flatten(1) }

// get calls look with the packed value of key, nil for none, which is the store's.
func (s badgerStore) get(txn *badger.Txn, key string, look func(packed []byte) error) error {
	item, err := txn.Get([]byte(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return look(nil)
	}
	if err != nil {
		return err
	}
	return item.Value(look)
}

func (s badgerStore) read(key string) (value []byte, version uint64) {
	must(s.db.View(func(txn *badger.Txn) error {
		return s.get(txn, key, func(packed []byte) error {
			value, version = unpack(bytes.Clone(packed))
			return nil
		})
	}))
	return value, version
}

func (s badgerStore) swap(key string, version uint64, value []byte) bool {
	err := s.db.Update(func(txn *badger.Txn) error {
		err := s.get(txn, key, func(packed []byte) error {
			if _, at := unpack(packed); at != version {
				return errMoved
			}
			return nil
		})
		if err != nil {
			return err
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
