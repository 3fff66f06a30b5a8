package linear_test

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/tests/effort"
	"github.com/fencedgo/fenced/tests/linear"
	"github.com/fencedgo/fenced/tests/model"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for one history. One that takes longer is undecided, which fails.
const patience = 30 * time.Second

func TestLinearizable(t *testing.T) {
	seed := effort.Seed(t)
	load := linear.Load{Clients: 4, Calls: 60, Keys: 3}
	refused, handed, calls, overlaps := map[model.Reasons]int{}, 0, 0, 0
	for i := range effort.Of(400) {
		history, err := load.Record(seed + uint64(i))
		require.NoError(t, err)
		verdict, blame := linear.Check(history, patience)
		require.Equal(t, porcupine.Ok, verdict, "history of seed %d:\n%s", seed+uint64(i), blame)
		for i, op := range history {
			calls++
			for _, other := range history[:i] {
				if op.Call < other.Return && other.Call < op.Return {
					overlaps++
				}
			}
			refused[op.Output.(model.Outcome).Refused]++
			if op.Input.(model.Call).Op == linear.Acquire {
				handed++
			}
		}
	}
	t.Logf("%d calls, %d pairs at the same time, %d grants to claimants that wait, refused: %v", calls, overlaps, handed, refused)
	require.NotZero(t, handed)
	require.NotZero(t, overlaps)
	for _, why := range []model.Reasons{model.Moved, model.Stale, model.Moved | model.Stale, model.Held, model.Held | model.Moved} {
		require.NotZero(t, refused[why], why)
	}
}

// TestNotLinearizable shows that the check can fail: the last call of each
// history is one that no store may answer so.
func TestNotLinearizable(t *testing.T) {
	grant := func(version fenced.Version, generation fenced.Generation) model.Grant {
		return model.Grant{View: view("", version, generation, "A"), Issued: true}
	}
	claimA := call{model.Call{Op: model.TryAcquire, Holder: "A", Lease: linear.Long}, model.Outcome{View: view("", 0, 1, "A")}}
	reclaimA := call{model.Call{Op: model.Reclaim, Seen: 1}, model.Outcome{View: view("", 0, 2, "")}}
	claimB := call{model.Call{Op: model.TryAcquire, Holder: "B", Lease: linear.Long}, model.Outcome{View: view("", 0, 2, "B")}}
	commitA := call{model.Call{Op: model.Commit, Grant: grant(0, 1), Value: []byte("a")}, model.Outcome{View: view("a", 1, 1, "A")}}
	zombieA := call{commitA.Call, model.Outcome{Refused: model.Stale, View: view("", 0, 2, ""), Ended: fenced.Reclaimed}}
	swap := call{model.Call{Op: model.CompareAndSwap, Value: []byte("s")}, model.Outcome{View: view("s", 1, 1, "")}}
	read := func(v model.View) call { return call{model.Call{Op: model.Read}, model.Outcome{View: v}} }

	for _, broken := range []struct {
		name    string
		history []call
		isSound bool
	}{
		{"nothing wrong: a zombie refused", []call{claimA, reclaimA, zombieA, claimB}, true},
		{"nothing wrong: committed, then reclaimed", []call{claimA, commitA, read(view("a", 1, 1, "A"))}, true},
		{"two wins from one version", []call{swap, swap}, false},
		{"a zombie's commit accepted after the reclaim", []call{claimA, reclaimA, commitA}, false},
		{"a zombie told that only the version moved", []call{claimA, reclaimA, {zombieA.Call, model.Outcome{Refused: model.Moved, View: zombieA.View, Ended: zombieA.Ended}}}, false},
		{"two grants at once", []call{claimA, claimB}, false},
		{"a generation used twice", []call{claimA, reclaimA, claimA}, false},
		{"a write acknowledged and lost", []call{claimA, commitA, read(view("", 0, 1, "A"))}, false},
		{"a refused write that left a trace", []call{claimA, reclaimA, zombieA, read(view("a", 1, 2, ""))}, false},
		{"a version that fell", []call{swap, read(view("s", 1, 1, "")), read(view("", 0, 1, ""))}, false},
		{"a swap of a held record", []call{claimA, {swap.Call, model.Outcome{View: view("s", 1, 1, "A")}}}, false},
		{"a sweep that took a lease which had not lapsed", []call{claimA, {model.Call{Op: model.Sweep}, claimA.Outcome}}, false},
	} {
		t.Run(broken.name, func(t *testing.T) {
			var history []porcupine.Operation
			for i, c := range broken.history {
				c.Key = "r"
				c.Grant.Key = "r"
				at := int64(2 * i)
				history = append(history, porcupine.Operation{Input: c.Call, Call: at, Output: c.Outcome, Return: at + 1})
			}
			last := len(history) - 1
			require.Equal(t, porcupine.Ok, check(history[:last]))
			want := porcupine.Illegal
			if broken.isSound {
				want = porcupine.Ok
			}
			require.Equal(t, want, check(history))
		})
	}

	// The same two wins, at the same time and of different clients.
	var history []porcupine.Operation
	for id := range 2 {
		history = append(history, porcupine.Operation{ClientId: id, Input: swap.Call, Call: 0, Output: swap.Outcome, Return: 1})
	}
	require.Equal(t, porcupine.Illegal, check(history))
}

func check(history []porcupine.Operation) porcupine.CheckResult {
	verdict, _ := linear.Check(history, patience)
	return verdict
}

// call is one call of the only client of a history made by hand.
type call struct {
	model.Call
	model.Outcome
}

func view(value string, version fenced.Version, generation fenced.Generation, holder string) model.View {
	return model.View{Key: "r", Exists: value != "", Value: value, Version: version, Generation: generation, Holder: holder}
}
