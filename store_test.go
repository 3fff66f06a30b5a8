package fenced_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
	"weak"

	"github.com/fencedgo/fenced"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestAbsentRecordIsNoError(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		r := read(t, s, "k")
		equal(t, fenced.Record{Key: "k", Version: 0, Generation: 1}, r)
		require.False(t, r.Exists())
		require.Zero(t, fenced.Kept(s), "a read leaves nothing behind")
	})
}

func TestZeroRecordDoesNotExist(t *testing.T) {
	require.False(t, fenced.Record{}.Exists())
	require.True(t, fenced.Record{Value: []byte{}}.Exists())
}

func TestReadShowsHolderAndLease(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		start := time.Now()
		claim(t, s, "k", "A")
		r := read(t, s, "k")
		require.Equal(t, "A", r.Holder)
		require.True(t, start.Add(lease).Equal(r.Expires))
		require.False(t, r.Exists(), "a claim does not write")

		time.Sleep(2 * lease)
		r = read(t, s, "k")
		require.Equal(t, "A", r.Holder, "a lapsed grant is current and its holder is shown")
		require.True(t, start.Add(lease).Equal(r.Expires))
		require.EqualValues(t, 1, s.Stats().Live)
	})
}

func TestReadShowsNobodyOnceFree(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		release(t, s, commit(t, s, claim(t, s, "k", "A"), "v"))
		equal(t, fenced.Record{Key: "k", Value: []byte("v"), Version: 1, Generation: 2}, read(t, s, "k"))
	})
}

// Value, version and generation of a read belong to one instant.
func TestReadIsOfOneInstant(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for version := range fenced.Version(2000) {
			_, err := s.CompareAndSwap(bg, "k", version, fmt.Append(nil, version+1))
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for {
		r := read(t, s, "k")
		if r.Exists() {
			require.Equal(t, fmt.Sprint(r.Version), string(r.Value))
		}
		if r.Version == 2000 {
			break
		}
	}
	wg.Wait()
}

func TestEmptyValueExists(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for key, value := range map[string][]byte{"nil": nil, "empty": {}} {
			g := claim(t, s, key, "A")
			g, err := s.Commit(bg, g, value)
			require.NoError(t, err)
			require.NotNil(t, g.Value)
			require.Empty(t, g.Value)
			release(t, s, g)
			r := read(t, s, key)
			require.True(t, r.Exists(), key)
			require.Empty(t, r.Value)

			r, err = s.CompareAndSwap(bg, key, r.Version, value)
			require.NoError(t, err)
			require.True(t, r.Exists(), key)
			r = read(t, s, key)
			require.True(t, r.Exists(), key)
			require.Empty(t, r.Value)
		}
		require.EqualValues(t, 2, s.Stats().Records)
	})
}

func TestIsolation(t *testing.T) {
	spoil := func(b []byte) {
		for i := range b[:cap(b)] {
			b[:cap(b)][i] = '!'
		}
	}
	still := func(t *testing.T, s *fenced.Store, want string) {
		t.Helper()
		require.Equal(t, want, string(read(t, s, "k").Value))
	}
	tests := []struct {
		name string
		do   func(t *testing.T, s *fenced.Store, g fenced.Grant) fenced.Grant
	}{
		{"read", func(t *testing.T, s *fenced.Store, g fenced.Grant) fenced.Grant {
			spoil(read(t, s, "k").Value)
			return g
		}},
		{"commit, passed in", func(t *testing.T, s *fenced.Store, g fenced.Grant) fenced.Grant {
			value := []byte("mine")
			g, err := s.Commit(bg, g, value)
			require.NoError(t, err)
			spoil(value)
			return g
		}},
		{"commit, got back", func(t *testing.T, s *fenced.Store, g fenced.Grant) fenced.Grant {
			g = commit(t, s, g, "mine")
			spoil(g.Value)
			return g
		}},
		{"commit, in the space of a longer one", func(t *testing.T, s *fenced.Store, g fenced.Grant) fenced.Grant {
			g = commit(t, s, g, "something longer")
			long := read(t, s, "k").Value
			value := []byte("mine")
			g, err := s.Commit(bg, g, value)
			require.NoError(t, err)
			require.Equal(t, "something longer", string(long), "what was read stays as it was")
			spoil(value)
			return g
		}},
		{"all", func(_ *testing.T, s *fenced.Store, g fenced.Grant) fenced.Grant {
			for r := range s.All() {
				spoil(r.Value)
			}
			return g
		}},
		{"swap", func(t *testing.T, s *fenced.Store, g fenced.Grant) fenced.Grant {
			release(t, s, g)
			value := []byte("mine")
			r, err := s.CompareAndSwap(bg, "k", g.Version, value)
			require.NoError(t, err)
			spoil(value)
			spoil(r.Value)
			return claim(t, s, "k", "A")
		}},
		{"claim", func(t *testing.T, s *fenced.Store, g fenced.Grant) fenced.Grant {
			release(t, s, g)
			g = claim(t, s, "k", "A")
			spoil(g.Value)
			return g
		}},
		{"handed over", func(t *testing.T, s *fenced.Store, g fenced.Grant) fenced.Grant {
			b := acquire(bg, s, "k", "B", lease)
			release(t, s, g)
			g = served(t, b)
			spoil(g.Value)
			return g
		}},
		{"reclaim", func(t *testing.T, s *fenced.Store, g fenced.Grant) fenced.Grant {
			spoil(reclaim(t, s, g).Value)
			return claim(t, s, "k", "A")
		}},
		{"sweep", func(t *testing.T, s *fenced.Store, g fenced.Grant) fenced.Grant {
			time.Sleep(lease)
			ended, err := s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
			require.Len(t, ended, 1)
			spoil(ended[0].Value)
			return claim(t, s, "k", "A")
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				g := commit(t, s, claim(t, s, "k", "A"), "mine")
				g = test.do(t, s, g)
				still(t, s, "mine")
				release(t, s, g)
				still(t, s, "mine")
			})
		})
	}
}

// A value read is not changed by later writes either.
func TestIsolationOfWhatWasRead(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		g := commit(t, s, claim(t, s, "k", "A"), "one")
		before := read(t, s, "k")
		commit(t, s, g, "two")
		require.Equal(t, "one", string(before.Value))
	})
}

// A key is the store's own too: it neither pins nor follows the buffer that it
// was cut from.
func TestIsolationOfKeys(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		buffer := []byte("key")
		g := commit(t, s, claim(t, s, unsafe.String(&buffer[0], len(buffer)), "A"), "v")
		copy(buffer, "???")
		r := read(t, s, "key")
		require.True(t, r.Exists())
		require.Equal(t, "key", r.Key)
		g.Key = "key"
		release(t, s, g)
	})
}

func TestAllYieldsWhatExists(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		swap(t, s, "a", 0, "1")
		g := commit(t, s, claim(t, s, "b", "B"), "2")
		claim(t, s, "claimed only", "C")
		swap(t, s, "deleted", 0, "3")
		_, err := s.CompareAndDelete(bg, "deleted", 1)
		require.NoError(t, err)

		got := map[string]fenced.Record{}
		for r := range s.All() {
			got[r.Key] = r
		}
		equal(t, map[string]fenced.Record{
			"a": {Key: "a", Value: []byte("1"), Version: 1, Generation: 1},
			"b": {Key: "b", Value: []byte("2"), Version: 1, Generation: 1, Holder: "B", Expires: g.Expires},
		}, got)
		require.EqualValues(t, 2, s.Stats().Records)
	})
}

func TestAllStopsWhenToldTo(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for i := range 10 {
			swap(t, s, fmt.Sprint(i), 0, "v")
		}
		n := 0
		for range s.All() {
			if n++; n == 3 {
				break
			}
		}
		require.Equal(t, 3, n)
	})
}

// No lock is held while the body of the loop runs, and each record is as of the
// moment it is yielded.
func TestAllIsOfTheMoment(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		const n = 1000 // several to a stripe
		for i := range n {
			swap(t, s, fmt.Sprint(i), 0, "old")
		}
		seen, first := 0, true
		for r := range s.All() {
			seen++
			if first {
				first = false
				for i := range n {
					swap(t, s, fmt.Sprint(i), 1, "new")
				}
				continue
			}
			require.Equal(t, "new", string(r.Value))
			require.EqualValues(t, 2, r.Version)
		}
		require.Equal(t, n, seen)
	})
}

func TestAllSkipsWhatWentMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		const n = 1000
		for i := range n {
			swap(t, s, fmt.Sprint(i), 0, "v")
		}
		seen := 0
		for r := range s.All() {
			if seen++; seen == 1 {
				for i := range n {
					if key := fmt.Sprint(i); key != r.Key {
						_, err := s.CompareAndDelete(bg, key, 1)
						require.NoError(t, err)
					}
				}
			}
		}
		require.Equal(t, 1, seen)
	})
}

func TestCloseFailsWaiters(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		claim(t, s, "k", "A")
		b := acquire(bg, s, "k", "B", lease)
		c := acquire(bg, s, "k", "C", lease)
		require.NoError(t, s.Close())
		failed(t, b, fenced.ErrClosed)
		failed(t, c, fenced.ErrClosed)
	})
}

func TestCloseFailsAllOfAQueue(t *testing.T) {
	for range 20 {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			claim(t, s, "k", "A")
			var queue []<-chan outcome
			for range 100 {
				queue = append(queue, acquire(bg, s, "k", "B", lease))
			}
			require.NoError(t, s.Close())
			for _, waits := range queue {
				failed(t, waits, fenced.ErrClosed)
			}
		})
	}
}

func TestCloseEndsContexts(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		ctx, cancel := s.Context(bg, claim(t, s, "k", "A"))
		defer cancel()
		require.NoError(t, s.Close())
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		exactly(t, context.Cause(ctx), fenced.ErrClosed)
	})
}

func TestCloseAgainReturnsNil(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
}

func TestClosedStoreStillCounts(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		release(t, s, commit(t, s, claim(t, s, "k", "A"), "v"))
		require.NoError(t, s.Close())
		stats := s.Stats()
		require.EqualValues(t, 1, stats.Grants)
		require.EqualValues(t, 1, stats.Commits)
		require.EqualValues(t, 1, stats.Released)
	})
}

func TestClosedStoreListsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for i := range 1000 { // several to a lock
			swap(t, s, fmt.Sprint(i), 0, "v")
		}
		n := 0
		for range s.All() {
			n++
			require.NoError(t, s.Close())
		}
		require.Equal(t, 1, n, "closed midway")
		require.Empty(t, slices.Collect(s.All()))
	})
}

// Nothing of a closed store is left running: the timer of a queue neither.
func TestCloseStopsTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fenced.NewStore(fenced.Options{})
		claim(t, s, "k", "A")
		b := acquire(bg, s, "k", "B", lease)
		require.NoError(t, s.Close())
		failed(t, b, fenced.ErrClosed)
		before := s.Stats()
		time.Sleep(3 * lease)
		equal(t, before, s.Stats())
	})
}

func TestZeroStoreIsClosed(t *testing.T) {
	for _, call := range calls {
		t.Run(call.name, func(t *testing.T) {
			var s fenced.Store
			g := fenced.NewGrant(fenced.Record{Key: "k", Generation: 1}, 1)
			exactly(t, call.do(bg, &s, input{key: "k", holder: "A", lease: lease, grant: g}), fenced.ErrClosed)
		})
	}
}

// A store is garbage once its user forgets it, whatever leases ran and whoever
// waited, if it was closed or nobody waits any more.
func TestForgottenStoreIsGarbage(t *testing.T) {
	for name, end := range map[string]func(*fenced.Store, context.CancelFunc){
		"closed":               func(s *fenced.Store, _ context.CancelFunc) { _ = s.Close() },
		"left by its claimant": func(_ *fenced.Store, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			forget := func() weak.Pointer[fenced.Store] {
				s := fenced.NewStore(fenced.Options{})
				_, err := s.TryAcquire(bg, "k", "A", fenced.MaxLease)
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(bg)
				defer cancel()
				done := make(chan error)
				go func() {
					_, err := s.Acquire(ctx, "k", "B", lease)
					done <- err
				}()
				for fenced.Waiting(s, "k") == 0 {
					runtime.Gosched()
				}
				end(s, cancel)
				require.Error(t, <-done)
				return weak.Make(s)
			}
			forgotten := forget()
			for range 100 {
				runtime.GC()
				if forgotten.Value() == nil {
					return
				}
				runtime.Gosched()
			}
			t.Fatal("something holds on to it")
		})
	}
}

func TestZeroStoreAnswers(t *testing.T) {
	var s fenced.Store
	require.Empty(t, cmp.Diff(fenced.Stats{}, s.Stats()))
	require.Empty(t, slices.Collect(s.All()))
	require.NoError(t, s.Close())
}

// Calls on many records from many goroutines: what each of them did is there.
func TestConcurrentUse(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	const workers, rounds = 8, 200
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				key := fmt.Sprint(i % 7)
				g, err := s.Acquire(bg, key, fmt.Sprint(w), time.Hour)
				if err == nil {
					g, err = s.Commit(bg, g, append(g.Value, 'x'))
				}
				if err == nil {
					err = s.Release(bg, g)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	written := 0
	for r := range s.All() {
		require.Len(t, r.Value, int(r.Version))
		require.Equal(t, fenced.Generation(r.Version)+1, r.Generation)
		written += len(r.Value)
	}
	require.Equal(t, workers*rounds, written)
}

// unruly is a parent that panics when the context below it is cancelled.
type unruly struct {
	context.Context //nolint:containedctx // it is a context
	armed           *bool
}

func (c unruly) Value(key any) any {
	if *c.armed {
		panic("unruly")
	}
	return c.Context.Value(key)
}

// Close closes all of the store, whatever the contexts do that it ends.
func TestCloseUnderAContextThatPanics(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		armed := false
		var waiting []<-chan outcome
		for i := range 20 {
			key := fmt.Sprint(i)
			parent, end := context.WithCancel(bg)
			defer end()
			_, cancel := s.Context(unruly{parent, &armed}, claim(t, s, key, "A"))
			defer cancel()
			waiting = append(waiting, acquire(bg, s, key, "B", lease))
		}
		armed = true
		require.Panics(t, func() { _ = s.Close() })
		armed = false
		for i, w := range waiting {
			failed(t, w, fenced.ErrClosed)
			_, err := s.Read(bg, fmt.Sprint(i))
			exactly(t, err, fenced.ErrClosed)
		}
	})
}
