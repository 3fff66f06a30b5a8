package fenced_test

import (
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

// reporting runs test with a store that reports only.
func reporting(t *testing.T, test func(t *testing.T, s *fenced.Store, j *journal)) {
	t.Helper()
	j := new(journal)
	bubbleWith(t, fenced.Options{ReportOnly: true, OnEvent: j.add}, func(t *testing.T, s *fenced.Store) { test(t, s, j) })
}

func TestReportOnlyAdmitsWhatOnlyTheFenceWouldRefuse(t *testing.T) {
	for _, ending := range endings {
		t.Run(ending.name, func(t *testing.T) {
			reporting(t, func(t *testing.T, s *fenced.Store, j *journal) {
				a := commit(t, s, claim(t, s, "k", "A"), "v")
				ending.do(t, s, a)
				before := read(t, s, "k")
				j.take()

				g := commit(t, s, a, "w")
				require.EqualValues(t, 2, g.Version)
				want := before
				want.Value, want.Version = []byte("w"), 2
				equal(t, want, read(t, s, "k")) // holder, lease and generation are as they were
				told(t, j, fenced.Event{
					Kind: fenced.EventCommit, Key: "k", Holder: "A", Version: 2, Generation: a.Generation, Err: fenced.ErrStaleReadGeneration,
				})
				require.EqualValues(t, 1, s.Stats().WouldRefuse)
				require.EqualValues(t, 2, s.Stats().Commits)

				g = remove(t, s, g)
				require.EqualValues(t, 3, g.Version)
				told(t, j, fenced.Event{
					Kind: fenced.EventDelete, Key: "k", Holder: "A", Version: 3, Generation: a.Generation, Err: fenced.ErrStaleReadGeneration,
				})
				stats := s.Stats()
				require.EqualValues(t, 2, stats.WouldRefuse)
				require.EqualValues(t, 1, stats.Deletes)
				require.Zero(t, stats.RefusedGeneration)
				require.Zero(t, stats.Records)
			})
		})
	}
}

func TestReportOnlySaysHowTheGrantEnded(t *testing.T) {
	reporting(t, func(t *testing.T, s *fenced.Store, j *journal) {
		a := claim(t, s, "k", "A")
		time.Sleep(lease)
		claim(t, s, "k", "B")
		j.take()
		commit(t, s, a, "v")
		c := conflict(t, j.take()[0].Err)
		require.Equal(t, fenced.TakenOver, c.Ended)
		require.Equal(t, "B", c.Current.Holder)
		require.EqualValues(t, 0, c.Current.Version, "as it stood before the write")
	})
}

// All else is judged as always.
func TestReportOnlyJudgesAllElseAsAlways(t *testing.T) {
	reporting(t, func(t *testing.T, s *fenced.Store, _ *journal) {
		old := claim(t, s, "k", "A")
		release(t, s, old)
		a := claim(t, s, "k", "A")
		moved := a
		a = commit(t, s, a, "v")
		foreign := claim(t, fenced.NewStore(fenced.Options{}), "k", "A")
		foreign.Version = a.Version
		unmoved(t, s, []string{"k"}, func() {
			for _, call := range fenceCalls {
				exactly(t, call.do(s, foreign), fenced.ErrForeignGrant)
				exactly(t, call.do(s, fenced.Grant{}), fenced.ErrInvalid)
				if call.write {
					exactly(t, call.do(s, moved), fenced.ErrVersionConflict)
					exactly(t, call.do(s, old), fenced.ErrVersionConflict, fenced.ErrStaleReadGeneration)
				} else {
					exactly(t, call.do(s, old), fenced.ErrStaleReadGeneration)
				}
			}
			_, err := s.Reclaim(bg, "k", old.Generation)
			exactly(t, err, fenced.ErrStaleReadGeneration)
			_, err = s.CompareAndSwap(bg, "k", a.Version, nil)
			exactly(t, err, fenced.ErrGrantHeld)
			_, err = s.TryAcquire(bg, "k", "B", lease)
			exactly(t, err, fenced.ErrGrantHeld)
		})
		stats := s.Stats()
		require.Zero(t, stats.WouldRefuse)
		require.EqualValues(t, 2, stats.RefusedVersion)
		require.EqualValues(t, 2, stats.RefusedBoth)
		ctx, cancel := s.Context(bg, old)
		defer cancel()
		require.Error(t, ctx.Err())
	})
}

// A write that nothing would refuse is not reported.
func TestReportOnlyIsSilentAboutTheRest(t *testing.T) {
	reporting(t, func(t *testing.T, s *fenced.Store, j *journal) {
		release(t, s, remove(t, s, commit(t, s, claim(t, s, "k", "A"), "v")))
		for _, e := range j.take() {
			require.NoError(t, e.Err)
		}
		require.Zero(t, s.Stats().WouldRefuse)
	})
}

// Where the record was collected meanwhile it is made anew, and no count goes
// wrong.
func TestReportOnlyOfACollectedRecord(t *testing.T) {
	reporting(t, func(t *testing.T, s *fenced.Store, _ *journal) {
		zombies := churn(t, s, many)
		require.Less(t, fenced.Kept(s), many/2)
		for _, g := range zombies {
			now := read(t, s, g.Key).Version
			_, err := s.Commit(bg, g, nil)
			if now != g.Version {
				exactly(t, err, fenced.ErrVersionConflict, fenced.ErrStaleReadGeneration)
				g.Version = now
				commit(t, s, g, "v")
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, now+1, read(t, s, g.Key).Version)
		}
		stats := s.Stats()
		require.EqualValues(t, many, stats.WouldRefuse)
		require.EqualValues(t, many, stats.Records)
		require.Equal(t, many, fenced.Kept(s), "all of them live again")
		for _, g := range zombies { // the deletes of zombies are writes as well
			g.Version = read(t, s, g.Key).Version
			remove(t, s, g)
		}
		require.Zero(t, s.Stats().Records)
		require.Less(t, fenced.Kept(s), many/2)
	})
}
