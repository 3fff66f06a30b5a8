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

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
)

// journal gathers events.
type journal struct {
	mu     sync.Mutex
	events []fenced.Event
}

func (j *journal) add(e fenced.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

// take returns the events since the last call.
func (j *journal) take() []fenced.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	events := j.events
	j.events = nil
	return events
}

// observed runs test with a store whose events go to a journal.
func observed(t *testing.T, test func(t *testing.T, s *fenced.Store, j *journal)) {
	t.Helper()
	j := new(journal)
	bubbleWith(t, fenced.Options{OnEvent: j.add}, func(t *testing.T, s *fenced.Store) { test(t, s, j) })
}

// told requires that exactly those events came, of now, in the order of their
// numbers. Of errors it compares what they match.
func told(t *testing.T, j *journal, want ...fenced.Event) {
	t.Helper()
	synctest.Wait()
	got := j.take()
	for i := range got {
		if i > 0 {
			require.Greater(t, got[i].Seq, got[i-1].Seq)
		}
		require.NotZero(t, got[i].Seq)
		require.True(t, time.Now().Equal(got[i].At), "At")
		got[i].Seq, got[i].At = 0, time.Time{}
		if i >= len(want) {
			continue
		}
		require.ErrorIs(t, got[i].Err, want[i].Err)
		if want[i].Err != nil {
			require.Equal(t, got[i].Kind.String(), conflict(t, got[i].Err).Op)
		}
		got[i].Err, want[i].Err = nil, nil
	}
	if len(want) == 0 {
		require.Empty(t, got)
		return
	}
	equal(t, want, got)
}

func TestEvents(t *testing.T) {
	observed(t, func(t *testing.T, s *fenced.Store, j *journal) {
		read(t, s, "k")
		told(t, j)

		a := claim(t, s, "k", "A")
		told(t, j, fenced.Event{Kind: fenced.EventAcquire, Key: "k", Holder: "A", Generation: 1})
		a = commit(t, s, a, "v")
		told(t, j, fenced.Event{Kind: fenced.EventCommit, Key: "k", Holder: "A", Version: 1, Generation: 1})
		a, err := s.Renew(bg, a, lease)
		require.NoError(t, err)
		told(t, j, fenced.Event{Kind: fenced.EventRenew, Key: "k", Holder: "A", Generation: 1})
		a = remove(t, s, a)
		told(t, j, fenced.Event{Kind: fenced.EventDelete, Key: "k", Holder: "A", Version: 2, Generation: 1})
		release(t, s, a)
		told(t, j, fenced.Event{Kind: fenced.EventRelease, Key: "k", Holder: "A", Generation: 1})
		swap(t, s, "k", 0, "w")
		told(t, j, fenced.Event{Kind: fenced.EventCompareAndSwap, Key: "k", Version: 3})
		_, err = s.CompareAndDelete(bg, "k", 3)
		require.NoError(t, err)
		told(t, j, fenced.Event{Kind: fenced.EventCompareAndDelete, Key: "k", Version: 4})

		reclaim(t, s, claim(t, s, "k", "B"))
		told(t, j, fenced.Event{Kind: fenced.EventAcquire, Key: "k", Holder: "B", Generation: 2},
			fenced.Event{Kind: fenced.EventReclaim, Key: "k", Holder: "B", Generation: 2})
		claim(t, s, "k", "C")
		j.take()
		time.Sleep(lease)
		_, err = s.ReclaimExpired(bg, 0)
		require.NoError(t, err)
		told(t, j, fenced.Event{Kind: fenced.EventReclaim, Key: "k", Holder: "C", Generation: 3})
		require.NoError(t, s.Close())
		told(t, j)
	})
}

// A take-over is two events, the ending and the grant, and so is a hand-over.
func TestEventsOfATakeOver(t *testing.T) {
	observed(t, func(t *testing.T, s *fenced.Store, j *journal) {
		claim(t, s, "k", "A")
		j.take()
		time.Sleep(lease)
		b := claim(t, s, "k", "B")
		told(t, j, fenced.Event{Kind: fenced.EventTakeOver, Key: "k", Holder: "A", Generation: 1},
			fenced.Event{Kind: fenced.EventAcquire, Key: "k", Holder: "B", Generation: 2})

		c := acquire(bg, s, "k", "C", lease)
		told(t, j)
		time.Sleep(lease)
		told(t, j, fenced.Event{Kind: fenced.EventTakeOver, Key: "k", Holder: "B", Generation: 2},
			fenced.Event{Kind: fenced.EventAcquire, Key: "k", Holder: "C", Generation: 3})
		exactly(t, s.Release(bg, b), fenced.ErrStaleReadGeneration)
		j.take()

		d := acquire(bg, s, "k", "D", lease)
		release(t, s, served(t, c))
		synctest.Wait()
		events := j.take()
		slices.SortFunc(events, func(a, b fenced.Event) int { return int(a.Seq) - int(b.Seq) })
		j.events = events
		told(t, j, fenced.Event{Kind: fenced.EventRelease, Key: "k", Holder: "C", Generation: 3},
			fenced.Event{Kind: fenced.EventAcquire, Key: "k", Holder: "D", Generation: 4})
		served(t, d)
	})
}

// Every refusal is an event with its error, and of a refused write with a copy
// of what it carried.
func TestEventsOfRefusals(t *testing.T) {
	observed(t, func(t *testing.T, s *fenced.Store, j *journal) {
		old := claim(t, s, "k", "A")
		reclaim(t, s, old)
		b := claim(t, s, "k", "B")
		j.take()

		value := []byte("stale")
		_, err := s.Commit(bg, old, value)
		require.Error(t, err)
		value[0] = '!'
		refused := fenced.Event{Key: "k", Holder: "A", Generation: 1, Err: fenced.ErrStaleReadGeneration}
		want := refused
		want.Kind, want.Value = fenced.EventCommit, []byte("stale")
		told(t, j, want)
		for i, kind := range []fenced.EventKind{fenced.EventDelete, fenced.EventRenew, fenced.EventRelease} {
			require.Error(t, fenceCalls[i+1].do(s, old))
			want := refused
			want.Kind = kind
			told(t, j, want)
		}
		_, err = s.TryAcquire(bg, "k", "C", lease)
		require.Error(t, err)
		told(t, j, fenced.Event{Kind: fenced.EventAcquire, Key: "k", Holder: "C", Err: fenced.ErrGrantHeld})
		_, err = s.Reclaim(bg, "k", 1)
		require.Error(t, err)
		told(t, j, fenced.Event{Kind: fenced.EventReclaim, Key: "k", Generation: 1, Err: fenced.ErrStaleReadGeneration})
		_, err = s.CompareAndSwap(bg, "k", 0, []byte("w"))
		require.Error(t, err)
		told(t, j, fenced.Event{Kind: fenced.EventCompareAndSwap, Key: "k", Err: fenced.ErrGrantHeld, Value: []byte("w")})
		_, err = s.CompareAndDelete(bg, "k", 0)
		require.Error(t, err)
		told(t, j, fenced.Event{Kind: fenced.EventCompareAndDelete, Key: "k", Err: fenced.ErrGrantHeld})

		commit(t, s, b, "v")
		j.take()
		_, err = s.Commit(bg, b, nil)
		require.Error(t, err)
		told(t, j, fenced.Event{
			Kind: fenced.EventCommit, Key: "k", Holder: "B", Generation: 2, Err: fenced.ErrVersionConflict, Value: []byte{},
		})
		b.Generation++
		_, err = s.Commit(bg, b, nil)
		require.Error(t, err)
		told(t, j, fenced.Event{
			Kind: fenced.EventCommit, Key: "k", Holder: "B", Generation: 3, Err: fenced.ErrForeignGrant, Value: []byte{},
		})
	})
}

// The holder of an event is that of the grant concerned, also where the grant
// came as a token, which carries none, or with another label on it.
func TestEventHolderOfAToken(t *testing.T) {
	observed(t, func(t *testing.T, s *fenced.Store, j *journal) {
		a, err := fenced.ParseToken(claim(t, s, "k", "A").Token())
		require.NoError(t, err)
		j.take()
		a = commit(t, s, a, "v")
		told(t, j, fenced.Event{Kind: fenced.EventCommit, Key: "k", Holder: "A", Version: 1, Generation: 1})
		remove(t, s, a)
		told(t, j, fenced.Event{Kind: fenced.EventDelete, Key: "k", Holder: "A", Version: 2, Generation: 1})
	})
}

// The error of the event is the one that the caller gets.
func TestEventCarriesTheError(t *testing.T) {
	observed(t, func(t *testing.T, s *fenced.Store, j *journal) {
		a := claim(t, s, "k", "A")
		reclaim(t, s, a)
		j.take()
		_, err := s.Commit(bg, a, nil)
		require.Same(t, conflict(t, err), conflict(t, j.take()[0].Err))
	})
}

// What is wrong with the call itself never reached the record.
func TestNoEventOfAnInvalidCall(t *testing.T) {
	observed(t, func(t *testing.T, s *fenced.Store, j *journal) {
		in := input{}
		for _, call := range calls {
			if call.name != "ReclaimExpired" {
				require.Error(t, call.do(bg, s, in))
			}
		}
		finished, cancel := context.WithCancel(bg)
		cancel()
		for _, call := range calls {
			require.Error(t, call.do(finished, s, input{key: "k", holder: "A", lease: lease}))
		}
		told(t, j)
	})
}

// Seq orders the events of one record, also where several goroutines bring them
// about.
func TestEventSeqOrdersTheEventsOfARecord(t *testing.T) {
	j := new(journal)
	s := fenced.NewStore(fenced.Options{OnEvent: j.add})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				g, err := s.Acquire(bg, "k", "A", time.Hour)
				if err == nil {
					g, err = s.Commit(bg, g, nil)
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
	events := j.take()
	require.Len(t, events, 8*100*3)
	slices.SortFunc(events, func(a, b fenced.Event) int { return int(a.Seq) - int(b.Seq) })
	for i, e := range events {
		if i > 0 {
			require.Greater(t, e.Seq, events[i-1].Seq)
		}
		require.Equal(t, []fenced.EventKind{fenced.EventAcquire, fenced.EventCommit, fenced.EventRelease}[i%3], e.Kind)
		require.EqualValues(t, i/3+1, e.Generation)
	}
}

// The event has happened when it is told, and no lock is held: OnEvent may call
// any method of the store, for that record too.
func TestOnEventCallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *fenced.Store
		var told atomic.Int64
		s = fenced.NewStore(fenced.Options{OnEvent: func(e fenced.Event) {
			if e.Err != nil || e.Holder == "other" || e.Holder == "O" {
				return // of the observer's own calls
			}
			if told.Inc() > 100 {
				panic("an observer of itself")
			}
			r := read(t, s, e.Key)
			if e.Kind == fenced.EventCommit {
				require.Equal(t, e.Version, r.Version)
			}
			for range s.All() {
			}
			s.Stats()
			_, _ = s.TryAcquire(bg, e.Key, "other", lease)
			_, _ = s.Commit(bg, fenced.NewGrant(r, 1), nil)
			_, _ = s.Reclaim(bg, e.Key, 99)
			_, _ = s.CompareAndSwap(bg, e.Key, 99, nil)
			_, err := s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
			g, err := s.TryAcquire(bg, fmt.Sprint("of the observer ", e.Generation, e.Kind), "O", lease)
			require.NoError(t, err)
			ctx, cancel := s.Context(bg, g)
			require.NoError(t, ctx.Err())
			release(t, s, g)
			cancel()
		}})
		a := commit(t, s, claim(t, s, "k", "A"), "v")
		b := acquire(bg, s, "k", "B", lease)
		release(t, s, a)
		release(t, s, served(t, b))
		// The observer claimed the record as soon as it was free.
		require.Equal(t, "other", read(t, s, "k").Holder)
		_, err := s.TryAcquire(bg, "k", "C", lease)
		exactly(t, err, fenced.ErrGrantHeld)
		require.EqualValues(t, 5, told.Load())
	})
}

func TestOnEventClosesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *fenced.Store
		s = fenced.NewStore(fenced.Options{OnEvent: func(e fenced.Event) {
			if e.Kind == fenced.EventCommit {
				_ = s.Close()
			}
		}})
		a := claim(t, s, "k", "A")
		b := acquire(bg, s, "k", "B", lease)
		a = commit(t, s, a, "v") // it had landed
		require.EqualValues(t, 1, a.Version)
		failed(t, b, fenced.ErrClosed)
		exactly(t, s.Release(bg, a), fenced.ErrClosed)
	})
}

// A panic of OnEvent travels to the caller. What the event reports has happened
// all the same, and the store is as sound as before.
func TestOnEventPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var armed atomic.Uint32 // a kind
		s := fenced.NewStore(fenced.Options{OnEvent: func(e fenced.Event) {
			if e.Kind == fenced.EventKind(armed.Load()) {
				panic(e.Kind)
			}
		}})
		panics := func(kind fenced.EventKind, do func()) {
			t.Helper()
			armed.Store(uint32(kind))
			defer armed.Store(0)
			require.PanicsWithValue(t, kind, do)
		}
		panics(fenced.EventAcquire, func() { _, _ = s.TryAcquire(bg, "k", "A", lease) })
		require.Equal(t, "A", read(t, s, "k").Holder)
		panics(fenced.EventReclaim, func() { _, _ = s.Reclaim(bg, "k", 1) })
		require.EqualValues(t, 2, read(t, s, "k").Generation)

		a := claim(t, s, "k", "A")
		panics(fenced.EventCommit, func() { _, _ = s.Commit(bg, a, []byte("v")) })
		require.EqualValues(t, 1, read(t, s, "k").Version)
		panics(fenced.EventCommit, func() { _, _ = s.Commit(bg, a, []byte("w")) }) // refused
		require.Equal(t, "v", string(read(t, s, "k").Value))
		panics(fenced.EventRenew, func() { _, _ = s.Renew(bg, a, 2*lease) })
		require.True(t, time.Now().Add(2*lease).Equal(read(t, s, "k").Expires))
		panics(fenced.EventAcquire, func() { _, _ = s.TryAcquire(bg, "k", "B", lease) })
		panics(fenced.EventCompareAndSwap, func() { _, _ = s.CompareAndSwap(bg, "k", 1, nil) })

		// Those that wait and watch are told before it.
		ctx, cancel := s.Context(bg, a)
		defer cancel()
		b := acquire(bg, s, "k", "B", lease)
		panics(fenced.EventRelease, func() { _ = s.Release(bg, a) })
		require.Error(t, ctx.Err())
		g := served(t, b)
		g = commit(t, s, g, "w")
		release(t, s, g)
		swap(t, s, "k", 2, "x")
		require.NoError(t, s.Close())
	})
}

// A claimant that had to wait reports its own grant, and the take-over that
// brought it: a panic travels to it, not to a timer.
func TestOnEventPanicsInATakeOver(t *testing.T) {
	for _, kind := range []fenced.EventKind{fenced.EventTakeOver, fenced.EventAcquire} {
		bubbleWith(t, fenced.Options{OnEvent: func(e fenced.Event) {
			if e.Kind == kind && (kind == fenced.EventTakeOver || e.Holder == "B") {
				panic(kind)
			}
		}}, func(t *testing.T, s *fenced.Store) {
			claim(t, s, "k", "A")
			recovered := make(chan any, 1)
			go func() {
				defer func() { recovered <- recover() }()
				_, _ = s.Acquire(bg, "k", "B", lease)
			}()
			require.Equal(t, kind, <-recovered)
			require.Equal(t, "B", read(t, s, "k").Holder, "what it reports has happened")
		})
	}
}

// So is it where OnEvent ends its goroutine.
func TestOnEventGoexits(t *testing.T) {
	bubbleWith(t, fenced.Options{OnEvent: func(fenced.Event) { runtime.Goexit() }}, func(t *testing.T, s *fenced.Store) {
		exits := func(do func()) {
			t.Helper()
			returned := atomic.NewBool(false)
			go func() {
				do()
				returned.Store(true)
			}()
			synctest.Wait()
			require.False(t, returned.Load())
		}
		exits(func() { _, _ = s.TryAcquire(bg, "k", "A", lease) })
		require.Equal(t, "A", read(t, s, "k").Holder)
		exits(func() { _, _ = s.Acquire(bg, "k", "B", lease) }) // waits
		time.Sleep(lease)
		synctest.Wait()
		require.Equal(t, "B", read(t, s, "k").Holder, "who has gone, and whose lease will lapse")
		exits(func() { _, _ = s.Commit(bg, fenced.NewGrant(read(t, s, "k"), 1), nil) })
		exits(func() { _, _ = s.Reclaim(bg, "k", 2) })
		exits(func() { _, _ = s.CompareAndSwap(bg, "k", 0, []byte("v")) })
		equal(t, fenced.Record{Key: "k", Value: []byte("v"), Version: 1, Generation: 3}, read(t, s, "k"))
	})
}

func TestEventKindReads(t *testing.T) {
	for kind, want := range map[fenced.EventKind]string{
		0:                            "unknown",
		fenced.EventAcquire:          "acquire",
		fenced.EventRenew:            "renew",
		fenced.EventCommit:           "commit",
		fenced.EventDelete:           "delete",
		fenced.EventRelease:          "release",
		fenced.EventReclaim:          "reclaim",
		fenced.EventTakeOver:         "take-over",
		fenced.EventCompareAndSwap:   "compare-and-swap",
		fenced.EventCompareAndDelete: "compare-and-delete",
		200:                          "unknown",
	} {
		require.Equal(t, want, kind.String())
	}
}
