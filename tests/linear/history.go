// Package linear checks recorded concurrent histories of a store for
// linearizability, with the model as the sequential specification: whether
// there is one order of all calls, each within its own interval, in which the
// model gives every result that was seen, refusals with their sentinels and
// numbers included.
package linear

import (
	"cmp"
	"fmt"
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

// Acquire is a claim that waits. It takes effect at one instant within its
// interval, like any other claim.
const Acquire model.Op = "acquire and wait"

// state is a record and whether its lease may have lapsed.
type state struct {
	model.Record
	isShort bool
}

// Spec is the model, one record at a time.
var Spec = porcupine.Model{
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
		return step(was.(state), input.(model.Call), output.(model.Outcome))
	},
	DescribeOperation: func(input, output any) string {
		return input.(model.Call).String() + ": " + output.(model.Outcome).String()
	},
}

// step reports whether the call c of a record as it was can have come to got,
// and returns the record after it.
func step(was state, c model.Call, got model.Outcome) (bool, state) {
	var now time.Duration
	switch c.Op {
	case Acquire, model.TryAcquire:
		c.Op = model.TryAcquire
		if got.Refused == 0 && was.isShort {
			now = was.Until // it had lapsed, or there would be no claim
		}
	case model.Sweep:
		record, _ := was.Do(model.Call{Op: model.Reclaim, Seen: was.Generation}, now, false)
		return was.isShort && got.View == timeless(was.View(c.Key)), state{Record: record}
	}
	record, want := was.Do(c, now, false)
	next := state{record, was.isShort && record.Held}
	if want.Refused == 0 && (c.Op == model.TryAcquire || c.Op == model.Renew) {
		next.isShort = c.Lease == Short
	}
	if record.Held {
		next.Until = 1 // not yet at 0
	}
	if c.Op == model.Reclaim && got.Refused == 0 {
		// The record may be shown as it was handed on: the claim of another
		// call, whose interval this one overlaps.
		got.View.Holder = ""
	}
	return got.Refused == want.Refused && got.Ended == want.Ended && timeless(got.View) == timeless(want.View), next
}

// timeless is v without the end of its lease, which the model cannot know.
func timeless(v model.View) model.View {
	v.Until = 0
	return v
}

// Check returns whether history is linearizable and, where it is not, or where
// that took too long to decide, the calls of a record to blame.
func Check(history []porcupine.Operation, timeout time.Duration) (porcupine.CheckResult, string) {
	for _, part := range Spec.Partition(history) {
		if result := porcupine.CheckOperationsTimeout(Spec, part, timeout); result != porcupine.Ok {
			var b strings.Builder
			for _, op := range part {
				fmt.Fprintf(&b, "client %d, %d to %d: %s\n", op.ClientId, op.Call, op.Return, Spec.DescribeOperation(op.Input, op.Output))
			}
			return result, b.String()
		}
	}
	return porcupine.Ok, ""
}
