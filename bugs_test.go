package fenced_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

// "Max is exact", says Distribution.
func TestHeldMaxIsExactAfterARenewal(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		g := claim(t, s, "k", "A")
		time.Sleep(lease * 7 / 10)
		g, err := s.Renew(bg, g, lease)
		require.NoError(t, err)
		release(t, s, g)
		require.InDelta(t, 0.7, s.Stats().Held.Max, 1e-9)
	})
}

// Under a limit a record is not starved by one that is claimed and lapses again
// and again beside it, behind the same lock.
func TestLimitStarvesNobodyBehindOneLock(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		lapses := func(key string) {
			_, err := s.TryAcquire(bg, key, "A", 1)
			require.NoError(t, err)
		}
		other := ""
		for i := 0; other == ""; i++ {
			if key := fmt.Sprint(i); fenced.Lock(s, key) == fenced.Lock(s, "k") {
				other = key
			}
		}
		lapses("k")
		lapses(other)
		taken := map[string]bool{}
		for range 1000 {
			time.Sleep(1)
			ended, err := s.ReclaimExpired(bg, 1)
			require.NoError(t, err)
			require.Len(t, ended, 1)
			taken[ended[0].Key] = true
			lapses(ended[0].Key)
		}
		require.Len(t, taken, 2)
	})
}
