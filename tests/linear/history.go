// Package linear records concurrent histories of a store, in this process or
// beyond it, and checks whether there is one order of all calls, each within its
// own interval, in which the model gives every result that was seen, refusals
// with their sentinels and numbers included. A call of which nobody knows what
// became of it has an interval that never ends.
package linear

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/fencedgo/fenced/tests/model"
)

// Long is a lease that does not lapse while a history is recorded, and short
// one that may lapse at any time: the clock that a call read is no part of a
// history, so the model lets the results say which it was.
const (
	Long  = time.Hour
	Short = time.Nanosecond
)

const (
	// Acquire is a claim that waits. It takes effect at one instant within its
	// interval, like any other claim.
	Acquire model.Op = "acquire and wait"
	// Drop is the release of a grant that its claimant never got, if there was
	// one: the one that names its holder, which no other claim does.
	Drop model.Op = "drop"
)

// Outcome is what a call came to, as far as its caller knows. A call that is
// lost may have happened at any time since, or never: which is to happen when the
// history is over.
type Outcome struct {
	model.Outcome
	Lost bool
}

func (o Outcome) String() string {
	if o.Lost {
		return "lost"
	}
	return o.Outcome.String()
}

// Open is when a lost call returns.
const Open = math.MaxInt64

// state is a record and whether its lease may have lapsed.
type state struct {
	model.Record
	isShort bool
}

// spec is the model, one record at a time.
var spec = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(model.Call).Key
			byKey[key] = append(byKey[key], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			slices.SortFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return state{Record: model.Unseen} },
	Step: func(was, input, output any) (bool, any) {
		return step(was.(state), input.(model.Call), output.(Outcome))
	},
}

// step reports whether the call c of a record as it was can have come to got,
// and returns the record after it.
func step(was state, c model.Call, got Outcome) (bool, state) {
	var now time.Duration
	switch c.Op {
	case Drop:
		if !was.Held || was.Holder != c.Holder {
			return true, was
		}
		c.Op, c.Grant = model.Release, model.Grant{View: was.View(c.Key), Issued: true}
	case Acquire, model.TryAcquire:
		c.Op = model.TryAcquire
		if was.isShort && (got.Lost || got.Refused == 0) {
			now = was.Until // it had lapsed, or there would be no claim
		}
	case model.Sweep:
		if !was.isShort {
			return got.Lost, was
		}
		record, _ := was.Do(model.Call{Op: model.Reclaim, Seen: was.Generation}, now, false)
		return got.Lost || got.View == timeless(was.View(c.Key)), state{Record: record}
	}
	record, want := was.Do(c, now, false)
	next := state{record, was.isShort && record.Held}
	if want.Refused == 0 && (c.Op == model.TryAcquire || c.Op == model.Renew) {
		next.isShort = c.Lease == Short
	}
	if record.Held {
		next.Until = 1 // not yet at 0
	}
	return got.Lost || got.Refused == want.Refused && got.Ended == want.Ended && timeless(got.View) == timeless(want.View), next
}

// timeless is v without the end of its lease, which the model cannot know.
func timeless(v model.View) model.View {
	v.Until = 0
	return v
}

// patience is for one record of a history. One that takes longer is undecided,
// which fails.
const patience = 30 * time.Second

// Check returns whether history is linearizable and, where it is not, or where
// that took too long to decide, the calls of a record to blame. Each operation
// has a [model.Call] and an [Outcome].
func Check(history []porcupine.Operation) (porcupine.CheckResult, string) {
	for _, part := range spec.Partition(history) {
		if result := porcupine.CheckOperationsTimeout(spec, part, patience); result != porcupine.Ok {
			var b strings.Builder
			for _, op := range part {
				fmt.Fprintf(&b, "client %d, %d to %d: %v: %v\n", op.ClientId, op.Call, op.Return, op.Input, op.Output)
			}
			return result, b.String()
		}
	}
	return porcupine.Ok, ""
}
