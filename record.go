package fenced

import "time"

// Version counts the data writes to a record and is moved by nothing else.
// 0: never written.
type Version uint64

// Generation counts the ownership of a record: it moves by one when a grant
// ends and at no other time, and names the current grant or, while nobody
// holds one, the next. 0: no grant carries it.
type Generation uint64

// Record is a record as of one instant. The zero Record does not exist.
type Record struct {
	Key        string
	Value      []byte // nil: the record does not exist; an empty value is not nil
	Version    Version
	Generation Generation
	Holder     string    // who holds the current grant, "" for nobody
	Expires    time.Time // end of the current lease, zero for nobody; information only
}

// Exists reports whether the record has a value, be it an empty one.
func (r Record) Exists() bool { return r.Value != nil }

// record is a record in its stripe, whose lock guards everything but key and
// stripe, which never change. Grants point to it, so it may outlive its
// place in the stripe's table: its generation is then 0, which no grant
// carries.
type record struct {
	key        string
	value      []byte
	version    Version
	generation Generation
	holding    *holding // of the current grant, nil: nobody holds one
	stripe     *stripe
	nonce      uint64 // of the current grant, or of the one before
	endedAt    int64  // when the grant before this generation ended
	filed      int32  // place in the stripe's heap of leases, from 1; 0: not in it
	ended      Ending // how the grant before this generation ended
}

// holding is what a stripe keeps of a current grant. Holdings are reused
// within their stripe.
type holding struct {
	holder string
	from   int64   // when the lease was last set, on the store's clock
	until  int64   // when it lapses
	peak   float64 // the largest share of a lease that had run when it was renewed
	crowd  *crowd  // who waits for the grant to end, nil: nobody ever has
}

func (h *holding) lapsed(now int64) bool { return now >= h.until }

// ran is the largest share of any of its leases that the grant was held for.
func (h *holding) ran(now int64) float64 {
	return max(h.peak, float64(now-h.from)/float64(h.until-h.from))
}

func (r *record) exists() bool { return r.value != nil }

// dead reports whether nothing would be lost with r but its numbers.
func (r *record) dead() bool { return r.value == nil && r.holding == nil }

// put writes value as the next version. It copies in place where the old space
// will do, since every reader copies out under the same lock.
func (r *record) put(value []byte) {
	const waste = 4096 // a space larger than this is not kept for a value of a quarter its size
	if c := cap(r.value); r.value == nil || c < len(value) || c > waste && c/4 > len(value) {
		r.value = make([]byte, len(value))
	}
	r.value = r.value[:len(value)]
	copy(r.value, value)
	r.version++
}

// copyOf returns a copy of value that is the caller's own; nil stays nil and
// empty stays empty.
func copyOf(value []byte) []byte {
	if value == nil {
		return nil
	}
	own := make([]byte, len(value))
	copy(own, value)
	return own
}
