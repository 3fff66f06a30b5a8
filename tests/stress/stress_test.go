// Package stress_test hammers one record from many goroutines. It is meant for
// the race detector, and looks for what a crowd could break: exclusion, the
// order of the queue, and claimants that nobody wakes.
package stress_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/tests/effort"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "hot"

// TestHotRecord runs on the real clock.
func TestHotRecord(t *testing.T) {
	seed := effort.Seed(t)
	for i := range uint64(effort.Of(40)) {
		hammer(t, seed+i, 50*time.Microsecond)
	}
}

// TestHotRecordInBubble runs on a fake clock, which moves only while everyone
// waits, so that leases lapse and contexts end at the same instants; and a
// claimant that nobody wakes is found as a deadlock.
func TestHotRecordInBubble(t *testing.T) {
	seed := effort.Seed(t)
	for i := range uint64(effort.Of(40)) {
		synctest.Test(t, func(t *testing.T) { hammer(t, seed+i, time.Second) })
	}
}

// written is an accepted write.
type written struct {
	version    fenced.Version
	generation fenced.Generation
}

// crowd is what the clients of one run share and note.
type crowd struct {
	store *fenced.Store
	unit  time.Duration // leases and patience are a few of it

	mu       sync.Mutex
	grants   []fenced.Generation
	writes   []written
	released uint64
	closed   int // clients that were told that the store is closed
}

// hammer lets clients loose on one record, closes the store under them, and
// looks at what they were told.
func hammer(t *testing.T, seed uint64, unit time.Duration) {
	t.Helper()
	const clients, calls = 16, 60
	c := &crowd{store: fenced.NewStore(fenced.Options{}), unit: unit}
	errs := make([]error, clients+2)
	var all, supervisors sync.WaitGroup
	stop := make(chan struct{})
	for i := range clients {
		all.Go(func() { errs[i] = c.client(rand.New(rand.NewPCG(seed, uint64(i))), calls) })
	}
	for i := clients; i < clients+2; i++ {
		supervisors.Go(func() { errs[i] = c.supervise(rand.New(rand.NewPCG(seed, uint64(i))), stop) })
	}
	all.Wait()
	close(stop)
	supervisors.Wait()
	stats := c.store.Stats()

	// Now everyone waits, for a grant that does not end, and the store closes.
	_, err := c.store.Acquire(t.Context(), key, "last", time.Hour)
	require.NoError(t, err)
	for i := range clients {
		all.Go(func() { errs[i] = errors.Join(errs[i], c.last()) })
	}
	all.Go(func() { _ = c.store.Close() })
	all.Wait()

	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, clients, c.closed)
	c.check(t, stats)
}

// check looks at the whole of what the clients were told.
func (c *crowd) check(t *testing.T, stats fenced.Stats) {
	t.Helper()
	slices.Sort(c.grants)
	require.Len(t, slices.Compact(slices.Clone(c.grants)), len(c.grants), "a generation was granted twice")
	slices.SortFunc(c.writes, func(a, b written) int { return cmp.Compare(a.version, b.version) })
	for i, w := range c.writes {
		require.Equal(t, fenced.Version(i+1), w.version, "two writes won from one version, or one was lost")
		if i > 0 {
			require.GreaterOrEqual(t, w.generation, c.writes[i-1].generation, "a write under a grant that had ended")
		}
	}
	require.EqualValues(t, len(c.grants), stats.Grants, "a grant that nobody was told of")
	require.Equal(t, c.released, stats.Released)
	require.Zero(t, stats.Live)
	require.Equal(t, stats.Grants, stats.Released+stats.Reclaimed+stats.TakenOver)
	require.EqualValues(t, len(c.writes), stats.Commits+stats.Deletes)
	require.NotEmpty(t, c.writes)
}

// client claims, writes twice and releases, and forgets nothing it was told.
func (c *crowd) client(random *rand.Rand, calls int) error {
	for range calls {
		g, err := c.claim(random)
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, fenced.ErrGrantHeld) {
			continue
		}
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.grants = append(c.grants, g.Generation)
		c.mu.Unlock()
		if err := c.work(random, g); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) claim(random *rand.Rand) (fenced.Grant, error) {
	ctx := context.Background()
	lease := time.Duration(1+random.IntN(20)) * c.unit
	switch random.IntN(4) {
	case 0:
		return c.store.TryAcquire(ctx, key, "try", lease)
	case 1:
		return c.store.Acquire(ctx, key, "patient", lease)
	case 2:
		ctx, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(20))*c.unit)
		defer cancel()
		return c.store.Acquire(ctx, key, "impatient", lease)
	default:
		ctx, cancel := context.WithCancel(ctx)
		var other sync.WaitGroup
		defer other.Wait()
		other.Go(cancel)
		return c.store.Acquire(ctx, key, "fickle", lease)
	}
}

// work uses a grant that others may end at any time.
func (c *crowd) work(random *rand.Rand, g fenced.Grant) error {
	ctx, cancel := c.store.Context(context.Background(), g)
	defer cancel()
	for range 2 {
		next, err := c.write(random, g)
		if errors.Is(err, fenced.ErrStaleReadGeneration) {
			break
		}
		if err != nil {
			return err
		}
		if next.Version != g.Version+1 {
			return errors.New("a write moved the version by more than one")
		}
		g = next
		c.mu.Lock()
		c.writes = append(c.writes, written{g.Version, g.Generation})
		c.mu.Unlock()
	}
	switch random.IntN(8) {
	case 0:
		return c.wait(ctx) // for a supervisor, a claimant, or nobody while it dies
	case 1:
		if _, err := c.store.Renew(ctx, g, c.unit); err != nil && !ended(err) {
			return err
		}
	}
	err := c.store.Release(context.Background(), g)
	if err == nil {
		c.mu.Lock()
		c.released++
		c.mu.Unlock()
	} else if !errors.Is(err, fenced.ErrStaleReadGeneration) {
		return err
	}
	if err == nil && ctx.Err() == nil {
		return errors.New("a context outlived the release of its grant")
	}
	<-ctx.Done() // who else ended the grant may be about to say so
	if _, err := c.store.Commit(context.Background(), g, nil); !errors.Is(err, fenced.ErrStaleReadGeneration) {
		return errors.New("a commit under a grant that had ended was not refused by the fence")
	}
	return nil
}

// wait returns when the grant of ctx has ended; its supervisors see to that.
func (c *crowd) wait(ctx context.Context) error {
	<-ctx.Done()
	if !ended(context.Cause(ctx)) {
		return context.Cause(ctx)
	}
	return nil
}

func ended(err error) bool {
	return errors.Is(err, fenced.ErrStaleReadGeneration) || errors.Is(err, context.Canceled)
}

func (c *crowd) write(random *rand.Rand, g fenced.Grant) (fenced.Grant, error) {
	if random.IntN(5) == 0 {
		return c.store.Delete(context.Background(), g)
	}
	return c.store.Commit(context.Background(), g, []byte("value"))
}

// supervise reclaims what it saw, at times too late, and checks that no number
// falls. It goes on until stop is closed and nobody holds the record.
func (c *crowd) supervise(random *rand.Rand, stop <-chan struct{}) error {
	ctx := context.Background()
	var last fenced.Record
	for pause := time.NewTicker(c.unit); ; {
		r, err := c.store.Read(ctx, key)
		if err != nil {
			return err
		}
		if r.Version < last.Version || r.Generation < last.Generation {
			return errors.New("a number fell")
		}
		if r.Generation == last.Generation && last.Holder != "" && r.Holder != last.Holder {
			return errors.New("a generation changed hands")
		}
		last = r
		if r.Holder != "" && random.IntN(2) == 0 {
			if _, err := c.store.Reclaim(ctx, key, r.Generation); err != nil && !errors.Is(err, fenced.ErrStaleReadGeneration) {
				return err
			}
		}
		if _, err := c.store.ReclaimExpired(ctx, 0); err != nil {
			return err
		}
		select {
		case <-stop:
			if r.Holder == "" {
				pause.Stop()
				return nil
			}
		default:
		}
		<-pause.C
	}
}

// last waits until the store is closed.
func (c *crowd) last() error {
	_, err := c.store.Acquire(context.Background(), key, "late", time.Hour)
	if !errors.Is(err, fenced.ErrClosed) {
		return errors.Join(errors.New("a claimant was served by a closed store"), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
	return nil
}

// TestQueueOrder lines claimants up one by one, then ends grants while the
// contexts of some of them end, and looks at the order in which the rest is
// served.
func TestQueueOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(effort.Seed(t), 0))
	for range effort.Of(400) {
		synctest.Test(t, func(t *testing.T) { lineUp(t, random) })
	}
}

func lineUp(t *testing.T, random *rand.Rand) {
	t.Helper()
	const claimants = 12
	store := fenced.NewStore(fenced.Options{})
	defer store.Close()
	g, err := store.TryAcquire(t.Context(), key, "first", time.Minute)
	require.NoError(t, err)

	var mu sync.Mutex
	var served []int
	var generations []fenced.Generation
	var stay, leave []int
	var cancels []context.CancelFunc
	var all sync.WaitGroup
	for i := range claimants {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if random.IntN(3) == 0 {
			leave = append(leave, i)
			cancels = append(cancels, cancel)
		} else {
			stay = append(stay, i)
		}
		how := random.IntN(3)
		all.Go(func() {
			g, err := store.Acquire(ctx, key, "claimant", time.Minute)
			if err != nil {
				return
			}
			mu.Lock()
			served = append(served, i)
			generations = append(generations, g.Generation)
			mu.Unlock()
			end(t, store, g, how)
		})
		synctest.Wait()
	}
	how := random.IntN(3)
	all.Go(func() { end(t, store, g, how) })
	for _, cancel := range cancels {
		all.Go(cancel)
	}
	all.Wait()

	require.True(t, slices.IsSorted(served), "served %v", served)
	require.True(t, slices.IsSorted(generations), "generations %v", generations)
	for _, i := range stay {
		require.Contains(t, served, i)
	}
	stats := store.Stats()
	require.EqualValues(t, 1+len(served), stats.Grants, "served %v, of which may have left %v", served, leave)
}

// end ends a grant: its holder releases it, a supervisor reclaims it, or its
// lease lapses.
func end(t *testing.T, store *fenced.Store, g fenced.Grant, how int) {
	var err error
	switch how {
	case 0:
		err = store.Release(context.Background(), g)
	case 1:
		_, err = store.Reclaim(context.Background(), key, g.Generation)
	}
	if err != nil {
		t.Errorf("ending of %d: %v", g.Generation, err)
	}
}
