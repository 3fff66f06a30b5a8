package fencedsql_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// TestEndingAsFarAsKnown asks how a grant ended: that of the last one to end is
// known, and of no other.
func TestEndingAsFarAsKnown(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, _ := d.store(t, fencedsql.Options{})
		other, _ := d.store(t, fencedsql.Options{})
		var grants []fenced.Grant
		for range 2 {
			g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
			require.NoError(t, err)
			require.NoError(t, s.Release(t.Context(), g))
			grants = append(grants, g)
		}
		theirs, err := other.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		require.NoError(t, other.Release(t.Context(), theirs))
		theirs, err = other.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		for _, test := range []struct {
			g    fenced.Grant
			want fenced.Ending
			why  error
		}{
			{grants[1], fenced.Released, fenced.ErrStaleReadGeneration},
			{grants[0], fenced.EndingUnknown, fenced.ErrStaleReadGeneration},
			{theirs, fenced.EndingUnknown, fenced.ErrForeignGrant}, // of the numbers of the last
		} {
			_, err := s.Commit(t.Context(), test.g, nil)
			require.ErrorIs(t, err, test.why)
			var refused *fenced.ConflictError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, test.want, refused.Ended)
			require.Equal(t, test.want == fenced.EndingUnknown, refused.EndedAt.IsZero())
		}
	})
}

// TestReasonsOfASwap swaps and removes at every version of records that exist or
// do not, and are held or not.
func TestReasonsOfASwap(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		for _, test := range []struct {
			name    string
			is      fenced.Version // odd: it exists
			version fenced.Version
			moved   bool
		}{
			{name: "unseen, must not exist"},
			{name: "unseen, at 1", version: 1, moved: true},
			{name: "exists, must not", is: 1, moved: true},
			{name: "exists, at its version", is: 1, version: 1},
			{name: "exists, at another", is: 1, version: 2, moved: true},
			{name: "deleted, must not exist", is: 2},
			{name: "deleted, at its version", is: 2, version: 2},
			{name: "deleted, at another", is: 2, version: 1, moved: true},
		} {
			t.Run(test.name, func(t *testing.T) {
				s, _ := d.store(t, fencedsql.Options{})
				for v := range test.is {
					var err error
					if v%2 == 0 {
						_, err = s.CompareAndSwap(t.Context(), "k", v, nil)
					} else {
						_, err = s.CompareAndDelete(t.Context(), "k", v)
					}
					require.NoError(t, err)
				}
				calls := map[string]func() error{
					"swap":   func() error { _, err := s.CompareAndSwap(t.Context(), "k", test.version, nil); return err },
					"remove": func() error { _, err := s.CompareAndDelete(t.Context(), "k", test.version); return err },
				}
				g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
				require.NoError(t, err)
				for name, call := range calls {
					err := call()
					require.ErrorIs(t, err, fenced.ErrGrantHeld, name)
					if test.moved {
						require.ErrorIs(t, err, fenced.ErrVersionConflict, name)
					} else {
						require.NotErrorIs(t, err, fenced.ErrVersionConflict, name)
					}
				}
				require.NoError(t, s.Release(t.Context(), g))
				if !test.moved {
					return // they go through
				}
				for name, call := range calls {
					err := call()
					require.ErrorIs(t, err, fenced.ErrVersionConflict, name)
					require.NotErrorIs(t, err, fenced.ErrGrantHeld, name)
				}
			})
		}
	})
}
