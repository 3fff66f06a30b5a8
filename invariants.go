package fenced

import (
	"fmt"

	"github.com/fencedgo/fenced/internal/invariants"
)

// check panics where an invariant of r does not hold, or, in a stripe small
// enough to be counted over every time, one of the stripe. It is to be called
// after a mutation, before the lock is released, and costs nothing unless
// invariants are enabled. r may be nil, or have left the stripe.
func (st *stripe) check(r *record) {
	if invariants.Enabled {
		st.mustHold(r)
	}
}

// countable is how many records a stripe may have to be checked whole.
const countable = 64

func (st *stripe) mustHold(r *record) {
	if !st.open {
		return
	}
	if r != nil {
		st.checkRecord(r)
	}
	if len(st.records) > countable {
		return
	}
	var exist, dead, live int
	for _, r := range st.records {
		st.checkRecord(r)
		must(st.find(r.key) == r, "%q is in the table and not found", r.key)
		if r.exists() {
			exist++
		}
		if r.dead() {
			dead++
		}
		if r.holding != nil {
			live++
		}
	}
	must(exist == st.exist, "%d records exist, counted %d", exist, st.exist)
	must(dead == st.dead, "%d records are dead, counted %d", dead, st.dead)
	must(uint64(live) == st.count.Live, "%d grants are current, counted %d", live, st.count.Live)
	ended := st.count.Released + st.count.Reclaimed + st.count.TakenOver
	must(st.count.Grants == ended+uint64(live), "%d grants issued, %d ended, %d current", st.count.Grants, ended, live)
	st.checkHeap()
	for _, h := range st.spare {
		must(h.crowd == nil || h.crowd.first == nil && h.crowd.watchers == nil, "a spare holding has a crowd")
	}
}

func (st *stripe) checkRecord(r *record) {
	if st.find(r.key) != r {
		must(r.generation == 0 && r.dead() && r.filed == 0, "%q was collected at generation %d, filed at %d", r.key, r.generation, r.filed)
		return
	}
	must(r.stripe == st, "%q is in another's stripe", r.key)
	must(r.generation > 0, "%q has generation 0", r.key)
	if r.filed != 0 {
		must(int(r.filed) <= len(st.expiries) && st.expiries[r.filed-1].r == r, "%q is filed at %d, which is another's place", r.key, r.filed)
	}
	h := r.holding
	if h == nil {
		return
	}
	must(h.holder != "", "%q is held by nobody", r.key)
	must(h.from < h.until, "%q is held from %d until %d", r.key, h.from, h.until)
	must(r.filed != 0, "%q is held and not filed", r.key)
	must(st.expiries[r.filed-1].until <= h.until, "%q is filed under %d, its lease ends at %d", r.key, st.expiries[r.filed-1].until, h.until)
	if h.crowd != nil {
		h.crowd.check(r)
	}
}

// checkHeap checks the order of the heap, and that it and its records agree.
func (st *stripe) checkHeap() {
	for i, e := range st.expiries {
		must(st.find(e.r.key) == e.r, "the heap holds %q, the table does not", e.r.key)
		must(int(e.r.filed) == i+1, "%q is in the heap at %d, filed at %d", e.r.key, i+1, e.r.filed)
		if parent := (i - 1) / 4; i > 0 {
			must(st.expiries[parent].until <= e.until, "the heap is out of order at %d", i)
		}
	}
}

// check checks the crowd of r, which is held.
func (c *crowd) check(r *record) {
	var prev *waiter
	for w := c.first; w != nil; prev, w = w, w.next {
		must(w.prev == prev && w.crowd == c, "the queue for %q is broken at %q", r.key, w.holder)
		must(!w.passed, "%q was passed over and waits for %q", w.holder, r.key)
	}
	must(c.last == prev, "the queue for %q has another end", r.key)
	var before *watcher
	for w := c.watchers; w != nil; before, w = w, w.next {
		must(w.prev == before && w.crowd == c, "the list of contexts of %q is broken", r.key)
	}
	if c.first == nil {
		must(c.rings == 0 && c.r == nil, "nobody waits for %q, and its timer is set", r.key)
		return
	}
	must(c.r == r, "the queue for %q is another's", r.key)
	must(c.rings != 0 && c.timer != nil, "%q waits for %q without a timer", c.first.holder, r.key)
	must(c.rings <= r.holding.until, "the timer of %q rings at %d, its lease ends at %d", r.key, c.rings, r.holding.until)
}

func (st *stripe) find(key string) *record {
	_, hash := st.store.locate(key)
	return st.records.find(key, hash)
}

func must(holds bool, format string, args ...any) {
	if !holds {
		panic("fenced: invariant broken: " + fmt.Sprintf(format, args...))
	}
}
