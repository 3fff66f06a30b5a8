package fenced_test

// What went wrong elsewhere: public reports of people who run workers, leases
// and shared state, restated for this store.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// riverqueue/river#1302: the rescuer reads stuck jobs in one step and rewrites
// them by id in a second.
func TestScenarioRiver1302(t *testing.T) {
	for name, between := range map[string]func(*testing.T, *fenced.Store, fenced.Grant) *fenced.Grant{
		"the job was finished": func(t *testing.T, s *fenced.Store, a fenced.Grant) *fenced.Grant {
			release(t, s, commit(t, s, a, "done"))
			return nil
		},
		"the job went to another": func(t *testing.T, s *fenced.Store, a fenced.Grant) *fenced.Grant {
			release(t, s, a)
			b := claim(t, s, "R", "B")
			return &b
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				a := claim(t, s, "R", "A")
				claim(t, s, "S", "dead")
				time.Sleep(lease + time.Second)
				stuck := []fenced.Record{read(t, s, "R"), read(t, s, "S")}
				b := between(t, s, a)
				before := read(t, s, "R")
				_, err := s.Reclaim(bg, "R", stuck[0].Generation)
				exactly(t, err, fenced.ErrStaleReadGeneration)
				equal(t, before, read(t, s, "R"))
				_, err = s.Reclaim(bg, "S", stuck[1].Generation)
				require.NoError(t, err)
				free(t, s, "S")
				if b != nil {
					commit(t, s, *b, "by B")
				}
			})
		})
	}
}

// etcd-io/etcd#6127: nothing tells the holder that it lost the lock.
func TestScenarioEtcd6127(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		var cause error
		_, err := worker(s, "A").Do(bg, "R", func(ctx context.Context, g fenced.Grant) ([]byte, error) {
			reclaim(t, s, g)
			claim(t, s, "R", "B")
			cause = context.Cause(ctx) // at once
			return []byte("never looked"), nil
		})
		require.Equal(t, fenced.Reclaimed, conflict(t, cause).Ended)
		exactly(t, err, fenced.ErrStaleReadGeneration)
		require.Equal(t, "B", read(t, s, "R").Holder)
	})
}

// etcd-io/etcd#19597: a waiter goes on waiting after it is dead.
func TestScenarioEtcd19597(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "R", "A")
		ctx, cancel := context.WithCancel(bg)
		b, c := acquire(ctx, s, "R", "B", lease), acquire(bg, s, "R", "C", lease)
		cancel()
		failed(t, b, context.Canceled)
		release(t, s, a)
		require.Equal(t, "C", served(t, c).Holder)
		require.EqualValues(t, 2, s.Stats().Grants, "B never held")
	})
}

// etcd-io/etcd#10811: the holder is cut off from the authority but not from the
// data.
func TestScenarioEtcd10811(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "R", "A") // and its clock stands still: it asks no clock
		time.Sleep(lease + time.Second)
		commit(t, s, claim(t, s, "R", "B"), "by B")
		a.Version = read(t, s, "R").Version
		unmoved(t, s, []string{"R"}, func() {
			_, err := s.Commit(bg, a, []byte("by A"))
			exactly(t, err, fenced.ErrStaleReadGeneration)
		})
	})
}

// majiayu000/harness#1878: finished work is dropped because the lease has run
// out.
func TestScenarioHarness1878(t *testing.T) {
	unrenewed := func(s *fenced.Store) fenced.Backend {
		return plain{Backend: s, renew: func(context.Context, fenced.Grant, time.Duration) (fenced.Grant, error) {
			return fenced.Grant{}, errors.New("no route to host")
		}}
	}
	t.Run("nobody has reclaimed: it lands", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			_, err := worker(unrenewed(s), "A").Do(bg, "R", works(lease+2*time.Second, "finished"))
			require.NoError(t, err)
			require.Equal(t, "finished", string(read(t, s, "R").Value))
			require.EqualValues(t, 1, s.Stats().Overruns)
		})
	})
	t.Run("B has claimed: it is kept for judgement", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			w := worker(unrenewed(s), "A")
			var kept []fenced.Refusal
			w.Refused = func(_ context.Context, r fenced.Refusal) { kept = append(kept, r) }
			b := make(chan fenced.Grant, 1)
			time.AfterFunc(lease+time.Second, func() {
				g, _ := s.TryAcquire(bg, "R", "B", lease)
				b <- g
			})
			_, err := w.Do(bg, "R", works(lease+2*time.Second, "finished"))
			exactly(t, err, fenced.ErrStaleReadGeneration)
			require.Len(t, kept, 1)
			require.Equal(t, "R", kept[0].Grant.Key)
			require.EqualValues(t, 1, kept[0].Grant.Generation)
			require.EqualValues(t, 0, kept[0].Grant.Version)
			require.Equal(t, "finished", string(kept[0].Value))
			require.Equal(t, fenced.TakenOver, conflict(t, kept[0].Err).Ended)
			require.True(t, time.Now().Equal(kept[0].At))
			require.Zero(t, s.Stats().Overruns)
			commit(t, s, <-b, "by B")
		})
	})
}

// linagora/cozy-stack#4911: the result of a renewal is ignored; one transient
// error stops renewing for good.
func TestScenarioCozyStack4911(t *testing.T) {
	t.Run("a refused renewal", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			b := plain{Backend: s} // cannot watch: only a renewal tells
			stalled := false
			b.renew = func(ctx context.Context, g fenced.Grant, d time.Duration) (fenced.Grant, error) {
				if !stalled { // the renewer stands still past the lease
					stalled = true
					reclaim(t, s, g)
					claim(t, s, g.Key, "B")
				}
				return s.Renew(ctx, g, d)
			}
			var expires time.Time
			_, err := worker(b, "A").Do(bg, "R", func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
				<-ctx.Done()
				exactly(t, context.Cause(ctx), fenced.ErrStaleReadGeneration)
				expires = read(t, s, "R").Expires
				return nil, ctx.Err()
			})
			exactly(t, err, context.Canceled, fenced.ErrStaleReadGeneration)
			r := read(t, s, "R")
			require.Equal(t, "B", r.Holder)
			require.True(t, expires.Equal(r.Expires))
		})
	})
	t.Run("a transient error", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			n := 0
			b := plain{Backend: s, renew: func(ctx context.Context, g fenced.Grant, d time.Duration) (fenced.Grant, error) {
				if n++; n == 1 {
					return fenced.Grant{}, errors.New("connection reset by peer")
				}
				return s.Renew(ctx, g, d)
			}}
			_, err := worker(b, "A").Do(bg, "R", works(3*lease, "v"))
			require.NoError(t, err)
			require.Equal(t, "v", string(read(t, s, "R").Value))
			require.Zero(t, s.Stats().Overruns)
		})
	})
}

// langchain-ai/langgraph#8796: a saver passes every conformance clause, and two
// processes still both write.
func TestScenarioLangGraph8796(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for version := range fenced.Version(5) {
			swap(t, s, "R", version, "v")
		}
		a := claim(t, s, "R", "A")
		require.EqualValues(t, 5, a.Version)
		time.Sleep(lease)
		b := commit(t, s, claim(t, s, "R", "B"), "by B")
		unmoved(t, s, []string{"R"}, func() {
			_, err := s.Commit(bg, a, []byte("by A"))
			exactly(t, err, fenced.ErrVersionConflict, fenced.ErrStaleReadGeneration)
			a.Version = read(t, s, "R").Version
			require.EqualValues(t, 6, a.Version)
			_, err = s.Commit(bg, a, []byte("by A"))
			exactly(t, err, fenced.ErrStaleReadGeneration)
		})
		require.EqualValues(t, 6, b.Version)
		require.Equal(t, "by B", string(read(t, s, "R").Value))
		require.EqualValues(t, 1, s.Stats().Commits)
	})
}

// bsm/redislock#93: the token exists, nobody checks it; 0 means "not asked for".
func TestScenarioRedislock93(t *testing.T) {
	for row := range 4 {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			swap(t, s, "R", 0, "v")
			twin := fenced.NewStore(fenced.Options{})
			swap(t, twin, "R", 0, "v")
			test := []struct {
				grant fenced.Grant
				want  error
			}{
				{fenced.Grant{}, fenced.ErrInvalid},
				{fenced.Grant{Record: fenced.Record{Key: "R"}}, fenced.ErrInvalid},
				{fenced.Grant{Record: read(t, s, "R")}, fenced.ErrForeignGrant},
				{claim(t, twin, "R", "A"), fenced.ErrForeignGrant},
			}[row]
			refused := func() {
				t.Helper()
				unmoved(t, s, []string{"R"}, func() {
					for _, call := range fenceCalls {
						exactly(t, call.do(s, test.grant), test.want)
					}
				})
			}
			refused()
			a := claim(t, s, "R", "A") // now the numbers are those of a current grant
			refused()
			release(t, s, a)
			refused()
		})
	}
}

// rapina-rs/rapina#793: an expired lease is never picked up again.
func TestScenarioRapina793(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "R", "A")
		time.Sleep(lease + time.Second)
		b := claim(t, s, "R", "B")
		require.EqualValues(t, 2, b.Generation)
		unmoved(t, s, []string{"R"}, func() {
			for _, call := range fenceCalls {
				exactly(t, call.do(s, a), fenced.ErrStaleReadGeneration)
			}
		})
	})
}

// riverqueue/river#682: a healthy long job and a dead one look alike.
func TestScenarioRiver682(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		start := time.Now()
		var at sync.Map // key to time.Duration
		stop := supervise(t, &fenced.Supervisor{Backend: s, Every: time.Second, Reclaimed: func(g fenced.Grant) {
			at.Store(g.Key, time.Since(start))
		}})
		claim(t, s, "S", "D")
		w := worker(s, "A")
		w.MaxHold = 10 * lease
		done := make(chan error, 1)
		go func() {
			_, err := w.Do(bg, "R", works(1000*lease, "too late"))
			done <- err
		}()
		time.Sleep(6 * lease)
		synctest.Wait()
		require.Equal(t, "A", read(t, s, "R").Holder)
		require.True(t, read(t, s, "R").Expires.After(time.Now()))
		_, reclaimed := at.Load("S")
		require.True(t, reclaimed)
		time.Sleep(6 * lease)
		synctest.Wait()
		free(t, s, "R")
		when, _ := at.Load("R")
		require.Greater(t, when, 9*lease)
		require.LessOrEqual(t, when, 11*lease+time.Second)
		exactly(t, <-done, fenced.ErrStaleReadGeneration)
		exactly(t, stop(), context.Canceled)
	})
}

// aegra/aegra#547, xorbitsai/xagent#1230: the restarted worker has the name of
// the hung one.
func TestScenarioAegra547(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		hung := claim(t, s, "R", "w1")
		time.Sleep(lease + time.Second)
		restarted := claim(t, s, "R", "w1")
		require.EqualValues(t, 2, restarted.Generation)
		unmoved(t, s, []string{"R"}, func() {
			for _, call := range fenceCalls {
				exactly(t, call.do(s, hung), fenced.ErrStaleReadGeneration)
			}
		})
		require.True(t, restarted.Expires.Equal(read(t, s, "R").Expires))
	})
}

// johanhaleby/occurrent#665: the counter lived in the lock row, and releasing
// removed it.
func TestScenarioOccurrent665(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for range 6 {
			release(t, s, claim(t, s, "R", "A"))
		}
		a := claim(t, s, "R", "A")
		require.EqualValues(t, 7, a.Generation)
		release(t, s, remove(t, s, a))
		churn(t, s, many) // R is collected with the rest
		require.Less(t, fenced.Kept(s), many/2)
		require.Greater(t, claim(t, s, "R", "B").Generation, fenced.Generation(7))
	})
}

// ohdearquant/khive#2662: delete and re-create come back at version 1.
func TestScenarioKhive2662(t *testing.T) {
	for name, n := range map[string]int{"deleted and made anew": 0, "collected in between": many} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				seen := swap(t, s, "R", 0, "v")
				require.EqualValues(t, 1, seen.Version)
				_, err := s.CompareAndDelete(bg, "R", 1)
				require.NoError(t, err)
				churn(t, s, n)
				swap(t, s, "R", 0, "anew")
				unmoved(t, s, []string{"R"}, func() {
					_, err = s.CompareAndSwap(bg, "R", seen.Version, []byte("by A"))
					exactly(t, err, fenced.ErrVersionConflict)
				})
			})
		})
	}
}

// a-Fig/Accordion#127: heartbeat by read-then-write puts the old owner back.
// There is no half of a renewal: however the two interleave, B stays.
func TestScenarioAccordion127(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	for range 500 {
		a := claim(t, s, "R", "A")
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				if _, err := s.Renew(bg, a, time.Hour); err != nil {
					if !errors.Is(err, fenced.ErrStaleReadGeneration) {
						t.Error(err)
					}
					return
				}
			}
		})
		reclaim(t, s, a)
		b := claim(t, s, "R", "B")
		wg.Wait()
		r := read(t, s, "R")
		require.Equal(t, "B", r.Holder)
		require.True(t, b.Expires.Equal(r.Expires))
		release(t, s, b)
	}
}

// ModernRelay/omnigraph#375: acknowledged after ownership was lost. The bytes
// are staged, B claims, the commit publishes.
func TestScenarioOmnigraph375(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		b := plain{Backend: s}
		b.commit = func(ctx context.Context, g fenced.Grant, value []byte) (fenced.Grant, error) {
			reclaim(t, s, g) // between the caller's last look and the publishing step
			claim(t, s, "R", "B")
			return s.Commit(ctx, g, value)
		}
		_, err := worker(b, "A").Do(bg, "R", writes("staged"))
		exactly(t, err, fenced.ErrStaleReadGeneration)
		require.False(t, read(t, s, "R").Exists())
	})
	// And however the two race: what was acknowledged was written by the
	// holder, before it lost the record.
	s := fenced.NewStore(fenced.Options{})
	for i := range 500 {
		a := claim(t, s, "R", "A")
		landed := make(chan error, 1)
		go func() {
			_, err := s.Commit(bg, a, fmt.Append(nil, i))
			landed <- err
		}()
		reclaim(t, s, a)
		b := claim(t, s, "R", "B")
		if err := <-landed; err == nil {
			require.Equal(t, a.Version+1, b.Version, "B was given what A had written")
			require.Equal(t, fmt.Sprint(i), string(b.Value))
		} else {
			exactly(t, err, fenced.ErrStaleReadGeneration)
			require.Equal(t, a.Version, b.Version)
		}
		release(t, s, commit(t, s, b, "by B"))
	}
}

// Cohexa-ai/agent-coherence#172: a refusal is lifted by somebody else's read.
func TestScenarioAgentCoherence172(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "R", "A")
		reclaim(t, s, a)
		_, err := s.Commit(bg, a, nil)
		exactly(t, err, fenced.ErrStaleReadGeneration)
		for range 3 {
			read(t, s, "R")
		}
		require.Empty(t, slices.Collect(s.All()))
		a.Version = read(t, s, "R").Version
		unmoved(t, s, []string{"R"}, func() {
			_, err = s.Commit(bg, a, nil)
			exactly(t, err, fenced.ErrStaleReadGeneration)
		})
	})
}

// Cohexa-ai/agent-coherence#166: two wins from one expected version.
func TestScenarioAgentCoherence166(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	swap(t, s, "R", 0, "v")
	errs := make(chan error, 40)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			_, err := s.CompareAndSwap(bg, "R", 1, fmt.Append(nil, i))
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	won := 0
	for err := range errs {
		if err == nil {
			won++
			continue
		}
		exactly(t, err, fenced.ErrVersionConflict)
	}
	require.Equal(t, 1, won)
	require.EqualValues(t, 2, read(t, s, "R").Version)
}

// nats-io/nats-server#4710: stale bytes with a fresh version.
func TestScenarioNATS4710(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	g := claim(t, s, "R", "A")
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				r, err := s.Read(bg, "R")
				if err != nil || r.Exists() && string(r.Value) != fmt.Sprintf("%064d", r.Version) {
					t.Errorf("%s at version %d, %v", r.Value, r.Version, err)
					return
				}
			}
		})
	}
	for range 3000 {
		g = commit(t, s, g, fmt.Sprintf("%064d", g.Version+1)) // in place
	}
	close(done)
	wg.Wait()
}

// PostHog/posthog#76169: a zombie's start-up takes the record from its rightful
// owner.
func TestScenarioPostHog76169(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		claim(t, s, "R", "A")
		time.Sleep(lease)
		b := claim(t, s, "R", "B")
		unmoved(t, s, []string{"R"}, func() {
			_, err := worker(plain{Backend: s}, "A").Do(bg, "R", writes("by A"))
			exactly(t, err, fenced.ErrGrantHeld)
		})
		commit(t, s, b, "by B")
	})
}

// hibiken/asynq#1144: held, but with no deadline, so never recovered.
func TestScenarioAsynq1144(t *testing.T) {
	j := new(journal)
	var s *fenced.Store
	look := func(e fenced.Event) {
		r, err := s.Read(bg, e.Key)
		if err == nil && (r.Holder == "") != r.Expires.IsZero() {
			j.add(e)
		}
	}
	bubbleWith(t, fenced.Options{OnEvent: look}, func(t *testing.T, opened *fenced.Store) {
		s = opened
		a := claim(t, s, "R", "A")
		b := acquire(bg, s, "R", "B", lease)
		release(t, s, commit(t, s, a, "v"))
		g := served(t, b)
		reclaim(t, s, g)
		claim(t, s, "R", "C")
		time.Sleep(lease)
		ended, err := s.ReclaimExpired(bg, 0)
		require.NoError(t, err)
		require.Len(t, ended, 1)
		require.Empty(t, j.take())
	})
}

// apache/curator#1121: the old session's lock is taken for the new one's.
func TestScenarioCurator1121(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		earlier := fenced.NewStore(fenced.Options{})
		message := commit(t, earlier, claim(t, earlier, "R", "A"), "v").Token()
		current := commit(t, s, claim(t, s, "R", "A"), "v")
		g, err := fenced.ParseToken(message)
		require.NoError(t, err)
		require.Equal(t, current.Version, g.Version)
		require.Equal(t, current.Generation, g.Generation)
		unmoved(t, s, []string{"R"}, func() {
			for _, call := range fenceCalls {
				exactly(t, call.do(s, g), fenced.ErrForeignGrant)
			}
		})
	})
}

// redisson/redisson#6510: 25 million fence counters nobody removes.
func TestScenarioRedisson6510(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		var seventh fenced.Grant
		for i := range many {
			g := commit(t, s, claim(t, s, fmt.Sprint("R", i), "A"), "v")
			g = remove(t, s, g)
			release(t, s, g)
			if i == 7 {
				seventh = g
			}
		}
		require.Less(t, fenced.Kept(s), many/2)
		_, err := s.Commit(bg, seventh, nil)
		require.ErrorIs(t, err, fenced.ErrStaleReadGeneration)
		require.Greater(t, claim(t, s, "R7", "A").Generation, seventh.Generation)
	})
}

// hashicorp/consul#18271: renewals hang and nobody notices for minutes.
func TestScenarioConsul18271(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		b := plain{Backend: s, renew: func(_ context.Context, g fenced.Grant, _ time.Duration) (fenced.Grant, error) {
			time.Sleep(time.Minute) // whatever its context says
			return g, errors.New("timeout")
		}}
		start := time.Now()
		_, err := worker(b, "A").Do(bg, "R", func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
			<-ctx.Done()
			require.LessOrEqual(t, time.Since(start), lease)
			return nil, context.Cause(ctx)
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// Azure/azure-functions-durable-extension#3375: a refused completion is
// acknowledged all the same.
func TestScenarioDurableFunctions3375(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		w := worker(s, "A")
		first := true
		work := func(_ context.Context, g fenced.Grant) ([]byte, error) {
			if first {
				first = false
				reclaim(t, s, g) // nobody claims it after that
			}
			return []byte("done"), nil
		}
		err := w.Run(bg, slices.Values([]string{"R"}), work)
		exactly(t, err, fenced.ErrStaleReadGeneration)
		require.False(t, read(t, s, "R").Exists())
		require.NoError(t, w.Run(bg, slices.Values([]string{"R"}), work))
		require.Equal(t, "done", string(read(t, s, "R").Value))
	})
}

// graphile/worker#169: work of 60 under a lease of 10, not renewed.
func TestScenarioGraphileWorker169(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		landed := make(chan string, 3)
		for _, name := range []string{"A", "B", "C"} {
			go func() {
				g, err := s.Acquire(bg, "R", name, lease)
				if err == nil {
					time.Sleep(6 * lease)
					_, err = s.Commit(bg, g, []byte(name))
				}
				if err == nil {
					landed <- name
				}
			}()
			synctest.Wait()
		}
		time.Sleep(20 * lease)
		synctest.Wait()
		close(landed)
		var got []string
		for name := range landed {
			got = append(got, name)
		}
		require.Empty(t, cmp.Diff([]string{"C"}, got), "the last one that holds")
		require.Equal(t, "C", string(read(t, s, "R").Value))
		require.EqualValues(t, 1, read(t, s, "R").Version)
	})
}
