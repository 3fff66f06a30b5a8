package fenced_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
)

// plain is a backend that can neither wait nor watch, and whose calls may be
// replaced.
type plain struct {
	fenced.Backend
	renew   func(context.Context, fenced.Grant, time.Duration) (fenced.Grant, error)
	commit  func(context.Context, fenced.Grant, []byte) (fenced.Grant, error)
	release func(context.Context, fenced.Grant) error
}

func (p plain) Renew(ctx context.Context, g fenced.Grant, lease time.Duration) (fenced.Grant, error) {
	if p.renew != nil {
		return p.renew(ctx, g, lease)
	}
	return p.Backend.Renew(ctx, g, lease)
}

func (p plain) Commit(ctx context.Context, g fenced.Grant, value []byte) (fenced.Grant, error) {
	if p.commit != nil {
		return p.commit(ctx, g, value)
	}
	return p.Backend.Commit(ctx, g, value)
}

func (p plain) Release(ctx context.Context, g fenced.Grant) error {
	if p.release != nil {
		return p.release(ctx, g)
	}
	return p.Backend.Release(ctx, g)
}

func worker(b fenced.Backend, name string) *fenced.Worker {
	return &fenced.Worker{Backend: b, Name: name, Lease: lease}
}

// writes is Work that returns value.
func writes(value string) fenced.Work {
	return func(context.Context, fenced.Grant) ([]byte, error) { return []byte(value), nil }
}

// works is Work that takes d, whatever becomes of its context.
func works(d time.Duration, value string) fenced.Work {
	return func(context.Context, fenced.Grant) ([]byte, error) {
		time.Sleep(d)
		return []byte(value), nil
	}
}

// free requires that nobody holds the record of key.
func free(t *testing.T, s *fenced.Store, key string) {
	t.Helper()
	require.Empty(t, read(t, s, key).Holder)
}

func TestDo(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		swap(t, s, "k", 0, "v")
		g, err := worker(s, "w").Do(bg, "k", func(_ context.Context, g fenced.Grant) ([]byte, error) {
			equal(t, fenced.Record{
				Key: "k", Value: []byte("v"), Version: 1, Generation: 1, Holder: "w", Expires: time.Now().Add(lease),
			}, g.Record)
			return append(g.Value, '!'), nil
		})
		require.NoError(t, err)
		require.EqualValues(t, 2, g.Version)
		require.EqualValues(t, 1, g.Generation)
		equal(t, fenced.Record{Key: "k", Value: []byte("v!"), Version: 2, Generation: 2}, read(t, s, "k"))
		_, err = s.Commit(bg, g, nil)
		exactly(t, err, fenced.ErrStaleReadGeneration) // it was released
		stats := s.Stats()
		require.EqualValues(t, 1, stats.Released)
		require.Zero(t, stats.Overruns)
	})
}

func TestDoNilValueIsEmpty(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		_, err := worker(s, "w").Do(bg, "k", func(context.Context, fenced.Grant) ([]byte, error) { return nil, nil })
		require.NoError(t, err)
		require.True(t, read(t, s, "k").Exists())
	})
}

func TestDoWaitsItsTurnWhereTheStoreCan(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		claim(t, s, "k", "A")
		start := time.Now()
		_, err := worker(s, "w").Do(bg, "k", writes("v"))
		require.NoError(t, err)
		require.Equal(t, lease, time.Since(start))

		claim(t, s, "l", "A")
		_, err = worker(plain{Backend: s}, "w").Do(bg, "l", writes("v"))
		exactly(t, err, fenced.ErrGrantHeld)
		require.Equal(t, lease, time.Since(start), "at once")
	})
}

func TestDoRenews(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		_, err := worker(s, "w").Do(bg, "k", func(ctx context.Context, g fenced.Grant) ([]byte, error) {
			for range 9 * lease / time.Second {
				time.Sleep(time.Second)
				require.NoError(t, ctx.Err())
				require.True(t, read(t, s, "k").Expires.After(time.Now()), "the lease never lapses")
				ended, err := s.ReclaimExpired(bg, 0)
				require.NoError(t, err)
				require.Empty(t, ended)
			}
			return nil, nil
		})
		require.NoError(t, err)
		require.Less(t, s.Stats().Held.Max, 0.5)
		renewals := s.Stats().Renewals
		time.Sleep(10 * lease)
		require.Equal(t, renewals, s.Stats().Renewals, "the renewer has stopped")
	})
}

func TestDefaults(t *testing.T) {
	require.Equal(t, 30*time.Second, fenced.DefaultLease)
	bubble(t, func(t *testing.T, s *fenced.Store) {
		w := &fenced.Worker{Backend: s, Name: "w"}
		start := time.Now()
		var ended time.Duration
		_, err := w.Do(bg, "k", func(ctx context.Context, g fenced.Grant) ([]byte, error) {
			require.Equal(t, 30*time.Second, time.Until(g.Expires))
			<-ctx.Done()
			ended = time.Since(start)
			return nil, ctx.Err()
		})
		exactly(t, err, context.Canceled, context.DeadlineExceeded)
		require.GreaterOrEqual(t, ended, 300*time.Second-30*time.Second, "10 leases")
		require.LessOrEqual(t, ended, 300*time.Second+30*time.Second)
		// The caller's Worker is as it was.
		require.Zero(t, w.Lease)
		require.Zero(t, w.MaxHold)
	})
}

// A hung worker loses its grant: no renewal after MaxHold.
func TestMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		w := worker(s, "hung")
		w.MaxHold = 3 * lease
		start := time.Now()
		var refused []fenced.Refusal
		w.Refused = func(_ context.Context, r fenced.Refusal) { refused = append(refused, r) }
		hung := make(chan error, 1)
		go func() {
			_, err := w.Do(bg, "k", works(10*lease, "late"))
			hung <- err
		}()
		synctest.Wait()
		o := <-acquire(bg, s, "k", "B", 100*lease)
		require.NoError(t, o.err)
		require.GreaterOrEqual(t, o.at.Sub(start), 3*lease-lease/3+lease-1, "renewed until MaxHold")
		require.LessOrEqual(t, o.at.Sub(start), 4*lease, "and no longer")
		exactly(t, <-hung, fenced.ErrStaleReadGeneration)
		require.Len(t, refused, 1)
		require.Equal(t, "B", read(t, s, "k").Holder)
	})
}

// The context of work ends with the grant, where the backend can tell, with the
// reason as its cause.
func TestDoContextEndsWithTheGrant(t *testing.T) {
	for name, b := range map[string]func(*fenced.Store) fenced.Backend{
		"at once where it watches": func(s *fenced.Store) fenced.Backend { return s },
		"with the next renewal elsewhere": func(s *fenced.Store) fenced.Backend {
			return plain{Backend: s}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				backend := b(s)
				_, watches := backend.(fenced.Watcher)
				_, err := worker(backend, "w").Do(bg, "k", func(ctx context.Context, g fenced.Grant) ([]byte, error) {
					start := time.Now()
					reclaim(t, s, g)
					<-ctx.Done()
					if watches {
						require.Zero(t, time.Since(start))
					} else {
						require.LessOrEqual(t, time.Since(start), lease/2)
					}
					cause := context.Cause(ctx)
					exactly(t, cause, fenced.ErrStaleReadGeneration)
					require.Equal(t, fenced.Reclaimed, conflict(t, cause).Ended)
					return nil, ctx.Err()
				})
				exactly(t, err, context.Canceled, fenced.ErrStaleReadGeneration)
			})
		})
	}
}

// The context ends at the latest when a lease has passed since the last
// successful renewal was sent, not since its answer came.
func TestDoContextEndsWithTheLease(t *testing.T) {
	t.Run("no renewal succeeds", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			b := plain{Backend: s, renew: func(context.Context, fenced.Grant, time.Duration) (fenced.Grant, error) {
				return fenced.Grant{}, errors.New("no route to host")
			}}
			start := time.Now()
			_, err := worker(b, "w").Do(bg, "k", func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
				<-ctx.Done()
				require.Equal(t, lease, time.Since(start))
				require.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
				return []byte("finished"), nil // which nobody has reclaimed: the fence decides
			})
			require.NoError(t, err)
			require.Equal(t, "finished", string(read(t, s, "k").Value))
		})
	})
	t.Run("renewals answer late", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			n := 0
			var sent time.Time
			b := plain{Backend: s}
			b.renew = func(ctx context.Context, g fenced.Grant, lease time.Duration) (fenced.Grant, error) {
				if n++; n > 1 {
					return fenced.Grant{}, errors.New("no route to host")
				}
				sent = time.Now()
				g, err := s.Renew(ctx, g, lease)
				time.Sleep(lease / 3)
				return g, err
			}
			_, err := worker(b, "w").Do(bg, "k", func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
				<-ctx.Done()
				require.Equal(t, lease, time.Since(sent))
				return nil, fenced.ErrSkip
			})
			require.NoError(t, err)
		})
	})
	t.Run("the claim answers late", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			start := time.Now()
			_, err := worker(slow{plain{Backend: s, renew: func(context.Context, fenced.Grant, time.Duration) (fenced.Grant, error) {
				return fenced.Grant{}, errors.New("no route to host")
			}}}, "w").Do(bg, "k", func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
				<-ctx.Done()
				require.Equal(t, lease, time.Since(start))
				return nil, fenced.ErrSkip
			})
			require.NoError(t, err)
		})
	})
}

// slow is a backend whose claims take effect at once and answer late.
type slow struct{ plain }

func (b slow) TryAcquire(ctx context.Context, key, holder string, d time.Duration) (fenced.Grant, error) {
	g, err := b.plain.TryAcquire(ctx, key, holder, d)
	time.Sleep(d / 2)
	return g, err
}

func TestTransientErrorOfARenewalIsNoLoss(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		n := 0
		b := plain{Backend: s, renew: func(ctx context.Context, g fenced.Grant, d time.Duration) (fenced.Grant, error) {
			if n++; n%3 != 0 {
				return fenced.Grant{}, errors.New("connection reset")
			}
			return s.Renew(ctx, g, d)
		}}
		_, err := worker(b, "w").Do(bg, "k", func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
			for range 5 * lease / time.Second {
				time.Sleep(time.Second)
				require.NoError(t, ctx.Err())
				require.True(t, read(t, s, "k").Expires.After(time.Now()))
			}
			return []byte("v"), nil
		})
		require.NoError(t, err)
		require.Greater(t, n, 9)
	})
}

// A commit whose outcome is open comes back with the grant to ask about it, and
// is no refusal. Other failures come with none.
func TestUncertainCommit(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for _, failure := range []error{fmt.Errorf("%w: connection reset", fenced.ErrUncertain), errors.New("disk full")} {
			b := plain{Backend: s, commit: func(context.Context, fenced.Grant, []byte) (fenced.Grant, error) {
				return fenced.Grant{}, failure
			}}
			w := worker(b, "w")
			w.Refused = func(context.Context, fenced.Refusal) { t.Error("nothing refused it") }
			var presented fenced.Grant
			g, err := w.Do(bg, "k", func(_ context.Context, g fenced.Grant) ([]byte, error) {
				if errors.Is(failure, fenced.ErrUncertain) {
					presented = g
				}
				return []byte("v"), nil
			})
			require.ErrorIs(t, err, failure)
			require.Equal(t, presented, g)
			require.Empty(t, read(t, s, "k").Holder, "released all the same")
		}
	})
}

// Do never retries a refused commit, and hands the result to Refused with the
// caller's context.
func TestRefused(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		type key struct{}
		ctx := context.WithValue(bg, key{}, "the caller's")
		commits := 0
		b := plain{Backend: s}
		b.commit = func(ctx context.Context, g fenced.Grant, value []byte) (fenced.Grant, error) {
			commits++
			return s.Commit(ctx, g, value)
		}
		w := worker(b, "w")
		var got []fenced.Refusal
		w.Refused = func(ctx context.Context, r fenced.Refusal) {
			require.NoError(t, ctx.Err(), "not the grant's")
			require.Equal(t, "the caller's", ctx.Value(key{}))
			_, hasDeadline := ctx.Deadline()
			require.False(t, hasDeadline)
			got = append(got, r)
		}
		var grant fenced.Grant
		_, err := w.Do(ctx, "k", func(_ context.Context, g fenced.Grant) ([]byte, error) {
			grant = g
			reclaim(t, s, g)
			time.Sleep(time.Second)
			return []byte("finished"), nil
		})
		exactly(t, err, fenced.ErrStaleReadGeneration)
		require.Equal(t, 1, commits)
		require.Len(t, got, 1)
		equal(t, grant, got[0].Grant)
		require.Equal(t, "finished", string(got[0].Value))
		require.Same(t, conflict(t, err), conflict(t, got[0].Err))
		require.True(t, time.Now().Equal(got[0].At))
		require.False(t, read(t, s, "k").Exists())

		commits = 0
		_, err = (&fenced.Worker{Backend: b, Name: "w", Lease: lease}).Do(ctx, "k", func(_ context.Context, g fenced.Grant) ([]byte, error) {
			reclaim(t, s, g)
			return nil, nil
		})
		exactly(t, err, fenced.ErrStaleReadGeneration) // nor is Refused needed
	})
}

func TestRefusedIsForRefusals(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		broken := errors.New("disk full")
		b := plain{Backend: s, commit: func(context.Context, fenced.Grant, []byte) (fenced.Grant, error) {
			return fenced.Grant{}, broken
		}}
		w := worker(b, "w")
		w.Refused = func(context.Context, fenced.Refusal) { t.Error("called") }
		g, err := w.Do(bg, "k", writes("v"))
		require.ErrorIs(t, err, broken)
		equal(t, fenced.Grant{}, g)
		free(t, s, "k")
		_, err = w.Do(bg, "k", func(context.Context, fenced.Grant) ([]byte, error) { return nil, fenced.ErrSkip })
		require.NoError(t, err)
		_, err = w.Do(bg, "k", func(context.Context, fenced.Grant) ([]byte, error) { return nil, broken })
		require.ErrorIs(t, err, broken)
	})
}

func TestErrSkipIsSuccessWithoutAWrite(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		swap(t, s, "k", 0, "v")
		for _, skip := range []error{fenced.ErrSkip, fmt.Errorf("nothing due: %w", fenced.ErrSkip)} {
			before := read(t, s, "k")
			g, err := worker(s, "w").Do(bg, "k", func(context.Context, fenced.Grant) ([]byte, error) {
				return []byte("ignored"), skip
			})
			require.NoError(t, err)
			require.EqualValues(t, 1, g.Version)
			require.Equal(t, before.Generation, g.Generation)
			before.Generation++
			equal(t, before, read(t, s, "k"))
		}
		require.Zero(t, s.Stats().Commits)
		// Also where the context had ended before.
		_, err := worker(s, "w").Do(bg, "k", func(_ context.Context, g fenced.Grant) ([]byte, error) {
			reclaim(t, s, g)
			return nil, fenced.ErrSkip
		})
		require.NoError(t, err)
	})
}

func TestErrorOfWorkReleasesTheGrant(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		broken := errors.New("vendor down")
		g, err := worker(s, "w").Do(bg, "k", func(context.Context, fenced.Grant) ([]byte, error) { return []byte("v"), broken })
		require.Equal(t, broken, err)
		equal(t, fenced.Grant{}, g)
		free(t, s, "k")
		require.False(t, read(t, s, "k").Exists())
		require.EqualValues(t, 1, s.Stats().Released)
	})
}

func TestPanicReleasesTheGrantAndTravelsOn(t *testing.T) {
	broken := errors.New("a bug")
	for name, do := range map[string]func(*testing.T, *fenced.Store){
		"work": func(t *testing.T, s *fenced.Store) {
			_, _ = worker(s, "w").Do(bg, "k", func(context.Context, fenced.Grant) ([]byte, error) { panic(broken) })
		},
		"work of Run": func(t *testing.T, s *fenced.Store) {
			_ = worker(s, "w").Run(bg, slices.Values([]string{"k"}), func(context.Context, fenced.Grant) ([]byte, error) { panic(broken) })
		},
		"Refused": func(t *testing.T, s *fenced.Store) {
			w := worker(s, "w")
			w.Refused = func(context.Context, fenced.Refusal) { panic(broken) }
			_, _ = w.Do(bg, "k", func(_ context.Context, g fenced.Grant) ([]byte, error) {
				commit(t, s, g, "behind its back")
				return nil, nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				require.PanicsWithValue(t, broken, func() { do(t, s) })
				free(t, s, "k")
				require.EqualValues(t, 1, s.Stats().Released)
				before := s.Stats()
				time.Sleep(10 * lease)
				equal(t, before, s.Stats()) // the renewer has stopped
			})
		})
		t.Run(name+"/Goexit", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				w := worker(s, "w")
				w.Refused = func(context.Context, fenced.Refusal) { runtime.Goexit() }
				work := func(_ context.Context, g fenced.Grant) ([]byte, error) {
					if name != "Refused" {
						runtime.Goexit()
					}
					commit(t, s, g, "behind its back")
					return nil, nil
				}
				returned := atomic.NewBool(false)
				done := make(chan struct{})
				go func() {
					defer close(done)
					if name == "work of Run" {
						_ = w.Run(bg, slices.Values([]string{"k"}), work)
					} else {
						_, _ = w.Do(bg, "k", work)
					}
					returned.Store(true)
				}()
				<-done
				require.False(t, returned.Load())
				free(t, s, "k")
				require.EqualValues(t, 1, s.Stats().Released)
				before := s.Stats()
				time.Sleep(10 * lease)
				equal(t, before, s.Stats())
			})
		})
	}
}

// Commit and release happen also when the caller's context has ended.
func TestDoParts(t *testing.T) {
	t.Run("commits and releases", func(t *testing.T) {
		for _, b := range []func(*fenced.Store) fenced.Backend{
			func(s *fenced.Store) fenced.Backend { return s },
			func(s *fenced.Store) fenced.Backend { return plain{Backend: s} },
		} {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				ctx, cancel := context.WithCancel(bg)
				_, err := worker(b(s), "w").Do(ctx, "k", func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
					cancel()
					require.ErrorIs(t, ctx.Err(), context.Canceled)
					return []byte("finished"), nil
				})
				require.NoError(t, err)
				require.Equal(t, "finished", string(read(t, s, "k").Value))
				free(t, s, "k")
			})
		}
	})
	t.Run("releases after an error", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			ctx, cancel := context.WithTimeout(bg, time.Second)
			defer cancel()
			_, err := worker(s, "w").Do(ctx, "k", func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			free(t, s, "k")
		})
	})
	t.Run("within a lease's time", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			hangs := func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}
			b := plain{Backend: s}
			b.commit = func(ctx context.Context, _ fenced.Grant, _ []byte) (fenced.Grant, error) {
				return fenced.Grant{}, hangs(ctx)
			}
			b.release = func(ctx context.Context, _ fenced.Grant) error { return hangs(ctx) }
			start := time.Now()
			_, err := worker(b, "w").Do(bg, "k", writes("v"))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.LessOrEqual(t, time.Since(start), 2*lease)
		})
	})
	t.Run("an error of the release alone is not reported", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			b := plain{Backend: s, release: func(context.Context, fenced.Grant) error { return errors.New("no route to host") }}
			g, err := worker(b, "w").Do(bg, "k", writes("v"))
			require.NoError(t, err)
			require.EqualValues(t, 1, g.Version)
		})
	})
}

// The renewer has stopped before Do returns, also where its last call hangs.
func TestDoAwaitsItsRenewer(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		var renewing atomic.Bool
		b := plain{Backend: s}
		b.renew = func(ctx context.Context, g fenced.Grant, _ time.Duration) (fenced.Grant, error) {
			renewing.Store(true)
			<-ctx.Done() // the call ends with the work
			time.Sleep(time.Second)
			renewing.Store(false)
			return g, ctx.Err()
		}
		_, err := worker(b, "w").Do(bg, "k", works(lease/2, "v"))
		require.NoError(t, err)
		require.False(t, renewing.Load())
	})
}

// A panic of the renewer, such as one of OnEvent, ends the work, releases the
// grant and travels on to the caller of Do.
func TestPanicOfTheRenewerTravelsOn(t *testing.T) {
	broken := errors.New("a bug in the observer")
	bubbleWith(t, fenced.Options{OnEvent: func(e fenced.Event) {
		if e.Kind == fenced.EventRenew {
			panic(broken)
		}
	}}, func(t *testing.T, s *fenced.Store) {
		start := time.Now()
		require.PanicsWithValue(t, broken, func() {
			_, _ = worker(s, "w").Do(bg, "k", func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
		})
		require.Less(t, time.Since(start), lease, "the work ended at once")
		free(t, s, "k")
	})
}

// The lease of a claim that waited runs from the grant, and so does the time
// that its work has.
func TestDoWaitedClaimHasItsWholeLease(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		_, err := s.TryAcquire(bg, "k", "A", 5*lease)
		require.NoError(t, err)
		w := worker(s, "w")
		w.MaxHold = time.Nanosecond // renews nothing
		_, err = w.Do(bg, "k", func(ctx context.Context, g fenced.Grant) ([]byte, error) {
			require.NoError(t, ctx.Err())
			start := time.Now()
			require.True(t, start.Add(lease).Equal(g.Expires))
			<-ctx.Done()
			require.Equal(t, lease, time.Since(start))
			return nil, fenced.ErrSkip
		})
		require.NoError(t, err)
	})
}

func TestDoBadInput(t *testing.T) {
	finished, cancel := context.WithCancel(bg)
	cancel()
	never := func(context.Context, fenced.Grant) ([]byte, error) { panic("called") }
	tests := []struct {
		name string
		ctx  context.Context //nolint:containedctx // a row of a table
		w    func(*fenced.Store) *fenced.Worker
		key  string
		work fenced.Work
		want error
		says string
	}{
		{"no worker", bg, func(*fenced.Store) *fenced.Worker { return nil }, "k", never, fenced.ErrInvalid, "backend"},
		{"no backend", bg, func(*fenced.Store) *fenced.Worker { return &fenced.Worker{Name: "w"} }, "k", never, fenced.ErrInvalid, "backend"},
		{"no name", bg, func(s *fenced.Store) *fenced.Worker { return &fenced.Worker{Backend: s} }, "k", never, fenced.ErrInvalid, "holder"},
		{"no work", bg, func(s *fenced.Store) *fenced.Worker { return worker(s, "w") }, "k", nil, fenced.ErrInvalid, "work"},
		{"no key", bg, func(s *fenced.Store) *fenced.Worker { return worker(s, "w") }, "", never, fenced.ErrInvalid, "key"},
		{"nil context", nil, func(s *fenced.Store) *fenced.Worker { return worker(s, "w") }, "k", never, fenced.ErrInvalid, "context"},
		{"negative lease", bg, func(s *fenced.Store) *fenced.Worker {
			return &fenced.Worker{Backend: s, Name: "w", Lease: -1}
		}, "k", never, fenced.ErrInvalid, "lease"},
		{"over-long lease", bg, func(s *fenced.Store) *fenced.Worker {
			return &fenced.Worker{Backend: s, Name: "w", Lease: fenced.MaxLease + 1}
		}, "k", never, fenced.ErrInvalid, "lease"},
		{"negative MaxHold", bg, func(s *fenced.Store) *fenced.Worker {
			return &fenced.Worker{Backend: s, Name: "w", MaxHold: -1}
		}, "k", never, fenced.ErrInvalid, "MaxHold"},
		{"finished context", finished, func(s *fenced.Store) *fenced.Worker { return worker(s, "w") }, "k", never, context.Canceled, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				unmoved(t, s, []string{"k"}, func() {
					_, err := test.w(s).Do(test.ctx, test.key, test.work)
					exactly(t, err, test.want)
					require.ErrorContains(t, err, test.says)
					err = test.w(s).Run(test.ctx, slices.Values([]string{test.key}), test.work)
					exactly(t, err, test.want)
				})
			})
		})
	}
	t.Run("no keys", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			exactly(t, worker(s, "w").Run(bg, nil, never), fenced.ErrInvalid)
		})
	})
	t.Run("the longest lease", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			w := &fenced.Worker{Backend: s, Name: "w", Lease: fenced.MaxLease}
			_, err := w.Do(bg, "k", works(time.Hour, "v"))
			require.NoError(t, err)
		})
	})
	t.Run("closed store", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			require.NoError(t, s.Close())
			_, err := worker(s, "w").Do(bg, "k", never)
			exactly(t, err, fenced.ErrClosed)
		})
	})
}

func TestDoOnAStoreThatCloses(t *testing.T) {
	for _, b := range []func(*fenced.Store) fenced.Backend{
		func(s *fenced.Store) fenced.Backend { return s },
		func(s *fenced.Store) fenced.Backend { return plain{Backend: s} },
	} {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			_, err := worker(b(s), "w").Do(bg, "k", func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
				require.NoError(t, s.Close())
				<-ctx.Done()
				exactly(t, context.Cause(ctx), fenced.ErrClosed)
				return nil, nil
			})
			exactly(t, err, fenced.ErrClosed)
		})
	}
}

// Run goes on after a held, failed or refused key, and returns those errors
// joined, each with its key.
func TestRunGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		claim(t, s, "held", "A")
		broken := errors.New("vendor down")
		var refused []string
		w := worker(plain{Backend: s}, "w")
		w.Refused = func(_ context.Context, r fenced.Refusal) { refused = append(refused, r.Grant.Key) }
		err := w.Run(bg, slices.Values([]string{"one", "held", "failed", "", "refused", "skipped", "two"}),
			func(_ context.Context, g fenced.Grant) ([]byte, error) {
				switch g.Key {
				case "failed":
					return nil, broken
				case "refused":
					reclaim(t, s, g)
				case "skipped":
					return nil, fenced.ErrSkip
				}
				return []byte("done"), nil
			})
		exactly(t, err, fenced.ErrGrantHeld, fenced.ErrStaleReadGeneration, fenced.ErrInvalid)
		require.ErrorIs(t, err, broken)
		for _, part := range []string{`"held": `, `"failed": vendor down`, `"": `, `"refused": `} {
			require.ErrorContains(t, err, part)
		}
		for _, part := range []string{"one", "two", "skipped"} {
			require.NotContains(t, err.Error(), part)
		}
		require.Equal(t, []string{"refused"}, refused)
		require.Equal(t, "done", string(read(t, s, "one").Value))
		require.Equal(t, "done", string(read(t, s, "two").Value))
		require.EqualValues(t, 1, s.Stats().Live, "only what A holds")
	})
}

func TestRunWithoutErrors(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		require.NoError(t, worker(s, "w").Run(bg, slices.Values([]string{"a", "b", "a"}), writes("v")))
		require.EqualValues(t, 2, read(t, s, "a").Version)
		require.NoError(t, worker(s, "w").Run(bg, slices.Values([]string{}), writes("v")))
	})
}

func TestRunStopsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		ctx, cancel := context.WithCancel(bg)
		keys := func(yield func(string) bool) {
			for i := 0; i < 100 && yield(fmt.Sprint(i)); i++ {
				if i == 2 {
					cancel()
				}
			}
		}
		exactly(t, worker(s, "w").Run(ctx, keys, writes("v")), context.Canceled)
		require.EqualValues(t, 3, s.Stats().Commits)
		require.Zero(t, s.Stats().Live)
	})
}

func TestRunStopsWithItsStore(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		n := 0
		keys := func(yield func(string) bool) {
			for n < 100 && yield("k") {
				n++
				require.NoError(t, s.Close())
			}
		}
		exactly(t, worker(s, "w").Run(bg, keys, writes("v")), fenced.ErrClosed)
		require.Equal(t, 1, n)
	})
}

// A Worker keeps no state: one serves several goroutines.
func TestWorkerIsShared(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		w := worker(s, "w")
		done := make(chan error)
		for range 10 {
			go func() {
				done <- w.Run(bg, slices.Values([]string{"a", "b"}), func(_ context.Context, g fenced.Grant) ([]byte, error) {
					time.Sleep(time.Second)
					return append(g.Value, 'x'), nil
				})
			}()
		}
		for range 10 {
			require.NoError(t, <-done)
		}
		require.Equal(t, "xxxxxxxxxx", string(read(t, s, "a").Value))
		require.Equal(t, "xxxxxxxxxx", string(read(t, s, "b").Value))
	})
}

// slowToClaim answers a claim long after the lease has begun.
type slowToClaim struct {
	fenced.Backend
	by time.Duration
}

func (b slowToClaim) TryAcquire(ctx context.Context, key, holder string, lease time.Duration) (fenced.Grant, error) {
	g, err := b.Backend.TryAcquire(ctx, key, holder, lease)
	time.Sleep(b.by)
	return g, err
}

// The first renewal too is due a third of the lease after the lease began, and
// not after the reply came.
func TestDoRenewsInTimeAfterASlowClaim(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		w := fenced.Worker{Backend: slowToClaim{s, lease * 8 / 10}, Name: "A", Lease: lease}
		_, err := w.Do(bg, "k", func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
			time.Sleep(2 * lease)
			return nil, ctx.Err()
		})
		require.NoError(t, err)
	})
}

// hangsOnce lets the first renewal hang until its context ends.
type hangsOnce struct {
	fenced.Backend
	renewals *int
}

func (b hangsOnce) Renew(ctx context.Context, g fenced.Grant, lease time.Duration) (fenced.Grant, error) {
	if *b.renewals++; *b.renewals == 1 {
		<-ctx.Done()
		return fenced.Grant{}, ctx.Err()
	}
	return b.Backend.Renew(ctx, g, lease)
}

// A renewal that hangs is given up while there is time for another.
func TestDoOutlivesAHungRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		renewals := 0
		w := fenced.Worker{Backend: hangsOnce{s, &renewals}, Name: "A", Lease: lease}
		_, err := w.Do(bg, "k", func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
			time.Sleep(3 * lease)
			return nil, ctx.Err()
		})
		require.NoError(t, err)
		require.Greater(t, renewals, 1)
	})
}

// No key that Run has taken from a queue goes unmentioned.
func TestRunMentionsTheKeyAtWhichItsContextEnded(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		ctx, cancel := context.WithCancel(bg)
		w := fenced.Worker{Backend: s, Name: "A"}
		keys := func(yield func(string) bool) {
			cancel()
			_ = yield("k") && yield("never")
		}
		err := w.Run(ctx, keys, func(context.Context, fenced.Grant) ([]byte, error) { return nil, nil })
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, `"k"`)
		require.NotContains(t, err.Error(), "never")
	})
}

// Another store that work found closed does not stop Run.
func TestRunGoesOnWhereAnotherStoreIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		other := fenced.NewStore(fenced.Options{})
		require.NoError(t, other.Close())
		runs := 0
		w := fenced.Worker{Backend: s, Name: "A"}
		err := w.Run(bg, slices.Values([]string{"a", "b"}), func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
			runs++
			_, err := other.Read(ctx, "x")
			return nil, err
		})
		require.ErrorIs(t, err, fenced.ErrClosed)
		require.Equal(t, 2, runs)
	})
}

// The longest lease there is can be held for ten of them, or as long as time is
// counted.
func TestDoWithTheLongestLease(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		w := fenced.Worker{Backend: s, Name: "A", Lease: fenced.MaxLease}
		_, err := w.Do(bg, "k", func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
			time.Sleep(fenced.MaxLease / 2)
			return nil, ctx.Err()
		})
		require.NoError(t, err)
		require.EqualValues(t, 1, s.Stats().Renewals)
	})
}

// That its context has ended Run says also where all work was done by then.
func TestRunTellsTheEndOfItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		ctx, cancel := context.WithCancel(bg)
		w := fenced.Worker{Backend: s, Name: "A"}
		err := w.Run(ctx, slices.Values([]string{"k"}), func(context.Context, fenced.Grant) ([]byte, error) {
			cancel()
			return []byte("done"), nil
		})
		require.ErrorIs(t, err, context.Canceled)
		require.NotContains(t, err.Error(), `"k"`)
		require.Equal(t, "done", string(read(t, s, "k").Value))
	})
}
