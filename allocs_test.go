//go:build !race && !invariants

package fenced_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

// The success path allocates only what must be copied. The race detector
// allocates by itself, so this file is not built under it.

func allocs(t *testing.T, want float64, call func()) {
	t.Helper()
	require.Equal(t, want, testing.AllocsPerRun(1000, call))
}

func TestAllocsOfACommit(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	value := bytes.Repeat([]byte("v"), 64)
	g := commit(t, s, claim(t, s, "k", "A"), string(value))
	var err error
	allocs(t, 0, func() { g, err = s.Commit(bg, g, value) })
	require.NoError(t, err)
	allocs(t, 0, func() { g, err = s.Commit(bg, g, value[:32]) })
	require.NoError(t, err)
	require.EqualValues(t, 2003, g.Version)
}

func TestAllocsOfACommitThatGrows(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	value := make([]byte, 2000)
	n := 1
	g := commit(t, s, claim(t, s, "k", "A"), "")
	var err error
	allocs(t, 1, func() {
		n++
		if err == nil {
			g, err = s.Commit(bg, g, value[:n])
		}
	})
	require.NoError(t, err)
}

func TestAllocsOfARead(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	swap(t, s, "k", 0, "a value")
	var err error
	allocs(t, 1, func() { _, err = s.Read(bg, "k") })
	require.NoError(t, err)
	allocs(t, 0, func() { _, err = s.Read(bg, "absent") })
	require.NoError(t, err)
}

func TestAllocsOfASwap(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	value := []byte("a value")
	r := swap(t, s, "k", 0, string(value))
	var err error
	allocs(t, 0, func() { r, err = s.CompareAndSwap(bg, "k", r.Version, value) })
	require.NoError(t, err)
}

func TestAllocsOfARefusal(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	zombie := commit(t, s, claim(t, s, "k", "A"), "v")
	reclaim(t, s, zombie)
	b := claim(t, s, "k", "B")
	stale := b
	commit(t, s, b, "w")
	value := []byte("late")
	for _, g := range []fenced.Grant{zombie, stale} {
		var err error
		got := testing.AllocsPerRun(1000, func() { _, err = s.Commit(bg, g, value) })
		require.Error(t, err)
		require.LessOrEqual(t, got, 2.0)
	}
}

// A turn allocates two copies of values: the one that the claim returns, and
// that of a new value which does not fit the old one's space.
func TestAllocsOfATurn(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	value := bytes.Repeat([]byte("v"), 2000)
	n := 1
	swap(t, s, "k", 0, "v")
	var failed error
	turn := func() {
		g, err := s.Acquire(bg, "k", "A", time.Minute)
		if err == nil {
			g, err = s.Commit(bg, g, value[:n])
		}
		if err == nil {
			err = s.Release(bg, g)
		}
		if err != nil {
			failed = err
		}
	}
	allocs(t, 1, turn)
	allocs(t, 2, func() { n++; turn() })
	require.NoError(t, failed)
}
