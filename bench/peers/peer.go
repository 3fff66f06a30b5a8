package main

import "time"

// peer is something that a user would pick to keep versioned records in.
type peer struct {
	name   string
	module string // Go module or Python package, for its version
	how    string // it is used, where that is not plain
	wins   string // why it is faster, where it is
	small  string // why it takes less memory, where it does
	still  string // why it costs the collector less, where it does
	open   func() (store, error)
	loops  map[string]maker // by work; what is missing it cannot do
	limit  func(setting) string
	turn   time.Duration // of a turn, where it needs longer than others
	slow   bool          // its largest stores are measured in one process

	unweighed func(n int) string // why the memory of n records is not measured, "" if it is
}

// lean is what most peers are spared.
const lean = "it keeps no grants, leases, generations or counts"

// store is what a peer keeps records in.
type store interface {
	// load adds the records 0 to n-1, with values of size bytes, as fast as the
	// peer can.
	load(n, size int)
	close() error
}

// versioned is a store that its caller reads and writes by version. No slice
// passed in or got back is the store's.
type versioned interface {
	store
	// read returns a copy of the value of key, and its version, 0 for none.
	read(key string) ([]byte, uint64)
	// swap writes value if key is still at version, and reports whether it did.
	swap(key string, version uint64, value []byte) bool
}

// owning is a versioned store whose values never change once they are in it, so
// that a writer can hand over a slice that it has no more use for.
type owning interface {
	// swapOwned is swap, but the store keeps value itself.
	swapOwned(key string, version uint64, value []byte) bool
}

// handedOver is what an owning store keeps of such a slice, where it would else
// keep a clone.
func handedOver(value []byte) []byte { return value }

// outside is a store whose records are not on the heap.
type outside interface {
	bytes() int64 // that they take
}

// setting is what a work is done on.
type setting struct {
	N     int  // records
	Size  int  // of a value, in bytes
	Hot   bool // one record, or all of them in a random order
	Procs int  // processors, each with a goroutine
}

// all are the contenders, the floor first and then fenced.
func all() []peer {
	return []peer{floorPeer, grantPeer, swapPeer, xsyncPeer, otterPeer, buntdbPeer, badgerPeer, memdbPeer, bboltPeer, coherenceMemory, coherenceSQLite}
}

// peerOf returns the peer with this name.
func peerOf(name string) (peer, bool) {
	for _, p := range all() {
		if p.name == name {
			return p, true
		}
	}
	return peer{}, false
}

// leftOut returns why the peer is not measured here, "" if it is.
func (p peer) leftOut(s setting) string {
	if p.limit == nil {
		return ""
	}
	return p.limit(s)
}

// must panics where there is an error: what is measured does not fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
