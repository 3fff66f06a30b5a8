package fenced_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

// many is enough records for each stripe to collect several times.
const many = 12000

// churn claims, writes, deletes and releases n records, one after the other,
// and returns the grants that they were deleted under.
func churn(t *testing.T, s *fenced.Store, n int) []fenced.Grant {
	t.Helper()
	grants := make([]fenced.Grant, 0, n)
	for i := range n {
		g := remove(t, s, commit(t, s, claim(t, s, fmt.Sprint("r", i), "A"), "v"))
		release(t, s, g)
		grants = append(grants, g)
	}
	return grants
}

func TestNothingIsCollectedWhileFewAreDeleted(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for i, g := range churn(t, s, 16) { // as many as one stripe may keep
			equal(t, fenced.Record{Key: fmt.Sprint("r", i), Version: 2, Generation: 2}, read(t, s, g.Key))
		}
		equal(t, fenced.Record{Key: "unseen", Generation: 1}, read(t, s, "unseen"))
		require.Equal(t, 16, fenced.Kept(s))
	})
	t.Run("be it often", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			for n := range fenced.Generation(100) {
				require.Equal(t, n+1, read(t, s, "k").Generation)
				release(t, s, remove(t, s, commit(t, s, claim(t, s, "k", "A"), "v")))
				require.Equal(t, 1, fenced.Kept(s))
			}
			// Nor was a floor raised under others of its stripe.
			for i := range 2000 {
				equal(t, fenced.Record{Key: fmt.Sprint(i), Generation: 1}, read(t, s, fmt.Sprint(i)))
			}
		})
	})
}

// Nor while most exist: collecting costs in proportion to all, and so waits
// until it frees as much.
func TestNothingIsCollectedWhileMostExist(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		var keys []string // behind one lock
		for i := 0; len(keys) < 100; i++ {
			if key := fmt.Sprint(i); fenced.Lock(s, key) == fenced.Lock(s, "k") {
				keys = append(keys, key)
				swap(t, s, key, 0, "v")
			}
		}
		for i, key := range keys[:51] {
			require.Equal(t, 100, fenced.Kept(s), "%d are deleted", i)
			_, err := s.CompareAndDelete(bg, key, 1)
			require.NoError(t, err)
		}
		require.Equal(t, 49, fenced.Kept(s))
		for _, key := range keys[51:] {
			require.EqualValues(t, 1, read(t, s, key).Version)
		}
	})
}

func TestDeletedRecordsAreCollected(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s *fenced.Store, g fenced.Grant){
		"release": func(t *testing.T, s *fenced.Store, g fenced.Grant) { release(t, s, g) },
		"reclaim": func(t *testing.T, s *fenced.Store, g fenced.Grant) { reclaim(t, s, g) },
		"sweep": func(t *testing.T, s *fenced.Store, g fenced.Grant) {
			_, err := s.Renew(bg, g, 1)
			require.NoError(t, err)
			time.Sleep(1)
			_, err = s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
		},
		"release, then delete": func(t *testing.T, s *fenced.Store, g fenced.Grant) {
			g = commit(t, s, g, "v")
			release(t, s, g)
			_, err := s.CompareAndDelete(bg, g.Key, g.Version)
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				for i := range many {
					end(t, s, claim(t, s, fmt.Sprint(i), "A")) // never written, or no longer there
				}
				require.Less(t, fenced.Kept(s), many/2)
				require.Zero(t, s.Stats().Records)
				require.Less(t, fenced.Filed(s), many/2)
			})
		})
	}
}

// Collecting touches neither what exists nor what is held.
func TestCollectingSparesTheLiving(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		want := map[string]fenced.Record{}
		var held []fenced.Grant
		for i := range 300 {
			swap(t, s, fmt.Sprint("exists", i), 0, "v")
			held = append(held, claim(t, s, fmt.Sprint("held", i), "A"))
			both := commit(t, s, claim(t, s, fmt.Sprint("both", i), "B"), "w")
			held = append(held, remove(t, s, both))
			swap(t, s, fmt.Sprint("again", i), 0, "v")
			_, err := s.CompareAndDelete(bg, fmt.Sprint("again", i), 1)
			require.NoError(t, err)
			swap(t, s, fmt.Sprint("again", i), 0, "x")
		}
		for _, kind := range []string{"exists", "held", "both", "again"} {
			for i := range 300 {
				key := fmt.Sprint(kind, i)
				want[key] = read(t, s, key)
			}
		}
		churn(t, s, many)
		require.Less(t, fenced.Kept(s), many/2)
		for key, r := range want {
			equal(t, r, read(t, s, key))
		}
		for _, g := range held {
			g = commit(t, s, g, "still current")
			release(t, s, g)
		}
		require.EqualValues(t, 1200, s.Stats().Records)
	})
}

// Neither number ever falls: a collected record, and any not seen before, reads
// at a floor that is at least as high as what it stood at.
func TestMonotonicOverCollection(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		grants := churn(t, s, many)
		require.Less(t, fenced.Kept(s), many/2)
		for _, g := range grants {
			r := read(t, s, g.Key)
			require.GreaterOrEqual(t, r.Version, g.Version, "TestMonotonicVersion")
			require.Greater(t, r.Generation, g.Generation, "TestMonotonicGeneration")
			require.False(t, r.Exists())
		}
		// One record's numbers are high: they are the floor under all that
		// share its stripe, whichever those are.
		g := claim(t, s, "high", "A")
		for range 1000 {
			g = commit(t, s, g, "v")
		}
		release(t, s, remove(t, s, g))
		for range 1000 {
			release(t, s, claim(t, s, "high", "A"))
		}
		was := read(t, s, "high")
		churn(t, s, many)
		now := read(t, s, "high")
		require.GreaterOrEqual(t, now.Version, was.Version)
		require.GreaterOrEqual(t, now.Generation, was.Generation)
		again := claim(t, s, "high", "A")
		require.Equal(t, now.Version, again.Version, "what was read is what is claimed")
		require.Equal(t, now.Generation, again.Generation)
		again = commit(t, s, again, "v")
		require.Equal(t, now.Version+1, again.Version)
	})
}

// What was read of a record that is not there is good for a swap.
func TestSwapOfACollectedRecord(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		grants := churn(t, s, many)
		for i, g := range grants[:many/2] {
			r := read(t, s, g.Key)
			version := r.Version
			if i%2 == 0 {
				version = 0 // "must not exist"
			}
			_, err := s.CompareAndSwap(bg, g.Key, r.Version-1, nil)
			exactly(t, err, fenced.ErrVersionConflict)
			require.Equal(t, r.Version+1, swap(t, s, g.Key, version, "v").Version)
		}
	})
}

// A writer that read before the record was deleted, collected and made anew is
// told so.
func TestNoLostUpdateOverCollection(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		seen := swap(t, s, "r", 0, "v")
		gone, err := s.CompareAndDelete(bg, "r", seen.Version)
		require.NoError(t, err)
		churn(t, s, many)
		_, err = s.CompareAndSwap(bg, "r", seen.Version, []byte("old"))
		exactly(t, err, fenced.ErrVersionConflict)
		anew := swap(t, s, "r", 0, "v")
		require.Greater(t, anew.Version, gone.Version)
		for _, version := range []fenced.Version{seen.Version, gone.Version} {
			_, err = s.CompareAndSwap(bg, "r", version, []byte("old"))
			exactly(t, err, fenced.ErrVersionConflict)
		}
	})
}

// A zombie of a collected record is refused like any other, before and after
// the record is made anew and claimed, whether its grant remembers the record or
// came as a token.
func TestStickyOverCollection(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		grants := churn(t, s, many)
		refused := func(g fenced.Grant) {
			t.Helper()
			parsed, err := fenced.ParseToken(g.Token())
			require.NoError(t, err)
			for _, g := range []fenced.Grant{g, parsed} {
				g.Version = read(t, s, g.Key).Version
				for _, call := range fenceCalls {
					exactly(t, call.do(s, g), fenced.ErrStaleReadGeneration)
				}
			}
			ctx, cancel := s.Context(bg, g)
			defer cancel()
			require.Error(t, ctx.Err())
		}
		for _, zombie := range grants[:100] {
			refused(zombie)
			next := claim(t, s, zombie.Key, "B")
			require.Greater(t, next.Generation, zombie.Generation, "TestUniqueGeneration")
			refused(zombie)
			release(t, s, commit(t, s, next, "v"))
			refused(zombie)
		}
	})
}

// A grant that remembers a record which was collected and made anew is not
// taken for one of the new record, nor does the store write to the old one.
func TestGrantOutlivesItsRecord(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		zombie := claim(t, s, "r", "A")
		release(t, s, zombie)
		churn(t, s, many)
		next := claim(t, s, "r", "A")
		live := zombie // knows the old record, and is made out as the new grant
		live.Version, live.Generation = next.Version, next.Generation
		exactly(t, fenceCalls[0].do(s, live), fenced.ErrForeignGrant)
		next = commit(t, s, next, "v")
		require.Equal(t, "v", string(read(t, s, "r").Value))
		release(t, s, next)
	})
}

// Leases of a hundred years leave nothing behind that pins collected records.
func TestLongLeasesDoNotPinCollectedRecords(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for i := range many {
			g, err := s.TryAcquire(bg, fmt.Sprint(i), "A", fenced.MaxLease)
			require.NoError(t, err)
			release(t, s, g)
		}
		require.Less(t, fenced.Kept(s), many/2)
		require.LessOrEqual(t, fenced.Filed(s), fenced.Kept(s))
	})
}

// Nor do those of records that were held side by side and released in any order.
func TestHeapOfCollectedRecords(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		var grants []fenced.Grant
		for i := range many {
			g, err := s.TryAcquire(bg, fmt.Sprint(i), "A", fenced.MaxLease-time.Duration(i*7919%1000))
			require.NoError(t, err)
			grants = append(grants, g)
		}
		require.Equal(t, many, fenced.Filed(s))
		for i := range grants {
			release(t, s, grants[i*7919%many])
		}
		require.Less(t, fenced.Kept(s), many/2)
		require.LessOrEqual(t, fenced.Filed(s), fenced.Kept(s))
	})
}

// What is left in the heap when others were collected out of its middle is
// found when it lapses.
func TestSweepAfterCollecting(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		held := map[string]fenced.Grant{}
		var idle []fenced.Grant
		for i := range many {
			g, err := s.TryAcquire(bg, fmt.Sprint(i), "A", time.Duration(1+i*7919%997)*time.Second)
			require.NoError(t, err)
			if i%5 == 0 {
				held[g.Key] = g
			} else {
				idle = append(idle, g)
			}
		}
		for _, g := range idle {
			release(t, s, g)
		}
		require.Less(t, fenced.Kept(s), many/2)
		for len(held) > 0 {
			time.Sleep(10 * time.Second)
			ended, err := s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
			for _, g := range ended {
				delete(held, g.Key)
			}
			for _, g := range held {
				require.True(t, g.Expires.After(time.Now()), "overlooked")
			}
		}
	})
}

// Memory follows the live records (redisson/redisson#6510).
func TestMemoryFollowsTheLiving(t *testing.T) {
	inUse := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	s := fenced.NewStore(fenced.Options{})
	turnover := func(from, n int) {
		for i := from; i < from+n; i++ {
			key := fmt.Sprint("a record with a key of some length ", i)
			g := commit(t, s, claim(t, s, key, "A"), "a value of some length, so that it would be noticed")
			release(t, s, remove(t, s, g))
		}
	}
	turnover(0, 10000)
	before := inUse()
	turnover(10000, 40000)
	after := inUse()
	require.Less(t, after, before+1<<20, "40000 deleted records would be some 8 MB")
	require.Less(t, fenced.Kept(s), 10000)
	runtime.KeepAlive(s)
}
