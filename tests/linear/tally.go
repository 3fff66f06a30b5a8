package linear

import (
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/fencedgo/fenced/tests/effort"
	"github.com/fencedgo/fenced/tests/model"
	"github.com/stretchr/testify/require"
)

// Tally is what histories were made of, so that a test can tell whether they
// were worth checking.
type Tally struct {
	Calls, Lost int
	Handed      int // grants to claims that wait
	Overlaps    int // pairs of calls at the same time
	Refused     map[model.Reasons]int
}

// Sound records histories, of which a plain run has so many, and fails unless
// each is linearizable.
func Sound(t *testing.T, histories int, record func(i int, seed uint64) ([]porcupine.Operation, error)) Tally {
	t.Helper()
	seed := effort.Seed(t)
	tally := Tally{Refused: map[model.Reasons]int{}}
	for i := range effort.Of(histories) {
		seed := seed + uint64(i)
		history, err := record(i, seed)
		require.NoError(t, err, "history of seed %d", seed)
		verdict, blame := Check(history)
		require.Equal(t, porcupine.Ok, verdict, "history of seed %d:\n%s", seed, blame)
		tally.add(history)
	}
	t.Logf("%d calls, %d lost, %d pairs at the same time, %d grants to claims that wait, refused: %v",
		tally.Calls, tally.Lost, tally.Overlaps, tally.Handed, tally.Refused)
	require.NotZero(t, tally.Overlaps)
	return tally
}

func (t *Tally) add(history []porcupine.Operation) {
	for i, op := range history {
		call, got := op.Input.(model.Call), op.Output.(Outcome)
		t.Calls++
		t.Refused[got.Refused]++
		switch {
		case got.Lost:
			t.Lost++
		case call.Op == Acquire:
			t.Handed++
		}
		for _, other := range history[:i] {
			if op.Call < other.Return && other.Call < op.Return {
				t.Overlaps++
			}
		}
	}
}
