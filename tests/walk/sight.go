package walk

import "github.com/fencedgo/fenced/tests/model"

// Sight is something that a walk is to come across, or it has not been far
// enough.
type Sight string

// The sights.
const (
	LateCommit    Sight = "a commit after the lease had lapsed"
	LateRenewal   Sight = "a renewal after the lease had lapsed"
	LateRelease   Sight = "a release after the lease had lapsed"
	FenceAlone    Sight = "a zombie refused by the fence alone"
	Both          Sight = "a zombie refused by both checks"
	ZombieRenewal Sight = "a zombie that renews, under another's grant"
	Namesake      Sight = "a zombie refused although its label holds the record"
	Duplicate     Sight = "a commit delivered twice"
	TakeOver      Sight = "a take-over"
	HeldOff       Sight = "a claim of a held record"
	StaleReclaim  Sight = "a reclaim of a grant that is no longer current, under another's"
	FreeReclaim   Sight = "a reclaim of a free record"
	SweptOne      Sight = "a sweep that found a lapsed lease"
	SweptNone     Sight = "a sweep that left a lease alone"
	SwapHeld      Sight = "a swap at the right version while the record is held"
	SwapBoth      Sight = "a swap at a wrong version while the record is held"
	SwapMoved     Sight = "a swap that lost to another write"
	Recreated     Sight = "a version from before a record was deleted and made anew"
	CameAndWent   Sight = "a swap from 0 of a record that came and went"
)

// Sights are all of them.
var Sights = []Sight{
	LateCommit, LateRenewal, LateRelease, FenceAlone, Both, ZombieRenewal, Namesake, Duplicate, TakeOver, HeldOff,
	StaleReclaim, FreeReclaim, SweptOne, SweptNone, SwapHeld, SwapBoth, SwapMoved, Recreated, CameAndWent,
}

// see notes what can be seen of the step s, which found the record as it was and
// came to o.
func (w *World) see(was model.Record, s Step, o model.Outcome) {
	isLate := was.Lapsed(w.model.Now)
	isOthers := was.Held && was.Generation != s.Grant.Generation
	note := func(when bool, what Sight) {
		if when {
			w.Seen[what]++
		}
	}
	switch s.Op {
	case model.TryAcquire:
		note(o.Refused == 0 && was.Held, TakeOver)
		note(o.Refused == model.Held, HeldOff)
	case model.Commit:
		note(o.Refused == 0 && isLate, LateCommit)
		note(o.Refused == model.Stale, FenceAlone)
		note(o.Refused == model.Stale|model.Moved, Both)
		note(o.Refused&model.Stale != 0 && isOthers && was.Holder == s.Grant.Holder, Namesake)
		note(o.Refused == model.Moved, Duplicate)
	case model.Renew:
		note(o.Refused == 0 && isLate, LateRenewal)
		note(o.Refused == model.Stale && isOthers, ZombieRenewal)
	case model.Release:
		note(o.Refused == 0 && isLate, LateRelease)
	case model.Reclaim:
		note(o.Refused == model.Stale && was.Held, StaleReclaim)
		note(o.Refused == model.Stale && !was.Held, FreeReclaim)
	case model.Sweep:
		note(len(o.Swept) == 1, SweptOne)
		note(len(o.Swept) == 0 && was.Held, SweptNone)
	case model.CompareAndSwap:
		note(o.Refused == model.Held, SwapHeld)
		note(o.Refused == model.Held|model.Moved, SwapBoth)
		note(o.Refused == model.Moved, SwapMoved)
		note(o.Refused == model.Moved && was.Exists && 0 < s.Version && s.Version < w.destroyed, Recreated)
		note(o.Refused == 0 && s.Version == 0 && was.Version > 0, CameAndWent)
	}
}
