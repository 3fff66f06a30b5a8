package linear_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/tests/linear"
	"github.com/fencedgo/fenced/tests/model"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inProcess is a store whose reclaims may show the record as it was handed on:
// the claim of another call, whose interval overlaps. They are made not to.
type inProcess struct{ *fenced.Store }

func (s inProcess) Reclaim(ctx context.Context, key string, seen fenced.Generation) (fenced.Record, error) {
	r, err := s.Store.Reclaim(ctx, key, seen)
	r.Holder = ""
	return r, err
}

func TestLinearizable(t *testing.T) {
	tally := linear.Sound(t, 400, func(_ int, seed uint64) ([]porcupine.Operation, error) {
		// An observer that yields puts other calls between an event and the return
		// of the call that it reports.
		store := fenced.NewStore(fenced.Options{OnEvent: func(fenced.Event) { runtime.Gosched() }})
		defer store.Close()
		load := linear.Load{Stores: []linear.Store{inProcess{store}}, Clients: 4, Calls: 60, Keys: 3, Waits: time.Millisecond}
		return load.Record(seed)
	})
	require.NotZero(t, tally.Handed)
	for _, why := range []model.Reasons{model.Moved, model.Stale, model.Moved | model.Stale, model.Held, model.Held | model.Moved} {
		require.NotZero(t, tally.Refused[why], why)
	}
}

// TestNotLinearizable shows that the check can fail: the last call of each
// history that is broken is one that no store may answer so.
func TestNotLinearizable(t *testing.T) {
	claimA := call(model.Call{Op: model.TryAcquire, Holder: "A", Lease: linear.Long}, view("", 0, 1, "A"))
	reclaimA := call(model.Call{Op: model.Reclaim, Seen: 1}, view("", 0, 2, ""))
	claimB := call(model.Call{Op: model.TryAcquire, Holder: "B", Lease: linear.Long}, view("", 0, 2, "B"))
	commitA := call(model.Call{Op: model.Commit, Grant: grant(0, 1), Value: []byte("a")}, view("a", 1, 1, "A"))
	zombieA := refused(commitA, model.Stale, view("", 0, 2, ""), fenced.Reclaimed)
	swap := call(model.Call{Op: model.CompareAndSwap, Value: []byte("s")}, view("s", 1, 1, ""))

	for _, test := range []struct {
		name    string
		history history
		want    porcupine.CheckResult
	}{
		{"nothing wrong: a zombie refused", history{claimA, reclaimA, zombieA, claimB}, porcupine.Ok},
		{"nothing wrong: committed, then reclaimed", history{claimA, commitA, read(view("a", 1, 1, "A"))}, porcupine.Ok},
		{"two wins from one version", history{swap, swap}, porcupine.Illegal},
		{"a zombie's commit accepted after the reclaim", history{claimA, reclaimA, commitA}, porcupine.Illegal},
		{"a zombie told that only the version moved", history{claimA, reclaimA, refused(commitA, model.Moved, view("", 0, 2, ""), fenced.Reclaimed)}, porcupine.Illegal},
		{"two grants at once", history{claimA, claimB}, porcupine.Illegal},
		{"a generation used twice", history{claimA, reclaimA, claimA}, porcupine.Illegal},
		{"a write acknowledged and lost", history{claimA, commitA, read(view("", 0, 1, "A"))}, porcupine.Illegal},
		{"a refused write that left a trace", history{claimA, reclaimA, zombieA, read(view("a", 1, 2, ""))}, porcupine.Illegal},
		{"a version that fell", history{swap, read(view("s", 1, 1, "")), read(view("", 0, 1, ""))}, porcupine.Illegal},
		{"a swap of a held record", history{claimA, call(swap.Input.(model.Call), view("s", 1, 1, "A"))}, porcupine.Illegal},
		{"a sweep that took a lease which had not lapsed", history{claimA, call(model.Call{Op: model.Sweep}, view("", 0, 1, "A"))}, porcupine.Illegal},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, porcupine.Ok, check(test.history[:len(test.history)-1]))
			require.Equal(t, test.want, check(test.history))
		})
	}

	// The same two wins, at the same time and of different clients.
	at := []porcupine.Operation{swap, swap}
	at[1].ClientId = 1
	for i := range at {
		at[i].Return = 1
	}
	verdict, _ := linear.Check(at)
	require.Equal(t, porcupine.Illegal, verdict)
}

// TestLost shows what a lost call may explain, and what it may not.
func TestLost(t *testing.T) {
	claimA := call(model.Call{Op: model.TryAcquire, Holder: "A", Lease: linear.Long}, view("", 0, 1, "A"))
	claimB := call(model.Call{Op: model.TryAcquire, Holder: "B", Lease: linear.Long}, view("", 0, 2, "B"))
	reclaimA := call(model.Call{Op: model.Reclaim, Seen: 1}, view("", 0, 2, ""))
	claimShort := call(model.Call{Op: model.TryAcquire, Holder: "A", Lease: linear.Short}, view("", 0, 1, "A"))
	commitA := model.Call{Op: model.Commit, Grant: grant(0, 1), Value: []byte("a")}
	before, after := read(view("", 0, 1, "A")), read(view("a", 1, 1, "A"))

	for _, test := range []struct {
		name    string
		history history
		want    porcupine.CheckResult
	}{
		{"a commit that landed", history{claimA, lost(commitA), after}, porcupine.Ok},
		{"one that lands later", history{claimA, lost(commitA), before, after}, porcupine.Ok},
		{"one that never does", history{claimA, lost(commitA), before}, porcupine.Ok},
		{"one that lands after its grant has ended", history{claimA, lost(commitA), reclaimA, read(view("", 0, 2, "")), read(view("a", 1, 2, ""))}, porcupine.Illegal},
		{"one that lands twice", history{claimA, lost(commitA), after, read(view("a", 2, 1, "A"))}, porcupine.Illegal},
		{"one that lands and goes", history{claimA, lost(commitA), after, before}, porcupine.Illegal},
		{"one that was acknowledged", history{claimA, call(commitA, view("a", 1, 1, "A")), before}, porcupine.Illegal},
		{"a claim, dropped", history{lost(claimA.Input.(model.Call)), lost(model.Call{Op: linear.Drop, Holder: "A"}), before, claimB}, porcupine.Ok},
		{"a claim that another passes", history{lost(claimA.Input.(model.Call)), before, claimB}, porcupine.Illegal},
		{"a claim, dropped as another's", history{lost(claimA.Input.(model.Call)), lost(model.Call{Op: linear.Drop, Holder: "C"}), before, claimB}, porcupine.Illegal},
		{"a sweep of a lease that may lapse", history{claimShort, lost(model.Call{Op: model.Sweep}), read(view("", 0, 2, ""))}, porcupine.Ok},
		{"a sweep of one that may not", history{claimA, lost(model.Call{Op: model.Sweep}), read(view("", 0, 2, ""))}, porcupine.Illegal},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, check(test.history))
		})
	}
}

// history is the calls of one client, one after the other, which check puts on
// one record and in time.
type history = []porcupine.Operation

func check(calls history) porcupine.CheckResult {
	at := slices.Clone(calls)
	for i := range at {
		at[i].Call = int64(2 * i)
		if !at[i].Output.(linear.Outcome).Lost {
			at[i].Return = at[i].Call + 1
		}
	}
	verdict, _ := linear.Check(at)
	return verdict
}

// call is a call of a record that came to v.
func call(c model.Call, v model.View) porcupine.Operation {
	return told(c, model.Outcome{View: v})
}

func read(v model.View) porcupine.Operation { return call(model.Call{Op: model.Read}, v) }

func refused(op porcupine.Operation, why model.Reasons, current model.View, ended fenced.Ending) porcupine.Operation {
	return told(op.Input.(model.Call), model.Outcome{Refused: why, View: current, Ended: ended})
}

func told(c model.Call, o model.Outcome) porcupine.Operation {
	c.Key, c.Grant.Key = "r", "r"
	return porcupine.Operation{Input: c, Output: linear.Outcome{Outcome: o}}
}

func lost(c model.Call) porcupine.Operation {
	op := told(c, model.Outcome{})
	op.Output, op.Return = linear.Outcome{Lost: true}, linear.Open
	return op
}

func grant(version fenced.Version, generation fenced.Generation) model.Grant {
	return model.Grant{View: view("", version, generation, "A"), Issued: true}
}

func view(value string, version fenced.Version, generation fenced.Generation, holder string) model.View {
	return model.View{Key: "r", Exists: value != "", Value: value, Version: version, Generation: generation, Holder: holder}
}
