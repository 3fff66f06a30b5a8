package fenced_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

func TestSingleWriter(t *testing.T) {
	t.Run("one claim in turn", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			unmoved(t, s, []string{"k"}, func() {
				_, err := s.TryAcquire(bg, "k", "B", lease)
				exactly(t, err, fenced.ErrGrantHeld)
			})
			commit(t, s, a, "v")
		})
	})
	t.Run("one claim of many at once", func(t *testing.T) {
		s := fenced.NewStore(fenced.Options{})
		var wg sync.WaitGroup
		grants := make(chan fenced.Grant, 40)
		for i := range 40 {
			wg.Go(func() {
				if g, err := s.TryAcquire(bg, "k", fmt.Sprint(i), time.Hour); err == nil {
					grants <- g
				}
			})
		}
		wg.Wait()
		require.Len(t, grants, 1)
		require.EqualValues(t, 1, s.Stats().Live)
		require.EqualValues(t, 39, s.Stats().RefusedHeld)
	})
	t.Run("the old one has ended when the new one is issued", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			time.Sleep(lease)
			b := claim(t, s, "k", "B")
			_, err := s.Commit(bg, a, nil)
			exactly(t, err, fenced.ErrStaleReadGeneration)
			commit(t, s, b, "v")
			require.EqualValues(t, 1, s.Stats().Live)
		})
	})
}

func TestClaimReturnsTheRecord(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		swap(t, s, "k", 0, "v")
		want := fenced.Record{Key: "k", Value: []byte("v"), Version: 1, Generation: 1, Holder: "A", Expires: time.Now().Add(lease)}
		g := claim(t, s, "k", "A")
		equal(t, want, g.Record)
		release(t, s, g)
		g, err := s.Acquire(bg, "k", "A", lease)
		require.NoError(t, err)
		want.Generation = 2
		equal(t, want, g.Record)
	})
}

// Owner, generation and lease are set in one step: there is no moment at which
// a claimed record lacks one of them.
func TestClaimIsOneStep(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			r, err := s.Read(bg, "k")
			if err != nil || (r.Holder == "") != r.Expires.IsZero() {
				t.Errorf("torn: %+v, %v", r, err)
				return
			}
		}
	})
	for range 2000 {
		release(t, s, claim(t, s, "k", "A"))
	}
	close(stop)
	wg.Wait()
}

func TestHolderIsALabel(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		old := claim(t, s, "k", "w1")
		_, err := s.TryAcquire(bg, "k", "w1", lease)
		exactly(t, err, fenced.ErrGrantHeld)
		waits := acquire(bg, s, "k", "w1", lease)
		waiting(t, waits)
		release(t, s, old)
		next := served(t, waits)
		require.NotEqual(t, old.Generation, next.Generation)
		exactly(t, s.Release(bg, old), fenced.ErrStaleReadGeneration)
		commit(t, s, next, "v")
	})
}

func TestMonotonicGeneration(t *testing.T) {
	endings := map[string]func(t *testing.T, s *fenced.Store, g fenced.Grant){
		"release": func(t *testing.T, s *fenced.Store, g fenced.Grant) { release(t, s, g) },
		"reclaim": func(t *testing.T, s *fenced.Store, g fenced.Grant) {
			r := reclaim(t, s, g)
			equal(t, fenced.Record{Key: "k", Value: []byte("v"), Version: 1, Generation: g.Generation + 1}, r)
		},
		"sweep": func(t *testing.T, s *fenced.Store, g fenced.Grant) {
			time.Sleep(lease)
			ended, err := s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
			equal(t, []fenced.Grant{g}, ended)
		},
	}
	for name, end := range endings {
		t.Run("by one with "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				swap(t, s, "k", 0, "v")
				for n := fenced.Generation(1); n < 5; n++ {
					g := claim(t, s, "k", "A")
					require.Equal(t, n, g.Generation, "a claim of a free record does not move it")
					end(t, s, g)
					require.Equal(t, n+1, read(t, s, "k").Generation)
				}
			})
		})
	}
	t.Run("by one with a take-over", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			for n := fenced.Generation(1); n < 5; n++ {
				require.Equal(t, n, claim(t, s, "k", "A").Generation)
				time.Sleep(lease)
			}
		})
	})
	t.Run("by one with a hand-over", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			g := claim(t, s, "k", "A")
			for n := fenced.Generation(2); n < 5; n++ {
				next := acquire(bg, s, "k", "B", lease)
				release(t, s, g)
				g = served(t, next)
				require.Equal(t, n, g.Generation)
			}
		})
	})
	t.Run("with nothing else", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			g := claim(t, s, "k", "A")
			still := func() { require.EqualValues(t, 1, read(t, s, "k").Generation) }
			g = commit(t, s, g, "v")
			still()
			g = remove(t, s, g)
			still()
			g, err := s.Renew(bg, g, lease)
			require.NoError(t, err)
			still()
			time.Sleep(2 * lease)
			still()
			_, err = s.TryAcquire(bg, "other", "B", lease)
			require.NoError(t, err)
			still()
			release(t, s, g)
			swap(t, s, "k", 0, "w")
			_, err = s.CompareAndDelete(bg, "k", 3)
			require.NoError(t, err)
			require.EqualValues(t, 2, read(t, s, "k").Generation, "moved by the release alone")
		})
	})
	t.Run("over delete and re-creation", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			release(t, s, remove(t, s, commit(t, s, claim(t, s, "k", "A"), "v")))
			require.EqualValues(t, 2, read(t, s, "k").Generation)
			swap(t, s, "k", 0, "w")
			require.EqualValues(t, 2, read(t, s, "k").Generation)
		})
	})
}

func TestUniqueGeneration(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		seen := map[fenced.Generation]bool{}
		issued := func(g fenced.Grant) fenced.Grant {
			require.False(t, seen[g.Generation], "generation %d again", g.Generation)
			seen[g.Generation] = true
			return g
		}
		for range 3 { // one label for all
			release(t, s, issued(claim(t, s, "k", "A")))
			reclaim(t, s, issued(claim(t, s, "k", "A")))
			issued(claim(t, s, "k", "A"))
			time.Sleep(lease)
			issued(claim(t, s, "k", "A"))
			waits := acquire(bg, s, "k", "A", lease)
			time.Sleep(lease)
			g := issued(served(t, waits))
			release(t, s, remove(t, s, g))
		}
		require.Len(t, seen, 15)
	})
}

// A grant is a plain value: copies are as good as the original.
func TestGrantIsAPlainValue(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "k", "A")
		copied := a
		a = fenced.Grant{}
		require.Zero(t, a.Generation)
		copied = commit(t, s, copied, "v")
		again := fenced.NewGrant(copied.Record, copied.Nonce())
		again = commit(t, s, again, "w")
		release(t, s, again)
	})
}

func TestRenewSetsTheLease(t *testing.T) {
	for name, length := range map[string]time.Duration{"longer": 3 * lease, "shorter": lease / 4, "as long": lease} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				a := commit(t, s, claim(t, s, "k", "A"), "v")
				time.Sleep(lease / 2)
				renewed, err := s.Renew(bg, a, length)
				require.NoError(t, err)
				want := a
				want.Expires = time.Now().Add(length)
				equal(t, want, renewed)
				require.True(t, want.Expires.Equal(read(t, s, "k").Expires))

				time.Sleep(length - 1)
				_, err = s.TryAcquire(bg, "k", "B", lease)
				exactly(t, err, fenced.ErrGrantHeld)
				ended, err := s.ReclaimExpired(bg, 0)
				require.NoError(t, err)
				require.Empty(t, ended)
				time.Sleep(1)
				ended, err = s.ReclaimExpired(bg, 0)
				require.NoError(t, err)
				equal(t, []fenced.Grant{renewed}, ended)
			})
		})
	}
}

// Renew returns the presented grant, not what the store knows besides.
func TestRenewReturnsThePresentedGrant(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "k", "A")
		commit(t, s, a, "v")
		renewed, err := s.Renew(bg, a, lease)
		require.NoError(t, err)
		equal(t, a, renewed)
		_, err = s.Commit(bg, renewed, nil)
		exactly(t, err, fenced.ErrVersionConflict)
	})
}

func TestLapsedGrantCanBeRenewed(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "k", "A")
		time.Sleep(5 * lease)
		a, err := s.Renew(bg, a, lease)
		require.NoError(t, err)
		_, err = s.TryAcquire(bg, "k", "B", lease)
		exactly(t, err, fenced.ErrGrantHeld)
		commit(t, s, a, "v")
	})
}

func TestLeaseThatEndsNowHasLapsed(t *testing.T) {
	t.Run("take-over", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			claim(t, s, "k", "A")
			time.Sleep(lease - 1)
			_, err := s.TryAcquire(bg, "k", "B", lease)
			exactly(t, err, fenced.ErrGrantHeld)
			time.Sleep(1)
			claim(t, s, "k", "B")
		})
	})
	t.Run("sweep", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			claim(t, s, "k", "A")
			time.Sleep(lease - 1)
			ended, err := s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
			require.Empty(t, ended)
			time.Sleep(1)
			ended, err = s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
			require.Len(t, ended, 1)
		})
	})
	t.Run("overrun", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a, b := claim(t, s, "k", "A"), claim(t, s, "l", "B")
			time.Sleep(lease - 1)
			release(t, s, a)
			require.Zero(t, s.Stats().Overruns)
			time.Sleep(1)
			release(t, s, b)
			require.EqualValues(t, 1, s.Stats().Overruns)
		})
	})
}

// A record that is claimed and released in turn leaves nothing for sweeps to
// look at.
func TestReleaseLeavesNoLease(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for range 10 {
			g := claim(t, s, "k", "A")
			require.Equal(t, 1, fenced.Filed(s))
			release(t, s, g)
			require.Zero(t, fenced.Filed(s))
		}
	})
}

func TestConditionalReclaim(t *testing.T) {
	t.Run("of the generation seen", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			r := reclaim(t, s, a) // the lease has not lapsed: it does not look
			equal(t, fenced.Record{Key: "k", Generation: 2}, r)
			_, err := s.Commit(bg, a, nil)
			exactly(t, err, fenced.ErrStaleReadGeneration)
		})
	})
	t.Run("returns the record of the claimant it went to", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := commit(t, s, claim(t, s, "k", "A"), "v")
			b := acquire(bg, s, "k", "B", lease)
			r := reclaim(t, s, a)
			equal(t, served(t, b).Record, r)
			require.Equal(t, "B", r.Holder)
		})
	})
	t.Run("twice", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			reclaim(t, s, a)
			unmoved(t, s, []string{"k"}, func() {
				_, err := s.Reclaim(bg, "k", a.Generation)
				exactly(t, err, fenced.ErrStaleReadGeneration)
			})
			b := claim(t, s, "k", "B")
			unmoved(t, s, []string{"k"}, func() {
				_, err := s.Reclaim(bg, "k", a.Generation)
				exactly(t, err, fenced.ErrStaleReadGeneration)
			})
			commit(t, s, b, "v")
		})
	})
	t.Run("of what nobody carries", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			swap(t, s, "free", 0, "v")
			claim(t, s, "held", "A")
			for _, key := range []string{"free", "held", "absent"} {
				for _, seen := range []fenced.Generation{0, 1, 2, 3} {
					if key == "held" && seen == 1 {
						continue
					}
					unmoved(t, s, []string{"free", "held", "absent"}, func() {
						_, err := s.Reclaim(bg, key, seen)
						exactly(t, err, fenced.ErrStaleReadGeneration)
					})
				}
			}
		})
	})
}

func TestReclaimExpired(t *testing.T) {
	t.Run("returns the grants as they were", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := commit(t, s, claim(t, s, "k", "A"), "v")
			claim(t, s, "alive", "B")
			a, err := s.Renew(bg, a, lease/2)
			require.NoError(t, err)
			time.Sleep(lease / 2)
			ended, err := s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
			equal(t, []fenced.Grant{a}, ended)
			equal(t, fenced.Record{Key: "k", Value: []byte("v"), Version: 1, Generation: 2}, read(t, s, "k"))
			require.Equal(t, "B", read(t, s, "alive").Holder)
			_, err = s.Commit(bg, ended[0], nil)
			exactly(t, err, fenced.ErrStaleReadGeneration)
			require.EqualValues(t, 1, s.Stats().Reclaimed)
		})
	})
	t.Run("takes everything without a limit, and no more than the limit", func(t *testing.T) {
		for limit, want := range map[int]int{0: 600, -1: 600, -7: 600, 1: 1, 10: 10, 599: 599, 600: 600, 601: 600} {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				for i := range 600 { // several to a stripe
					claim(t, s, fmt.Sprint(i), "A")
				}
				time.Sleep(lease)
				ended, err := s.ReclaimExpired(bg, limit)
				require.NoError(t, err)
				require.Len(t, ended, want)
				distinct := map[string]bool{}
				for _, g := range ended {
					distinct[g.Key] = true
					require.Empty(t, read(t, s, g.Key).Holder)
				}
				require.Len(t, distinct, want)
				require.EqualValues(t, 600-want, s.Stats().Live)
			})
		}
	})
	t.Run("takes all in turn under a limit", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			for i := range 100 {
				claim(t, s, fmt.Sprint(i), "A")
			}
			time.Sleep(lease)
			for want := 90; want >= 0; want -= 10 {
				_, err := s.ReclaimExpired(bg, 10)
				require.NoError(t, err)
				require.EqualValues(t, want, s.Stats().Live)
			}
		})
	})
	t.Run("starves nobody under a limit", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			lapses := func(key string) {
				_, err := s.TryAcquire(bg, key, "A", 1)
				require.NoError(t, err)
			}
			locks := map[int]bool{}
			for i := 0; len(locks) < 10; i++ { // each behind a lock of its own
				if key := fmt.Sprint(i); !locks[fenced.Lock(s, key)] {
					locks[fenced.Lock(s, key)] = true
					lapses(key)
				}
			}
			require.Len(t, takenInTurn(t, s, lapses), 10)
		})
	})
	t.Run("never a grant renewed in the meantime", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			var grants []fenced.Grant
			for i := range 300 {
				grants = append(grants, claim(t, s, fmt.Sprint(i), "A"))
			}
			time.Sleep(lease)
			kept := map[string]bool{}
			for i := 0; i < len(grants); i += 3 {
				_, err := s.Renew(bg, grants[i], lease)
				require.NoError(t, err)
				kept[grants[i].Key] = true
			}
			ended, err := s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
			require.Len(t, ended, 200)
			for _, g := range ended {
				require.False(t, kept[g.Key])
			}
		})
	})
	t.Run("leaves the claims of waiters alone", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			claim(t, s, "k", "A")
			b := acquire(bg, s, "k", "B", lease)
			time.Sleep(lease + 1)
			served(t, b)
			ended, err := s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
			require.Empty(t, ended)
		})
	})
	t.Run("breaks off with what it has", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(bg)
			n := 0
			s := fenced.NewStore(fenced.Options{OnEvent: func(e fenced.Event) {
				if e.Kind == fenced.EventReclaim {
					if n++; n == 5 {
						cancel()
					}
				}
			}})
			for i := range 20 {
				claim(t, s, fmt.Sprint(i), "A")
			}
			time.Sleep(lease)
			ended, err := s.ReclaimExpired(ctx, 0)
			exactly(t, err, context.Canceled)
			require.Len(t, ended, 5)
			require.EqualValues(t, 15, s.Stats().Live)
		})
	})
}

// Leases of all lengths, renewed and released at random: each sweep takes
// exactly what has lapsed.
func TestReclaimExpiredTakesWhatHasLapsed(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		const n = 2000
		held := map[string]fenced.Grant{}
		for i := range n {
			g, err := s.TryAcquire(bg, fmt.Sprint(i), "A", time.Duration(1+i*7919%97)*time.Second)
			require.NoError(t, err)
			held[g.Key] = g
		}
		for i := range n {
			g := held[fmt.Sprint(i)]
			switch i % 5 {
			case 0:
				release(t, s, g)
				delete(held, g.Key)
			case 1, 2:
				g, err := s.Renew(bg, g, time.Duration(1+i*104729%97)*time.Second)
				require.NoError(t, err)
				held[g.Key] = g
			case 3:
				release(t, s, g)
				g, err := s.TryAcquire(bg, g.Key, "B", time.Duration(1+i*1299709%97)*time.Second)
				require.NoError(t, err)
				held[g.Key] = g
			}
		}
		for len(held) > 0 {
			time.Sleep(3 * time.Second)
			ended, err := s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
			for _, g := range ended {
				require.False(t, g.Expires.After(time.Now()), "not lapsed")
				equal(t, held[g.Key], g)
				delete(held, g.Key)
			}
			for _, g := range held {
				require.True(t, g.Expires.After(time.Now()), "overlooked")
			}
		}
		require.Zero(t, s.Stats().Live)
		require.Zero(t, fenced.Filed(s))
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
		require.Len(t, takenInTurn(t, s, lapses), 2)
	})
}

// takenInTurn sweeps under a limit of one, again and again, has what was taken
// lapse anew each time, and returns which keys were.
func takenInTurn(t *testing.T, s *fenced.Store, lapses func(key string)) map[string]bool {
	t.Helper()
	taken := map[string]bool{}
	for range 1000 {
		time.Sleep(1)
		ended, err := s.ReclaimExpired(bg, 1)
		require.NoError(t, err)
		require.Len(t, ended, 1)
		taken[ended[0].Key] = true
		lapses(ended[0].Key)
	}
	return taken
}

// A sweep hands over too, also to a claimant who is due at this very instant.
func TestReclaimExpiredHandsOver(t *testing.T) {
	for range 20 {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			b := acquire(bg, s, "k", "B", lease)
			time.Sleep(lease)
			ended, err := s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
			if len(ended) > 0 { // and B was not served by the clock
				require.Equal(t, a.Generation, ended[0].Generation)
			}
			require.Equal(t, a.Generation+1, served(t, b).Generation)
		})
	}
}

// The heap of leases follows the live ones, and loses none of them, however many
// were released out of turn.
func TestHeapFollowsTheLiving(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		var grants []fenced.Grant // behind one lock
		for i := 0; len(grants) < 200; i++ {
			if key := fmt.Sprint(i); fenced.Lock(s, key) == fenced.Lock(s, "k") {
				grants = append(grants, commit(t, s, claim(t, s, key, "A"), "v"))
			}
		}
		for _, g := range grants[:190] { // the first to lapse first
			release(t, s, g)
		}
		require.Less(t, fenced.Filed(s), 50)
		for _, g := range grants[:5] { // those that were dropped can be filed again
			claim(t, s, g.Key, "B")
		}
		time.Sleep(lease)
		ended, err := s.ReclaimExpired(bg, 0)
		require.NoError(t, err)
		require.Len(t, ended, 15)
	})
}
