package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
)

func openObserved(t *testing.T) *observed {
	t.Helper()
	s, err := InMemory().Open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return &observed{Backend: s, ledger: newLedger()}
}

func TestRefusalsAreCountedByTheirCheck(t *testing.T) {
	o := openObserved(t)
	g, err := o.Acquire(t.Context(), "k", "w1", time.Hour)
	require.NoError(t, err)
	next, err := o.Commit(t.Context(), g, []byte("a"))
	require.NoError(t, err)
	_, err = o.Commit(t.Context(), g, []byte("b"))
	require.Error(t, err)
	require.Equal(t, refusals{version: 1}, o.refused())

	_, err = o.Reclaim(t.Context(), "k", g.Generation)
	require.NoError(t, err)
	_, err = o.Commit(t.Context(), next, []byte("c"))
	require.Error(t, err)
	require.Equal(t, refusals{version: 1, fence: 1}, o.refused())

	_, err = o.Commit(t.Context(), g, []byte("d"))
	require.Error(t, err)
	require.Equal(t, refusals{version: 1, fence: 1, both: 1}, o.refused())

	_, err = o.Commit(t.Context(), fenced.Grant{}, nil)
	require.ErrorIs(t, err, fenced.ErrInvalid)
	require.Equal(t, 3, o.refused().sum(), "a failure is no refusal")
}

func TestEndingsReachTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openObserved(t)
		acquire := func(holder string) claim {
			g, err := o.Acquire(t.Context(), "k", holder, lease)
			require.NoError(t, err)
			return claimOf(g)
		}
		isLost := func(c claim) bool {
			_, lost := o.ledger.lostAt(c)
			return lost
		}
		first := acquire("w1")
		require.Equal(t, "w1", o.ledger.first["k"])
		time.Sleep(lease)
		second := acquire("w2")
		require.True(t, isLost(first), "taken over from a worker at the order")
		require.Equal(t, "w1", o.ledger.first["k"])

		o.ledger.leave(first) // not at it any more
		o.ledger.leave(second)
		time.Sleep(lease)
		third := acquire("w3")
		require.False(t, isLost(second), "its worker had left")

		time.Sleep(lease)
		_, err := o.ReclaimExpired(t.Context(), 0)
		require.NoError(t, err)
		require.True(t, isLost(third))
	})
}

func TestAStoreThatDoesNotWorkEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{ledger: newLedger(), vendor: &vendor{}, orders: map[string]order{"k": {}}}
		f.busy.Store(1)
		time.Sleep(despair)
		require.False(t, f.isOver())
		time.Sleep(1)
		require.True(t, f.isOver())
	})
}
