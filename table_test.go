package fenced_test

import (
	"math"
	"testing"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

// Keys whose hashes collide are told apart, also where the next hash is taken
// and where the hashes begin again.
func TestTableTellsCollidingKeysApart(t *testing.T) {
	keys := []string{"a", "b", "c", "d"}
	for _, hash := range []uint64{0, 42, math.MaxUint64 - 1} {
		found, foundAbsent := fenced.Collide(hash, keys, "e")
		require.Equal(t, keys, found)
		require.False(t, foundAbsent)
	}
}
