package linear_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/tests/model"
)

// long is a lease that does not lapse while a history is recorded, and short one
// that may lapse at any time: the clock of the server is no part of a history, so
// the results say which it was.
const (
	long  = time.Hour
	short = time.Millisecond
)

// drop is the release of a grant that its claimant never got, if there was one:
// the one that names its holder, which no other claim does.
const drop model.Op = "drop"

// outcome is what a call came to, as far as its caller knows. A call that is lost
// may have happened at any time since, or never: which is to happen when the
// history is over.
type outcome struct {
	model.Outcome
	lost bool
}

func (o outcome) String() string {
	if o.lost {
		return "lost"
	}
	return o.Outcome.String()
}

// open is when a lost call returns.
const open = math.MaxInt64

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
		return step(was.(state), input.(model.Call), output.(outcome))
	},
}

// step reports whether the call c of a record as it was can have come to got,
// and returns the record after it.
func step(was state, c model.Call, got outcome) (bool, state) {
	var now time.Duration
	switch c.Op {
	case drop:
		if !was.Held || was.Holder != c.Holder {
			return true, was
		}
		c.Op, c.Grant = model.Release, model.Grant{View: was.View(c.Key), Issued: true}
	case model.TryAcquire:
		if was.isShort && (got.lost || got.Refused == 0) {
			now = was.Until // it had lapsed, or there would be no claim
		}
	case model.Sweep:
		if !was.isShort {
			return got.lost, was
		}
		record, _ := was.Do(model.Call{Op: model.Reclaim, Seen: was.Generation}, now, false)
		return got.lost || got.View == timeless(was.View(c.Key)), state{Record: record}
	}
	record, want := was.Do(c, now, false)
	next := state{record, was.isShort && record.Held}
	if want.Refused == 0 && (c.Op == model.TryAcquire || c.Op == model.Renew) {
		next.isShort = c.Lease == short
	}
	if record.Held {
		next.Until = 1 // not yet at 0
	}
	return got.lost || got.Refused == want.Refused && got.Ended == want.Ended && timeless(got.View) == timeless(want.View), next
}

// timeless is v without the end of its lease, which the model cannot know.
func timeless(v model.View) model.View {
	v.Until = 0
	return v
}

// patience is for one history. One that takes longer is undecided, which fails.
const patience = 30 * time.Second

// check returns whether history is linearizable and, where it is not, or where
// that took too long to decide, the calls of a record to blame.
func check(history []porcupine.Operation) (porcupine.CheckResult, string) {
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

// refusals are the sentinels of a refusal.
const refusals = model.Moved | model.Stale | model.Held | model.Foreign

func view(r fenced.Record) model.View {
	return model.View{Key: r.Key, Exists: r.Exists(), Value: string(r.Value), Version: r.Version, Generation: r.Generation, Holder: r.Holder}
}
