// Package leak_test looks for goroutines that outlive what started them, with
// the clock as it is: a fake one would not let them run on.
package leak_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	key   = "orders/4412"
	lease = time.Hour
)

// left fails t if, at its end, goroutines run that did not at its beginning.
func left(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

func TestCloseEndsWaiters(t *testing.T) {
	left(t)
	store := fenced.NewStore(fenced.Options{})
	g, err := store.TryAcquire(t.Context(), key, "A", lease)
	require.NoError(t, err)
	watched, cancel := store.Context(context.Background(), g)
	defer cancel()
	var waiters sync.WaitGroup
	for range 50 {
		waiters.Go(func() {
			_, err := store.Acquire(context.Background(), key, "B", lease)
			if !errors.Is(err, fenced.ErrClosed) {
				t.Errorf("waiter: %v", err)
			}
		})
	}
	runtime.Gosched()
	require.NoError(t, store.Close())
	waiters.Wait()
	<-watched.Done()
	require.ErrorIs(t, context.Cause(watched), fenced.ErrClosed)
}

func TestCancelledWaitersLeave(t *testing.T) {
	left(t)
	store := fenced.NewStore(fenced.Options{})
	_, err := store.TryAcquire(t.Context(), key, "A", lease)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var waiters sync.WaitGroup
	for range 50 {
		waiters.Go(func() {
			_, err := store.Acquire(ctx, key, "B", lease)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("waiter: %v", err)
			}
		})
	}
	runtime.Gosched()
	cancel()
	waiters.Wait()
	// The store is dropped without being closed, and with a grant under way.
}

// TestContexts leaves the contexts of grants in every way there is. That of a
// parent which the context package does not know costs a goroutine, which must
// end too.
func TestContexts(t *testing.T) {
	left(t)
	store := fenced.NewStore(fenced.Options{})
	claim := func() fenced.Grant {
		g, err := store.TryAcquire(context.Background(), key, "A", lease)
		require.NoError(t, err)
		return g
	}
	background := context.Background()
	parent, end := context.WithCancel(background)
	defer end()

	g := claim()
	ctx, cancel := store.Context(custom{parent}, g)
	cancel()
	require.Error(t, ctx.Err())

	ctx, cancel = store.Context(custom{parent}, g)
	require.NoError(t, store.Release(background, g))
	require.Error(t, ctx.Err())
	cancel()

	g = claim()
	ctx, cancel = store.Context(custom{parent}, g)
	_, err := store.Reclaim(background, key, g.Generation)
	require.NoError(t, err)
	require.Error(t, ctx.Err())
	cancel()

	ctx, cancel = store.Context(custom{parent}, g) // has ended
	require.Error(t, ctx.Err())
	cancel()

	g = claim()
	ctx, cancel = store.Context(custom{parent}, g)
	end()
	<-ctx.Done()
	cancel()
}

// custom is a context that only its own type knows how to cancel.
type custom struct {
	context.Context //nolint:containedctx // it is a context
}

func (c custom) Value(key any) any { return nil }

func TestWorkerDo(t *testing.T) {
	failure := errors.New("vendor is down")
	for name, work := range map[string]fenced.Work{
		"commits": func(context.Context, fenced.Grant) ([]byte, error) { return []byte("done"), nil },
		"skips":   func(context.Context, fenced.Grant) ([]byte, error) { return nil, fenced.ErrSkip },
		"fails":   func(context.Context, fenced.Grant) ([]byte, error) { return nil, failure },
		"panics":  func(context.Context, fenced.Grant) ([]byte, error) { panic(failure) },
		"exits":   func(context.Context, fenced.Grant) ([]byte, error) { runtime.Goexit(); return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			left(t)
			store := fenced.NewStore(fenced.Options{})
			worker := fenced.Worker{Backend: store, Name: "w1"}
			var did sync.WaitGroup
			did.Go(func() {
				defer func() { _ = recover() }()
				_, _ = worker.Do(context.Background(), key, work)
			})
			did.Wait()
			require.Zero(t, store.Stats().Live)
			require.EqualValues(t, 1, store.Stats().Released)
		})
	}
}

// TestWorkerLosesItsGrant has the grant reclaimed, and the caller's context
// ended, while work runs.
func TestWorkerLosesItsGrant(t *testing.T) {
	left(t)
	store := fenced.NewStore(fenced.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	refused := 0
	worker := fenced.Worker{Backend: store, Name: "w1", Refused: func(context.Context, fenced.Refusal) { refused++ }}
	err := worker.Run(ctx, slices.Values([]string{key, "orders/4413"}), func(ctx context.Context, g fenced.Grant) ([]byte, error) {
		if g.Key == key {
			_, err := store.Reclaim(context.Background(), g.Key, g.Generation)
			require.NoError(t, err)
		} else {
			cancel()
		}
		<-ctx.Done()
		return []byte("late"), nil
	})
	require.ErrorIs(t, err, fenced.ErrStaleReadGeneration)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, refused)
	require.Zero(t, store.Stats().Live)
}

func TestSupervisorRun(t *testing.T) {
	left(t)
	store := fenced.NewStore(fenced.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := store.TryAcquire(ctx, key, "dead", time.Nanosecond)
	require.NoError(t, err)
	supervisor := fenced.Supervisor{Backend: store, Every: time.Millisecond, Reclaimed: func(fenced.Grant) { cancel() }}
	require.ErrorIs(t, supervisor.Run(ctx), context.Canceled)

	ended := make(chan error, 1)
	go func() {
		ended <- (&fenced.Supervisor{Backend: store, Every: time.Millisecond}).Run(context.Background())
	}()
	require.NoError(t, store.Close())
	require.ErrorIs(t, <-ended, fenced.ErrClosed)
}
