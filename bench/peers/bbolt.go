package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

var bboltPeer = peer{
	name:   "bbolt, without sync",
	module: "go.etcd.io/bbolt",
	how:    "a file in the temporary directory, which may be a disk or memory, `NoSync`, `NoFreelistSync`, `NoStatistics`, the map for its free pages, loaded in order with `FillPercent` 0.9; a write is an `Update`: `Get`, compare, `Put`",
	wins:   lean,
	small:  "its records are packed into the pages of a file, whose size this is",
	still:  "its records are in a mapped file, and not on the heap",
	open:   openBbolt,
	loops:  versionedLoops,
	slow:   true,
}

type bboltStore struct {
	db  *bbolt.DB
	dir string
}

func openBbolt() (store, error) {
	dir, err := os.MkdirTemp("", "fenced-bench-bbolt-")
	if err != nil {
		return nil, err
	}
	db, err := bbolt.Open(filepath.Join(dir, "db"), 0o600, &bbolt.Options{
		NoSync: true, NoGrowSync: true, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, NoStatistics: true,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte(records))
		return err
	})
	return bboltStore{db, dir}, err
}

func (s bboltStore) load(n, size int) {
	const batch = 100_000
	for from := 0; from < n; from += batch {
		must(s.db.Update(func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte(records))
			b.FillPercent = 0.9 // its documentation's advice for keys in order
			for key, value := range rows(from, min(from+batch, n), size) {
				if err := b.Put([]byte(key), pack(1, value)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

func (s bboltStore) read(key string) (value []byte, version uint64) {
	must(s.db.View(func(tx *bbolt.Tx) error {
		value, version = unpack(bytes.Clone(tx.Bucket([]byte(records)).Get([]byte(key))))
		return nil
	}))
	return value, version
}

func (s bboltStore) swap(key string, version uint64, value []byte) bool {
	err := s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(records))
		if _, at := unpack(b.Get([]byte(key))); at != version {
			return errMoved
		}
		return b.Put([]byte(key), pack(version+1, value))
	})
	if errors.Is(err, errMoved) {
		return false
	}
	must(err)
	return true
}

// bytes is the size of the file, which is mapped into memory.
func (s bboltStore) bytes() int64 {
	return harness.Must(os.Stat(filepath.Join(s.dir, "db"))).Size()
}

func (s bboltStore) close() error {
	return errors.Join(s.db.Close(), os.RemoveAll(s.dir))
}
