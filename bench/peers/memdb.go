package main

import (
	"bytes"

	"github.com/hashicorp/go-memdb"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

var memdbPeer = peer{
	name:   "go-memdb",
	module: "github.com/hashicorp/go-memdb",
	how:    "a write is a transaction: `First`, compare, `Insert` of a new object, `Commit`; objects are immutable, and their values handed over by an update as to xsync",
	wins:   "its reads take no lock",
	small:  lean,
	still:  lean,
	open: func() (store, error) {
		db, err := memdb.NewMemDB(&memdb.DBSchema{Tables: map[string]*memdb.TableSchema{
			records: {Name: records, Indexes: map[string]*memdb.IndexSchema{
				"id": {Name: "id", Unique: true, Indexer: &memdb.StringFieldIndex{Field: "Key"}},
			}},
		}})
		return memdbStore{db}, err
	},
	loops: versionedLoops,
	slow:  true,
}

// records is what the table, or the bucket, is called where one is needed.
const records = "records"

// memdbRow is immutable, as its documentation asks for.
type memdbRow struct {
	Key     string
	Version uint64
	Value   []byte
}

type memdbStore struct{ db *memdb.MemDB }

func (s memdbStore) load(n, size int) {
	txn := s.db.Txn(true)
	for key, value := range rows(0, n, size) {
		must(txn.Insert(records, &memdbRow{key, 1, bytes.Clone(value)}))
	}
	txn.Commit()
}

// first returns the row of key, an empty one for none.
func first(txn *memdb.Txn, key string) *memdbRow {
	if row := harness.Must(txn.First(records, "id", key)); row != nil {
		return row.(*memdbRow)
	}
	return &memdbRow{}
}

func (s memdbStore) read(key string) ([]byte, uint64) {
	row := first(s.db.Txn(false), key)
	return bytes.Clone(row.Value), row.Version
}

func (s memdbStore) swap(key string, version uint64, value []byte) bool {
	return s.put(key, version, value, bytes.Clone)
}

func (s memdbStore) swapOwned(key string, version uint64, value []byte) bool {
	return s.put(key, version, value, handedOver)
}

// put writes what keep returns, if it writes.
func (s memdbStore) put(key string, version uint64, value []byte, keep func([]byte) []byte) bool {
	txn := s.db.Txn(true)
	defer txn.Abort() // does nothing after a commit
	if first(txn, key).Version != version {
		return false
	}
	must(txn.Insert(records, &memdbRow{key, version + 1, keep(value)}))
	txn.Commit()
	return true
}

func (s memdbStore) close() error { return nil }
