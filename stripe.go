package fenced

import (
	"hash/maphash"
	"strings"
	"sync"
)

// stripes is the number of locks of a store, a power of two.
const stripes = 256

// What a stripe keeps without a thought.
const (
	maxDead  = 16 // dead records
	maxSpare = 16 // holdings for reuse
	maxSlack = 16 // entries in the heap of leases, for records not held
)

// stripe is a part of the store behind one lock, which guards all of it and
// every record in it.
type stripe struct {
	mu       sync.Mutex
	store    *Store
	open     bool
	count    Stats
	records  table
	expiries expiries
	spare    []*holding // for reuse

	seq         uint64 // of the last event
	exist, dead int    // records with a value; records with neither value nor grant

	// The floor under the numbers of records not seen before: as high as those
	// of any record that was collected here, so that no number ever comes
	// again.
	version    Version
	generation Generation

	shares *shares // of their leases that grants were held for; nil before the first ended
}

// locate returns the stripe of key, and the hash of key. The zero Store has one
// stripe, which is not open.
func (s *Store) locate(key string) (*stripe, uint64) {
	if s.seed == (maphash.Seed{}) {
		return &s.stripes[0], 0
	}
	hash := maphash.String(s.seed, key)
	return &s.stripes[hash%stripes], hash
}

// add makes the record of a key not seen before. It is dead until it is claimed
// or written.
func (st *stripe) add(key string, hash uint64) *record {
	key = strings.Clone(key)
	r := &record{key: key, stripe: st, version: st.version, generation: st.generation}
	st.records.add(r, hash)
	st.dead++
	return r
}

// view returns the record of key without its value. r is what the table has
// for key.
func (st *stripe) view(key string, r *record) Record {
	if r == nil {
		return Record{Key: key, Version: st.version, Generation: st.generation}
	}
	v := Record{Key: r.key, Version: r.version, Generation: r.generation}
	if h := r.holding; h != nil {
		v.Holder, v.Expires = h.holder, st.store.timeAt(h.until)
	}
	return v
}

// write stores value as the next version of r; nil deletes. The caller has
// judged.
func (st *stripe) write(r *record, value []byte) {
	existed := r.exists()
	if value != nil {
		r.put(value)
	} else {
		r.value = nil
		r.version++
	}
	if r.exists() != existed {
		st.settle(r)
	}
}

// settle keeps the counts after r began or ceased to exist.
func (st *stripe) settle(r *record) {
	by := 1
	if !r.exists() {
		by = -1
	}
	st.exist += by
	if r.holding == nil {
		st.dead -= by
	}
}

// collect forgets the dead records where they are many, so that memory follows
// the living: what they leave is a floor that no number of theirs exceeds. To
// be called last, as records may be gone after it.
func (st *stripe) collect() {
	if st.dead <= maxDead || st.dead <= len(st.records)/2 {
		return
	}
	living := make(table, len(st.records)-st.dead)
	for _, r := range st.records {
		if !r.dead() {
			_, hash := st.store.locate(r.key)
			living.add(r, hash)
			continue
		}
		st.version = max(st.version, r.version)
		st.generation = max(st.generation, r.generation)
		st.expiries.drop(r)
		r.generation = 0
	}
	st.records, st.dead = living, 0
}

// note appends an event of r to what is sent once the stripe is unlocked. To be
// called only where the store is observed.
func (st *stripe) note(n *notices, e Event) {
	st.seq++
	e.Seq, e.At = st.seq, st.store.timeAt(st.store.now())
	n.events = append(n.events, e)
}

// notices is what others are to be told of a change, once the stripe is
// unlocked.
type notices struct {
	woken  *waiter  // have been served, chained
	gone   *watcher // whose grant has ended, chained
	cause  error    // of that
	events []Event
}

// send tells them. Those who wait come first and the observer last, as it may
// panic.
func (s *Store) send(n *notices) {
	n.wake()
	for w := n.gone; w != nil; w = w.next {
		w.cancel(n.cause)
	}
	for _, e := range n.events {
		s.onEvent(e)
	}
}

// wake tells the claimants that were served.
func (n *notices) wake() {
	w := n.woken
	n.woken = nil
	for w != nil {
		next := w.next // once told, w is its claimant's again
		w.ready <- struct{}{}
		w = next
	}
}
