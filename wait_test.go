package fenced_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
)

func TestProgress(t *testing.T) {
	t.Run("a dead holder's record can be claimed, no supervisor running", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			time.Sleep(lease)
			b := claim(t, s, "k", "B")
			require.Equal(t, a.Generation+1, b.Generation)
			require.EqualValues(t, 1, s.Stats().TakenOver)
		})
	})
	t.Run("a waiter takes over the moment the lease lapses", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			start := time.Now()
			claim(t, s, "k", "A")
			time.Sleep(time.Second)
			o := <-acquire(bg, s, "k", "B", lease)
			require.NoError(t, o.err)
			require.Equal(t, lease, o.at.Sub(start))
			require.True(t, o.at.Add(lease).Equal(o.grant.Expires), "the lease runs from the hand-over")
			require.EqualValues(t, 1, s.Stats().TakenOver)
		})
	})
	t.Run("a claim of a lapsed record does not wait", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			claim(t, s, "k", "A")
			time.Sleep(2 * lease)
			served(t, acquire(bg, s, "k", "B", lease))
		})
	})
	t.Run("waiters are served in the order in which they came", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			g := claim(t, s, "k", "A")
			var queue []<-chan outcome
			for i := range 10 {
				queue = append(queue, acquire(bg, s, "k", fmt.Sprint(i), lease))
			}
			for i, next := range queue {
				switch i % 3 {
				case 0:
					release(t, s, g)
				case 1:
					reclaim(t, s, g)
				default:
					time.Sleep(lease)
				}
				g = served(t, next)
				require.Equal(t, fmt.Sprint(i), g.Holder)
				for _, later := range queue[i+1:] {
					waiting(t, later)
				}
			}
		})
	})
	t.Run("waiters that all find dead holders are served one lease apart", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			start := time.Now()
			claim(t, s, "k", "A")
			b := acquire(bg, s, "k", "B", 2*lease)
			c := acquire(bg, s, "k", "C", lease/2)
			d := acquire(bg, s, "k", "D", lease)
			for _, want := range []struct {
				who <-chan outcome
				at  time.Duration
			}{{b, lease}, {c, 3 * lease}, {d, 3*lease + lease/2}} {
				o := <-want.who
				require.NoError(t, o.err)
				require.Equal(t, want.at, o.at.Sub(start))
			}
		})
	})
	t.Run("nobody comes before the waiters", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			b := acquire(bg, s, "k", "B", lease)
			release(t, s, a)
			// Whether B has run yet or not, it holds the record.
			unmoved(t, s, []string{"k"}, func() {
				_, err := s.TryAcquire(bg, "k", "C", lease)
				exactly(t, err, fenced.ErrGrantHeld)
				_, err = s.CompareAndSwap(bg, "k", 0, nil)
				exactly(t, err, fenced.ErrGrantHeld)
			})
			require.Equal(t, "B", read(t, s, "k").Holder)
			served(t, b)
		})
	})
	t.Run("a waiter whose context ends returns then", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			start := time.Now()
			a := claim(t, s, "k", "A")
			short, cancel := context.WithTimeout(bg, lease/2)
			defer cancel()
			b := acquire(short, s, "k", "B", lease)
			o := <-b
			exactly(t, o.err, context.DeadlineExceeded)
			equal(t, fenced.Grant{}, o.grant)
			require.Equal(t, lease/2, o.at.Sub(start))
			require.Zero(t, fenced.Waiting(s, "k"))
			release(t, s, a)
			require.Empty(t, read(t, s, "k").Holder, "it left nothing behind")
			require.EqualValues(t, 1, s.Stats().Grants)
		})
	})
	t.Run("a waiter that has left is passed over, wherever it stood", func(t *testing.T) {
		for left := range 3 {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				g := claim(t, s, "k", "A")
				var queue [3]<-chan outcome
				var leave context.CancelFunc
				for i := range queue {
					ctx, cancel := context.WithCancel(bg)
					defer cancel()
					if i == left {
						leave = cancel
					}
					queue[i] = acquire(ctx, s, "k", fmt.Sprint(i), lease)
				}
				leave()
				failed(t, queue[left], context.Canceled)
				require.Equal(t, 2, fenced.Waiting(s, "k"))
				for i, next := range queue {
					if i != left {
						release(t, s, g)
						g = served(t, next)
						require.Equal(t, fmt.Sprint(i), g.Holder)
					}
				}
				release(t, s, g)
				require.Empty(t, read(t, s, "k").Holder)
			})
		}
	})
	t.Run("never handed a grant after its context has ended", func(t *testing.T) {
		for _, ending := range []string{"release", "reclaim", "sweep", "claim"} {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				a := claim(t, s, "k", "A")
				ctx, cancel := context.WithCancel(bg)
				short, stop := context.WithTimeout(bg, lease/2) // so that no timer takes over before the sweep
				defer stop()
				b, c := acquire(ctx, s, "k", "B", lease), acquire(short, s, "k", "C", lease)
				cancel() // and the record ends before B can have noticed
				switch ending {
				case "release":
					release(t, s, a)
					require.Equal(t, "C", read(t, s, "k").Holder)
					served(t, c)
				case "reclaim":
					require.Equal(t, "C", reclaim(t, s, a).Holder)
					served(t, c)
				case "sweep":
					time.Sleep(lease)
					ended, err := s.ReclaimExpired(bg, 0)
					require.NoError(t, err)
					equal(t, []fenced.Grant{a}, ended)
					require.Empty(t, read(t, s, "k").Holder)
				case "claim":
					time.Sleep(lease)
					claim(t, s, "k", "D")
				}
				failed(t, b, context.Canceled)
			})
		}
	})
	t.Run("the last of the queue has gone, the record is free", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			ctx, cancel := context.WithCancel(bg)
			b := acquire(ctx, s, "k", "B", lease)
			cancel()
			release(t, s, a) // before B can have noticed
			require.Empty(t, read(t, s, "k").Holder)
			failed(t, b, context.Canceled)
			claim(t, s, "k", "C")
		})
	})
	t.Run("handed over before its context ended, it holds", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			for range 50 { // the two may be noticed in either order
				a := claim(t, s, "k", "A")
				ctx, cancel := context.WithCancel(bg)
				b := acquire(ctx, s, "k", "B", lease)
				release(t, s, a)
				cancel()
				release(t, s, served(t, b))
			}
		})
	})
}

// Whoever is told that it did not get the grant does not hold it, and the other
// way round, however the ends of contexts and of grants race.
func TestWaiterHoldsWhatItWasTold(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 300 {
				ctx, cancel := context.WithTimeout(bg, time.Duration(i%50)*time.Microsecond)
				if g, err := s.Acquire(ctx, "k", "A", time.Hour); err == nil {
					if g, err = s.Commit(bg, g, nil); err == nil {
						err = s.Release(bg, g)
					}
					if err != nil {
						t.Error(err)
					}
				} else if ctx.Err() == nil {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	require.Empty(t, read(t, s, "k").Holder)
	stats := s.Stats()
	require.Zero(t, stats.Live)
	require.Equal(t, stats.Grants, stats.Released)
	require.Equal(t, stats.Grants, stats.Commits)
}

// The same for one waiter that has seen its context end, and is handed the
// grant before it can leave the queue.
func TestWaiterIsServedAsItLeaves(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	for range 300 {
		a := claim(t, s, "k", "A")
		ctx := &whisper{Context: bg, done: make(chan struct{})}
		done := make(chan outcome)
		go func() {
			g, err := s.Acquire(ctx, "k", "B", time.Hour)
			done <- outcome{grant: g, err: err}
		}()
		for fenced.Waiting(s, "k") == 0 {
			runtime.Gosched()
		}
		ctx.end()
		release(t, s, a)
		o := <-done
		require.Equal(t, o.err == nil, read(t, s, "k").Holder == "B", "B was told: %v", o.err)
		if o.err == nil {
			release(t, s, o.grant)
		}
	}
}

// whisper is a context that tells one goroutine of its end, and nobody else.
type whisper struct {
	context.Context //nolint:containedctx // what it is
	done            chan struct{}
	ended           atomic.Bool
}

func (c *whisper) Done() <-chan struct{} { return c.done }

func (c *whisper) Err() error {
	if c.ended.Load() {
		return context.Canceled
	}
	return nil
}

func (c *whisper) end() {
	c.ended.Store(true)
	c.done <- struct{}{}
}

func TestWaitersFollowTheLease(t *testing.T) {
	for name, length := range map[string]time.Duration{"longer": 3 * lease, "shorter": lease / 4} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				start := time.Now()
				a := claim(t, s, "k", "A")
				b := acquire(bg, s, "k", "B", lease)
				time.Sleep(lease / 2)
				_, err := s.Renew(bg, a, length)
				require.NoError(t, err)
				o := <-b
				require.NoError(t, o.err)
				require.Equal(t, lease/2+length, o.at.Sub(start))
			})
		})
	}
	t.Run("again and again", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			start := time.Now()
			a := claim(t, s, "k", "A")
			b := acquire(bg, s, "k", "B", lease)
			for range 20 {
				time.Sleep(lease * 4 / 5)
				_, err := s.Renew(bg, a, lease)
				require.NoError(t, err)
			}
			waiting(t, b)
			o := <-b
			require.NoError(t, o.err)
			require.Equal(t, lease*4/5*20+lease, o.at.Sub(start))
		})
	})
}

// Nothing is left running where nobody waits any more.
func TestQueueLeavesNoTimer(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "k", "A")
		ctx, cancel := context.WithCancel(bg)
		b := acquire(ctx, s, "k", "B", lease)
		cancel()
		failed(t, b, context.Canceled)
		before := stateOf(t, s, "k")
		time.Sleep(3 * lease)
		equal(t, before, stateOf(t, s, "k"))
		commit(t, s, a, "v")
	})
}

// TryAcquire of a lapsed record is no way round the queue. Here the waiter is
// due at this very instant, whichever of the two comes first.
func TestTryAcquireDoesNotJumpTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for range 20 {
			a := claim(t, s, "k", "A")
			b := acquire(bg, s, "k", "B", lease)
			time.Sleep(lease)
			_, err := s.TryAcquire(bg, "k", "C", lease)
			exactly(t, err, fenced.ErrGrantHeld)
			synctest.Wait()
			exactly(t, s.Release(bg, a), fenced.ErrStaleReadGeneration)
			release(t, s, served(t, b))
		}
	})
}

func TestHandOverAmongMany(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	var wg sync.WaitGroup
	holders := 0 // guarded by the grant
	for i := range 16 {
		wg.Go(func() {
			for range 200 {
				g, err := s.Acquire(bg, "k", fmt.Sprint(i), time.Hour)
				if err != nil {
					t.Error(err)
					return
				}
				holders++
				if err := s.Release(bg, g); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 16*200, holders)
	require.EqualValues(t, 16*200+1, read(t, s, "k").Generation)
}

func TestAcquireDoesNotCountAsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "k", "A")
		b := acquire(bg, s, "k", "B", lease)
		synctest.Wait()
		require.Zero(t, s.Stats().RefusedHeld)
		release(t, s, a)
		served(t, b)
		require.Zero(t, s.Stats().RefusedHeld)
	})
}

// A claimant whose context has ended, and who has not left yet, is passed over
// by whoever comes meanwhile, and leaves nothing behind either.
func TestDeadClaimantIsPassedOver(t *testing.T) {
	for range 50 {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			ctx, cancel := context.WithCancel(bg)
			b := acquire(ctx, s, "k", "B", lease)
			cancel()
			_, err := s.TryAcquire(bg, "k", "C", lease)
			exactly(t, err, fenced.ErrGrantHeld)
			failed(t, b, context.Canceled)
			release(t, s, a)
			release(t, s, claim(t, s, "k", "C"))
		})
	}
}

// endsSilently is a context that is done and has no error, as none should be.
type endsSilently struct {
	context.Context //nolint:containedctx // it is a context
}

func (endsSilently) Err() error { return nil }

func TestContextThatEndsWithoutAnError(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		claim(t, s, "k", "A")
		ctx, cancel := context.WithCancel(bg)
		b := acquire(endsSilently{ctx}, s, "k", "B", lease)
		cancel()
		failed(t, b, context.Canceled)
	})
}
