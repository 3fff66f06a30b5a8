package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
)

func TestLeasesExcludeUntilTheyLapse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeases()
		a, b := claim{"k", 1}, claim{"k", 2}
		require.True(t, l.take(a))
		time.Sleep(lease - 1)
		require.False(t, l.take(b))
		time.Sleep(1)
		require.True(t, l.take(b))
		l.letGo(a) // not its own any more
		require.False(t, l.take(a))
		l.letGo(b)
		require.True(t, l.take(a))
	})
}

func TestLockExcludesUntilItIsLetGo(t *testing.T) {
	l := newLock()
	require.True(t, l.tryLock("k", "w1"))
	require.False(t, l.tryLock("k", "w2"))
	require.True(t, l.tryLock("other", "w2"))
	l.unlock("k")
	require.True(t, l.tryLock("k", "w2"))
}

func TestTableRefusesAWriteAtAnotherVersion(t *testing.T) {
	v := version{newTable()}
	require.NoError(t, v.load(t.Context(), "k", "paid"))
	g := fenced.Grant{Record: fenced.Record{Key: "k", Holder: "w1", Generation: 3}}
	require.ErrorIs(t, v.writeAt(g, 2, "ship"), errMoved)
	require.Equal(t, row{state: "paid", version: 1}, v.row("k"))
	require.NoError(t, v.writeAt(g, 1, "ship"))
	require.Equal(t, "ship", v.row("k").state)
	require.Equal(t, 2, v.row("k").version)
	require.Equal(t, refusals{version: 1}, v.refused())
}
