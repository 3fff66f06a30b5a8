package fenced_test

import (
	"fmt"
	"testing"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/internal/invariants"
	"github.com/stretchr/testify/require"
)

// Where invariants are enabled, each kind of damage is seen; elsewhere none.
func TestInvariants(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for i := range 1500 { // so that the heap of the stripe has several leases
			claim(t, s, fmt.Sprint(i), "A")
		}
		a := claim(t, s, "k", "A")
		for range 3 {
			_, cancel := s.Context(bg, a)
			defer cancel()
			acquire(bg, s, "k", "B", lease)
		}
		for how := range fenced.Damages {
			broken := fenced.Damage(s, "k", how)
			if !invariants.Enabled || how == "nothing" {
				require.Nil(t, broken, how)
				continue
			}
			require.NotNil(t, broken, how)
			require.Regexp(t, "^fenced: invariant broken: ", broken)
		}
	})
}
