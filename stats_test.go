package fenced_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

// Each call moves the counts that it is about, and no other.
func TestStats(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		want := fenced.Stats{}
		equal(t, want, s.Stats())
		counts := func(change func()) {
			t.Helper()
			change()
			got := s.Stats()
			got.Held = fenced.Distribution{}
			equal(t, want, got)
		}

		read(t, s, "k")
		counts(func() {})
		a := claim(t, s, "k", "A")
		counts(func() { want.Grants++; want.Live++ })
		a = commit(t, s, a, "v")
		counts(func() { want.Commits++; want.Records++ })
		a = commit(t, s, a, "w")
		counts(func() { want.Commits++ })
		a, err := s.Renew(bg, a, lease)
		require.NoError(t, err)
		counts(func() { want.Renewals++ })
		a = remove(t, s, a)
		counts(func() { want.Deletes++; want.Records-- })
		a = remove(t, s, a)
		counts(func() { want.Deletes++ })
		a = commit(t, s, a, "x")
		counts(func() { want.Commits++; want.Records++ })
		_, err = s.TryAcquire(bg, "k", "B", lease)
		require.Error(t, err)
		counts(func() { want.RefusedHeld++ })
		_, err = s.CompareAndSwap(bg, "k", a.Version, nil)
		require.Error(t, err)
		counts(func() { want.RefusedHeld++ })
		_, err = s.CompareAndDelete(bg, "k", 0)
		require.Error(t, err)
		counts(func() { want.RefusedHeld++ })
		release(t, s, a)
		counts(func() { want.Released++; want.Live-- })

		swap(t, s, "k", a.Version, "y")
		counts(func() { want.Swaps++ })
		swap(t, s, "l", 0, "y")
		counts(func() { want.Swaps++; want.Records++ })
		_, err = s.CompareAndSwap(bg, "k", 1, nil)
		require.Error(t, err)
		counts(func() { want.RefusedVersion++ })
		_, err = s.CompareAndDelete(bg, "l", 0)
		require.Error(t, err)
		counts(func() { want.RefusedVersion++ })
		_, err = s.CompareAndDelete(bg, "l", 1)
		require.NoError(t, err)
		counts(func() { want.Deletes++; want.Records-- })

		b := claim(t, s, "k", "B")
		counts(func() { want.Grants++; want.Live++ })
		time.Sleep(lease)
		counts(func() {})
		c := claim(t, s, "k", "C")
		counts(func() { want.Grants++; want.TakenOver++ })
		reclaim(t, s, c)
		counts(func() { want.Reclaimed++; want.Live-- })
		d := claim(t, s, "k", "D")
		counts(func() { want.Grants++; want.Live++ })
		time.Sleep(lease)
		_, err = s.ReclaimExpired(bg, 0)
		require.NoError(t, err)
		counts(func() { want.Reclaimed++; want.Live-- })

		for _, g := range []fenced.Grant{b, c, d} { // the fence alone
			_, err = s.Commit(bg, g, nil)
			require.Error(t, err)
			counts(func() { want.RefusedGeneration++ })
			_, err = s.Delete(bg, g)
			require.Error(t, err)
			counts(func() { want.RefusedGeneration++ })
			_, err = s.Renew(bg, g, lease)
			require.Error(t, err)
			require.Error(t, s.Release(bg, g))
			_, err = s.Reclaim(bg, "k", g.Generation)
			require.Error(t, err)
			counts(func() {}) // no writes
		}
		e := claim(t, s, "k", "E")
		counts(func() { want.Grants++; want.Live++ })
		next := commit(t, s, e, "z")
		counts(func() { want.Commits++ })
		_, err = s.Commit(bg, e, nil)
		require.Error(t, err)
		counts(func() { want.RefusedVersion++ })
		_, err = s.Delete(bg, e)
		require.Error(t, err)
		counts(func() { want.RefusedVersion++ })
		_, err = s.Commit(bg, d, nil)
		require.Error(t, err)
		counts(func() { want.RefusedBoth++ })
		_, err = s.Delete(bg, d)
		require.Error(t, err)
		counts(func() { want.RefusedBoth++ })

		f := acquire(bg, s, "k", "F", lease)
		counts(func() {})
		time.Sleep(lease - 1)
		release(t, s, next)
		counts(func() { want.Released++; want.Grants++ })
		last := served(t, f)
		time.Sleep(lease)
		release(t, s, last)
		counts(func() { want.Released++; want.Live--; want.Overruns++ })
		require.Error(t, s.Release(bg, last))
		counts(func() {})
	})
}

// A waiter that takes over is one grant more and one taken over.
func TestStatsOfATimedTakeOver(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		claim(t, s, "k", "A")
		b := acquire(bg, s, "k", "B", lease)
		time.Sleep(lease)
		served(t, b)
		stats := s.Stats()
		require.EqualValues(t, 2, stats.Grants)
		require.EqualValues(t, 1, stats.TakenOver)
		require.EqualValues(t, 1, stats.Live)
		require.Zero(t, stats.Overruns)
	})
}

func TestStatsAreOfAllRecords(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for i := range 1000 {
			commit(t, s, claim(t, s, fmt.Sprint(i), "A"), "v")
		}
		stats := s.Stats()
		require.EqualValues(t, 1000, stats.Records)
		require.EqualValues(t, 1000, stats.Live)
		require.EqualValues(t, 1000, stats.Grants)
		require.EqualValues(t, 1000, stats.Commits)
	})
}

// Held is how long grants were held as a share of their lease.
func TestHeld(t *testing.T) {
	held := func(t *testing.T, s *fenced.Store, p50, p99, most float64) {
		t.Helper()
		d := s.Stats().Held
		require.InDelta(t, p50, d.P50, 1.0/64)
		require.InDelta(t, p99, d.P99, max(1.0/64, p99/8))
		require.InDelta(t, most, d.Max, 1e-9)
	}
	hold := func(t *testing.T, s *fenced.Store, key string, share float64) {
		t.Helper()
		g := claim(t, s, key, "A")
		time.Sleep(time.Duration(share * float64(lease)))
		release(t, s, g)
	}
	t.Run("of no grants", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			claim(t, s, "k", "A")
			equal(t, fenced.Distribution{}, s.Stats().Held)
		})
	})
	t.Run("of one", func(t *testing.T) {
		for _, share := range []float64{0, 0.25, 0.99, 1, 1.5, 1.999} {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				hold(t, s, "k", share)
				held(t, s, share, share, share)
				require.LessOrEqual(t, s.Stats().Held.P99, s.Stats().Held.Max)
			})
		}
	})
	t.Run("far beyond the lease", func(t *testing.T) {
		for _, share := range []float64{2, 3, 17.3, 1000, 123456} {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				hold(t, s, "k", share)
				d := s.Stats().Held
				require.InEpsilon(t, share, d.P50, 1.0/8)
				require.InEpsilon(t, share, d.Max, 1e-9)
			})
		}
	})
	t.Run("of many", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			for i := range 200 { // over all stripes
				hold(t, s, fmt.Sprint(i), float64(i)/200)
			}
			held(t, s, 0.495, 0.985, 0.995)
		})
	})
	t.Run("by every ending", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			g := claim(t, s, "k", "A")
			time.Sleep(lease / 2)
			reclaim(t, s, g)
			held(t, s, 0.5, 0.5, 0.5)
			claim(t, s, "k", "A")
			time.Sleep(lease)
			claim(t, s, "k", "B")
			held(t, s, 0.5, 1, 1)
			time.Sleep(3 * lease / 2)
			_, err := s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
			held(t, s, 1, 1.5, 1.5)
		})
	})
	t.Run("each renewal starts the lease anew, and the largest share counts", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			g := claim(t, s, "k", "A")
			for range 10 {
				time.Sleep(lease / 4)
				var err error
				g, err = s.Renew(bg, g, lease)
				require.NoError(t, err)
			}
			release(t, s, g)
			held(t, s, 0.25, 0.25, 0.25)

			g = claim(t, s, "k", "A")
			time.Sleep(3 * lease / 4)
			g, err := s.Renew(bg, g, 4*lease)
			require.NoError(t, err)
			time.Sleep(lease)
			release(t, s, g)
			held(t, s, 0.25, 0.75, 0.75)
		})
	})
	t.Run("a reused grant starts anew", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			g := claim(t, s, "k", "A")
			time.Sleep(lease / 2)
			g, err := s.Renew(bg, g, lease)
			require.NoError(t, err)
			release(t, s, g)
			for range 3 {
				hold(t, s, "k", 0)
			}
			held(t, s, 0, 0.5, 0.5)
		})
	})
}

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
