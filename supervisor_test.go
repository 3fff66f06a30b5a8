package fenced_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
)

// supervise runs a supervisor until its test stops it.
func supervise(t *testing.T, s *fenced.Supervisor) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(bg)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-done
	}
}

func TestSupervisorReclaimsWhatHasLapsed(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := commit(t, s, claim(t, s, "dead", "A"), "v")
		b := claim(t, s, "alive", "B")
		start := time.Now()
		var reclaimed []fenced.Grant
		stop := supervise(t, &fenced.Supervisor{Backend: s, Every: time.Second, Reclaimed: func(g fenced.Grant) {
			require.Equal(t, lease, time.Since(start))
			free(t, s, g.Key)
			reclaimed = append(reclaimed, g)
		}})
		time.Sleep(lease / 2)
		_, err := s.Renew(bg, b, 10*lease)
		require.NoError(t, err)
		time.Sleep(lease)
		exactly(t, stop(), context.Canceled)
		equal(t, []fenced.Grant{a}, reclaimed) // as it was
		require.Equal(t, "B", read(t, s, "alive").Holder)
		require.EqualValues(t, 1, s.Stats().Reclaimed)
	})
}

func TestSupervisorSweepsAtOnceAndEvery(t *testing.T) {
	for every, want := range map[time.Duration]time.Duration{0: time.Second, time.Minute: time.Minute} {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			var at []time.Duration
			start := time.Now()
			b := sweeper{Backend: s, sweep: func(ctx context.Context, limit int) ([]fenced.Grant, error) {
				require.LessOrEqual(t, limit, 0, "everything")
				at = append(at, time.Since(start))
				return s.ReclaimExpired(ctx, limit)
			}}
			stop := supervise(t, &fenced.Supervisor{Backend: b, Every: every})
			time.Sleep(2*want + want/2)
			exactly(t, stop(), context.Canceled)
			require.Equal(t, []time.Duration{0, want, 2 * want}, at)
		})
	}
}

type sweeper struct {
	fenced.Backend
	sweep func(context.Context, int) ([]fenced.Grant, error)
}

func (b sweeper) ReclaimExpired(ctx context.Context, limit int) ([]fenced.Grant, error) {
	return b.sweep(ctx, limit)
}

func TestSupervisorGoesOnAfterAFailedSweep(t *testing.T) {
	broken := errors.New("no route to host")
	bubble(t, func(t *testing.T, s *fenced.Store) {
		claim(t, s, "k", "A")
		fails := atomic.NewBool(true)
		var told atomic.Int64
		b := sweeper{Backend: s, sweep: func(ctx context.Context, limit int) ([]fenced.Grant, error) {
			ended, err := s.ReclaimExpired(ctx, limit)
			if fails.Load() {
				err = broken
			}
			return ended, err
		}}
		stop := supervise(t, &fenced.Supervisor{Backend: b, Reclaimed: func(fenced.Grant) { told.Inc() }})
		time.Sleep(lease + time.Second/2)
		require.EqualValues(t, 1, told.Load(), "what came with an error was reclaimed all the same")
		fails.Store(false)
		time.Sleep(2 * time.Second)
		err := stop()
		exactly(t, err, context.Canceled)
		require.NotErrorIs(t, err, broken, "it was not the latest")

		fails.Store(true)
		stop = supervise(t, &fenced.Supervisor{Backend: b})
		err = stop()
		exactly(t, err, context.Canceled)
		require.ErrorIs(t, err, broken)
	})
}

func TestSupervisorEndsWithItsStore(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		ctx, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- (&fenced.Supervisor{Backend: s}).Run(ctx) }()
		time.Sleep(time.Minute)
		require.NoError(t, s.Close())
		exactly(t, <-done, fenced.ErrClosed)
	})
}

func TestSupervisorsBesideEachOther(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		n := 0
		var stops []func() error
		for range 3 {
			stops = append(stops, supervise(t, &fenced.Supervisor{Backend: s, Every: time.Second, Reclaimed: func(fenced.Grant) { n++ }}))
			time.Sleep(100 * time.Millisecond)
		}
		for _, key := range []string{"a", "b", "c"} {
			claim(t, s, key, "A")
		}
		time.Sleep(2 * lease)
		for _, stop := range stops {
			exactly(t, stop(), context.Canceled)
		}
		require.Equal(t, 3, n)
	})
}

func TestSupervisorBadInput(t *testing.T) {
	finished, cancel := context.WithCancel(bg)
	cancel()
	bubble(t, func(t *testing.T, s *fenced.Store) {
		claim(t, s, "k", "A")
		time.Sleep(lease)
		unmoved(t, s, []string{"k"}, func() {
			var none *fenced.Supervisor
			exactly(t, none.Run(bg), fenced.ErrInvalid)
			err := (&fenced.Supervisor{}).Run(bg)
			exactly(t, err, fenced.ErrInvalid)
			require.ErrorContains(t, err, "backend")
			err = (&fenced.Supervisor{Backend: s, Every: -1}).Run(bg)
			exactly(t, err, fenced.ErrInvalid)
			require.ErrorContains(t, err, "Every")
			exactly(t, (&fenced.Supervisor{Backend: s}).Run(nil), fenced.ErrInvalid) //nolint:staticcheck // what is tested
			exactly(t, (&fenced.Supervisor{Backend: s}).Run(finished), context.Canceled)
		})
	})
}

// A panic or Goexit in Reclaimed ends Run; what was reclaimed stays so.
func TestReclaimedPanics(t *testing.T) {
	for name, do := range map[string]func(){"panic": func() { panic("a bug") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				claim(t, s, "k", "A")
				time.Sleep(lease)
				done := make(chan any)
				go func() {
					defer func() { done <- recover() }()
					_ = (&fenced.Supervisor{Backend: s, Reclaimed: func(fenced.Grant) { do() }}).Run(bg)
					t.Error("returned")
				}()
				recovered := <-done
				require.Equal(t, name == "panic", recovered != nil)
				free(t, s, "k")
				claim(t, s, "k", "B")
			})
		})
	}
}
