package fenced_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

const lease = 10 * time.Second

var bg = context.Background()

// bubble runs test with a store of its own, on a clock of its own.
func bubble(t *testing.T, test func(t *testing.T, s *fenced.Store)) {
	t.Helper()
	bubbleWith(t, fenced.Options{}, test)
}

func bubbleWith(t *testing.T, opts fenced.Options, test func(t *testing.T, s *fenced.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := fenced.NewStore(opts)
		test(t, s)
		require.NoError(t, s.Close())
	})
}

func claim(t *testing.T, s *fenced.Store, key, holder string) fenced.Grant {
	t.Helper()
	g, err := s.TryAcquire(bg, key, holder, lease)
	require.NoError(t, err)
	return g
}

func commit(t *testing.T, s *fenced.Store, g fenced.Grant, value string) fenced.Grant {
	t.Helper()
	g, err := s.Commit(bg, g, []byte(value))
	require.NoError(t, err)
	return g
}

func remove(t *testing.T, s *fenced.Store, g fenced.Grant) fenced.Grant {
	t.Helper()
	g, err := s.Delete(bg, g)
	require.NoError(t, err)
	return g
}

func release(t *testing.T, s *fenced.Store, g fenced.Grant) {
	t.Helper()
	require.NoError(t, s.Release(bg, g))
}

func reclaim(t *testing.T, s *fenced.Store, g fenced.Grant) fenced.Record {
	t.Helper()
	r, err := s.Reclaim(bg, g.Key, g.Generation)
	require.NoError(t, err)
	return r
}

func swap(t *testing.T, s *fenced.Store, key string, version fenced.Version, value string) fenced.Record {
	t.Helper()
	r, err := s.CompareAndSwap(bg, key, version, []byte(value))
	require.NoError(t, err)
	return r
}

func read(t *testing.T, s *fenced.Store, key string) fenced.Record {
	t.Helper()
	r, err := s.Read(bg, key)
	require.NoError(t, err)
	return r
}

// equal compares structures; of grants it compares what can be seen of them.
func equal(t *testing.T, want, got any) {
	t.Helper()
	seen := cmp.Transformer("Token", func(g fenced.Grant) struct {
		Token  string
		Record fenced.Record
	} {
		return struct {
			Token  string
			Record fenced.Record
		}{g.Token(), g.Record}
	})
	if diff := cmp.Diff(want, got, seen); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
}

var sentinels = []error{
	fenced.ErrVersionConflict, fenced.ErrStaleReadGeneration, fenced.ErrGrantHeld, fenced.ErrForeignGrant,
	fenced.ErrInvalid, fenced.ErrClosed, fenced.ErrSkip, context.Canceled, context.DeadlineExceeded,
}

// exactly requires that err matches those sentinels and no other. No
// sentinels: that err is nil.
func exactly(t *testing.T, err error, want ...error) {
	t.Helper()
	if len(want) == 0 {
		require.NoError(t, err)
	}
	for _, sentinel := range sentinels {
		expected := false
		for _, w := range want {
			expected = expected || w == sentinel
		}
		require.Equal(t, expected, errors.Is(err, sentinel), "%v matches %v", err, sentinel)
	}
}

// state is all of a store that a refused call must leave as it was.
type state struct {
	Records  []fenced.Record
	Waiting  []int
	Watching []int
	All      map[string]fenced.Record
	Stats    fenced.Stats // without the counts of refusals
	Kept     int
	Filed    int
}

func stateOf(t *testing.T, s *fenced.Store, keys ...string) state {
	t.Helper()
	st := state{All: map[string]fenced.Record{}, Stats: s.Stats(), Kept: fenced.Kept(s), Filed: fenced.Filed(s)}
	for _, key := range keys {
		st.Records = append(st.Records, read(t, s, key))
		st.Waiting = append(st.Waiting, fenced.Waiting(s, key))
		st.Watching = append(st.Watching, fenced.Watching(s, key))
	}
	for r := range s.All() {
		st.All[r.Key] = r
	}
	st.Stats.RefusedVersion, st.Stats.RefusedGeneration, st.Stats.RefusedBoth, st.Stats.RefusedHeld = 0, 0, 0, 0
	return st
}

// unmoved requires that calls leave no trace in the records of keys or anywhere
// else.
func unmoved(t *testing.T, s *fenced.Store, keys []string, calls func()) {
	t.Helper()
	before := stateOf(t, s, keys...)
	calls()
	equal(t, before, stateOf(t, s, keys...))
}

// outcome is what a call that ran beside the test returned.
type outcome struct {
	grant fenced.Grant
	err   error
	at    time.Time
}

// acquire calls Acquire in a goroutine of its own, and returns when it waits or
// has returned.
func acquire(ctx context.Context, s *fenced.Store, key, holder string, lease time.Duration) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		g, err := s.Acquire(ctx, key, holder, lease)
		done <- outcome{g, err, time.Now()}
	}()
	synctest.Wait()
	return done
}

// served requires that the claim behind done was served by now.
func served(t *testing.T, done <-chan outcome) fenced.Grant {
	t.Helper()
	synctest.Wait()
	select {
	case o := <-done:
		require.NoError(t, o.err)
		return o.grant
	default:
		t.Fatal("still waiting")
		return fenced.Grant{}
	}
}

// waiting requires that the claim behind done still waits.
func waiting(t *testing.T, done <-chan outcome) {
	t.Helper()
	synctest.Wait()
	select {
	case o := <-done:
		t.Fatalf("returned: %+v", o)
	default:
	}
}

// failed requires that the claim behind done has failed by now with want.
func failed(t *testing.T, done <-chan outcome, want error) {
	t.Helper()
	synctest.Wait()
	select {
	case o := <-done:
		exactly(t, o.err, want)
		equal(t, fenced.Grant{}, o.grant)
	default:
		t.Fatal("still waiting")
	}
}

// conflict returns the ConflictError that err is.
func conflict(t *testing.T, err error) *fenced.ConflictError {
	t.Helper()
	var c *fenced.ConflictError
	require.ErrorAs(t, err, &c)
	return c
}

// conflictOf reports whether err is a ConflictError that matches sentinel.
func conflictOf(err, sentinel error) bool {
	var c *fenced.ConflictError
	return errors.As(err, &c) && errors.Is(err, sentinel)
}
