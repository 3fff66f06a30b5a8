// Package model is a store as its laws describe it: sequential, without
// stripes, hints, heaps or locks, and as plain as it can be written. It is what
// the tests of this module compare the real store with. Nothing in it was
// taken from the store but the types of its numbers, its sentinels and its
// counters.
package model

import (
	"time"

	"github.com/fencedgo/fenced"
)

// Record is one record. Two of them are equal if they are ==.
type Record struct {
	Exists     bool
	Value      string
	Version    fenced.Version
	Generation fenced.Generation
	Held       bool
	Holder     string        // of the current grant
	Until      time.Duration // end of its lease
	Ended      fenced.Ending // how the grant of the generation before ended
}

// Unseen is a record that nobody has claimed or written.
var Unseen = Record{Generation: 1}

// Lapsed reports whether the record is held under a lease that has ended.
func (r Record) Lapsed(now time.Duration) bool { return r.Held && now >= r.Until }

// View is what a reader of the record sees.
func (r Record) View(key string) View {
	v := View{Key: key, Exists: r.Exists, Value: r.Value, Version: r.Version, Generation: r.Generation}
	if r.Held {
		v.Holder, v.Until = r.Holder, r.Until
	}
	return v
}

// Do returns the record after c, and what c came to. In report-only mode the
// fence alone refuses no write.
func (r Record) Do(c Call, now time.Duration, reportOnly bool) (Record, Outcome) {
	var refused Reasons
	switch c.Op {
	case TryAcquire:
		if r.Held && !r.Lapsed(now) {
			refused = Held
		}
	case Renew, Release:
		refused = r.judge(c.Grant) &^ Moved
	case Commit, Delete:
		refused = r.judge(c.Grant)
		if refused == Stale && reportOnly {
			refused = 0
		}
	case Reclaim:
		if !r.Held || r.Generation != c.Seen {
			refused = Stale
		}
	case CompareAndSwap, CompareAndDelete:
		if r.Held {
			refused |= Held
		}
		if !r.at(c.Version) {
			refused |= Moved
		}
	}
	switch {
	case refused == Invalid:
		return r, Outcome{Refused: refused}
	case refused != 0:
		return r, Outcome{Refused: refused, View: r.View(c.Key).Bare(), Ended: r.ended(c, refused)}
	}

	switch c.Op {
	case TryAcquire:
		if r.Held {
			r.end(fenced.TakenOver)
		}
		r.Held, r.Holder, r.Until = true, c.Holder, now+c.Lease
	case Renew:
		r.Until = now + c.Lease
		g := c.Grant.View
		g.Until = r.Until
		return r, Outcome{View: g}
	case Commit, Delete:
		r.write(c)
		g := c.Grant.View
		g.Exists, g.Value, g.Version = r.Exists, r.Value, r.Version
		return r, Outcome{View: g}
	case Release:
		r.end(fenced.Released)
		return r, Outcome{}
	case Reclaim:
		r.end(fenced.Reclaimed)
	case CompareAndSwap, CompareAndDelete:
		r.write(c)
	}
	return r, Outcome{View: r.View(c.Key)}
}

// judge asks both questions of the fence.
func (r Record) judge(g Grant) Reasons {
	if g.Generation == 0 {
		return Invalid
	}
	if !g.Issued {
		return Foreign
	}
	var refused Reasons
	if !r.Held || r.Generation != g.Generation {
		refused |= Stale
	}
	if r.Version != g.Version {
		refused |= Moved
	}
	return refused
}

// at reports whether the record is at version; 0 says that it must not exist.
func (r Record) at(version fenced.Version) bool {
	if version == 0 {
		return !r.Exists
	}
	return r.Version == version
}

func (r *Record) write(c Call) {
	r.Version++
	r.Exists = c.Op == Commit || c.Op == CompareAndSwap
	r.Value = ""
	if r.Exists {
		r.Value = string(c.Value)
	}
}

func (r *Record) end(how fenced.Ending) {
	r.Generation++
	r.Ended = how
	r.Held, r.Holder, r.Until = false, "", 0
}

// ended is how the grant ended that c was refused under. The store knows it of
// the last one to end.
func (r Record) ended(c Call, refused Reasons) fenced.Ending {
	presented := c.Seen
	if c.Op != Reclaim {
		presented = c.Grant.Generation
	}
	if refused == Foreign || presented+1 != r.Generation {
		return fenced.EndingUnknown
	}
	return r.Ended
}
