package random_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/tests/effort"
	"github.com/fencedgo/fenced/tests/model"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestManyLeases keeps thousands of leases under way, so that what finds the
// lapsed ones has something to sort, and compares every sweep with the model.
func TestManyLeases(t *testing.T) {
	random := rand.New(rand.NewPCG(effort.Seed(t), 0))
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		world := model.New()
		actual := model.Actual{Store: fenced.NewStore(fenced.Options{}), Epoch: time.Now()}
		both := func(c model.Call, g fenced.Grant) (model.Outcome, fenced.Grant) {
			want := world.Do(c)
			got, next, err := actual.Do(ctx, c, g)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(want, got), "%v (-model +store)", c)
			return got, next
		}
		const records = 4096
		current := map[string]fenced.Grant{}
		names := make([]string, records)
		for i := range names {
			names[i] = fmt.Sprint("r", i)
			// A record that exists is never collected.
			both(model.Call{Op: model.CompareAndSwap, Key: names[i]}, fenced.Grant{})
		}
		swept := 0
		var passing []fenced.Grant
		for i := range effort.Of(60_000) {
			// Records that are never written come and go, and are collected
			// from among the others.
			if i%2 == 0 {
				lease := time.Duration(1000+random.IntN(2000)) * time.Second
				g, err := actual.Store.TryAcquire(ctx, fmt.Sprint("passing", i), "B", lease)
				require.NoError(t, err)
				passing = append(passing, g)
				world.Stats.Grants++
			}
			if len(passing) > 200 {
				require.NoError(t, actual.Store.Release(ctx, passing[0]))
				passing = passing[1:]
				world.Stats.Released++
			}
			key := names[random.IntN(records)]
			lease := time.Duration(1+random.IntN(1000)) * time.Second
			g, isHeld := current[key]
			shown := model.Grant{View: actual.View(g.Record), Issued: true}
			switch n := random.IntN(1000); {
			case n < 5:
				d := time.Duration(1+random.IntN(100)) * time.Second
				time.Sleep(d)
				world.Advance(d)
			case n < 15 || len(current) == records:
				limit := random.IntN(20)
				lapsed := world.Lapsed()
				list, err := actual.Store.ReclaimExpired(ctx, limit)
				require.NoError(t, err)
				got := actual.Grants(list)
				due := len(lapsed)
				if limit > 0 {
					due = min(due, limit)
				}
				require.Len(t, got, due, "swept of %d that had lapsed, limit %d", len(lapsed), limit)
				var ended []string
				for _, v := range got {
					require.True(t, slices.Contains(lapsed, v.Key), v)
					ended = append(ended, v.Key)
					delete(current, v.Key)
				}
				require.Empty(t, cmp.Diff(world.SweepOf(ended), got), "sweep (-model +store)")
				swept += len(got)
			case !isHeld || n < 200:
				c := model.Call{Op: model.TryAcquire, Key: key, Holder: "A", Lease: lease}
				if got, next := both(c, fenced.Grant{}); got.Refused == 0 {
					current[key] = next
				}
			case n < 600:
				_, current[key] = both(model.Call{Op: model.Renew, Key: key, Grant: shown, Lease: lease}, g)
			case n < 800:
				both(model.Call{Op: model.Release, Key: key, Grant: shown}, g)
				delete(current, key)
			default:
				_, current[key] = both(model.Call{Op: model.Commit, Key: key, Grant: shown, Value: []byte(key)}, g)
			}
		}
		for _, g := range passing {
			require.NoError(t, actual.Store.Release(ctx, g))
			world.Stats.Released++
		}
		require.Equal(t, world.Count(), actual.Count())
		require.NotZero(t, swept)
		t.Logf("%d leases swept", swept)
	})
}

// TestCollection deletes far more records than a store keeps, again and again,
// and looks at what the model leaves open: the numbers of a collected record
// are at least what they were, its old grants stay refused, and no generation
// comes twice.
func TestCollection(t *testing.T) {
	random := rand.New(rand.NewPCG(effort.Seed(t), 0))
	ctx := context.Background()
	store := fenced.NewStore(fenced.Options{})
	const records = 8_000
	last := make([]fenced.Record, records) // as last seen
	old := make([]fenced.Grant, records)   // the grant before
	risen, unseen := 0, 0
	see := func(i int, r fenced.Record) {
		t.Helper()
		require.GreaterOrEqual(t, r.Version, last[i].Version, r.Key)
		require.GreaterOrEqual(t, r.Generation, last[i].Generation, r.Key)
		last[i] = r
	}
	for range effort.Of(30_000) {
		i := random.IntN(records)
		key := fmt.Sprint("r", i)
		r, err := store.Read(ctx, key)
		require.NoError(t, err)
		require.False(t, r.Exists())
		switch {
		case last[i].Key == "" && r.Generation > 1:
			unseen++
		case last[i].Key != "" && r.Version > last[i].Version:
			risen++
		}
		see(i, r)
		g, err := store.TryAcquire(ctx, key, "A", time.Hour)
		require.NoError(t, err)
		see(i, g.Record)
		if zombie := old[i]; zombie.Key != "" {
			require.Greater(t, g.Generation, zombie.Generation)
			for _, v := range []fenced.Version{zombie.Version, g.Version} {
				zombie.Version = v
				_, err = store.Commit(ctx, zombie, []byte("zombie"))
				require.ErrorIs(t, err, fenced.ErrStaleReadGeneration)
			}
			_, err = store.Renew(ctx, zombie, time.Hour)
			require.ErrorIs(t, err, fenced.ErrStaleReadGeneration)
			require.ErrorIs(t, store.Release(ctx, zombie), fenced.ErrStaleReadGeneration)
		}
		g, err = store.Commit(ctx, g, []byte("A"))
		require.NoError(t, err)
		see(i, g.Record)
		g, err = store.Delete(ctx, g)
		require.NoError(t, err)
		see(i, g.Record)
		require.NoError(t, store.Release(ctx, g))
		if v := last[i].Version; v > 1 {
			_, err = store.CompareAndSwap(ctx, key, v-1, []byte("late"))
			require.ErrorIs(t, err, fenced.ErrVersionConflict)
		}
		old[i] = g
	}
	require.NotZero(t, risen, "no record was collected")
	require.NotZero(t, unseen, "no floor was raised")
	require.Zero(t, store.Stats().Records)
	require.Zero(t, store.Stats().Live)
	t.Logf("%d records read higher than they were left, %d began above the first numbers", risen, unseen)
}
