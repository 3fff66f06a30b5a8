package fenced_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

func TestContextEndsWithTheGrant(t *testing.T) {
	for _, ending := range endings {
		t.Run(ending.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				a := commit(t, s, claim(t, s, "k", "A"), "v")
				ctx, cancel := s.Context(bg, a)
				defer cancel()
				second, cancelSecond := s.Context(bg, a)
				defer cancelSecond()
				require.NoError(t, ctx.Err())
				ending.do(t, s, a)
				// At once: nothing has run in between but the ending.
				require.ErrorIs(t, ctx.Err(), context.Canceled)
				require.ErrorIs(t, second.Err(), context.Canceled)
				cause := context.Cause(ctx)
				exactly(t, cause, fenced.ErrStaleReadGeneration)
				c := conflict(t, cause)
				require.Equal(t, ending.how, c.Ended)
				require.False(t, c.EndedAt.IsZero())
				require.Equal(t, "k", c.Key)
				require.Equal(t, a.Generation, c.Presented.Generation)
				require.Equal(t, "A", c.Presented.Holder)
				require.Equal(t, a.Generation+1, c.Current.Generation)
			})
		})
	}
}

func TestContextSaysWhichCallEndedIt(t *testing.T) {
	want := map[fenced.Ending]string{fenced.Released: "release", fenced.Reclaimed: "reclaim", fenced.TakenOver: "acquire"}
	for _, ending := range endings {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			ctx, cancel := s.Context(bg, a)
			defer cancel()
			ending.do(t, s, a)
			require.Equal(t, want[ending.how], conflict(t, context.Cause(ctx)).Op, ending.name)
		})
	}
}

func TestContextEndsWithNothingElse(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "k", "A")
		ctx, cancel := s.Context(bg, a)
		defer cancel()
		a = commit(t, s, a, "v")
		a, err := s.Renew(bg, a, lease)
		require.NoError(t, err)
		time.Sleep(3 * lease) // a lapsed grant may still commit
		require.NoError(t, ctx.Err())
		_, err = s.Commit(bg, fenced.Grant{}, nil)
		require.Error(t, err)
		_, err = s.Reclaim(bg, "k", a.Generation+1)
		require.Error(t, err)
		other := claim(t, s, "other", "B")
		release(t, s, other)
		require.NoError(t, ctx.Err())
		_, hasDeadline := ctx.Deadline()
		require.False(t, hasDeadline)
	})
}

func TestContextIsACopyOfItsParent(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		type key struct{}
		a := claim(t, s, "k", "A")
		parent, end := context.WithCancelCause(context.WithValue(bg, key{}, "value"))
		ctx, cancel := s.Context(parent, a)
		defer cancel()
		require.Equal(t, "value", ctx.Value(key{}))
		end(fenced.ErrSkip)
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.Equal(t, fenced.ErrSkip, context.Cause(ctx))
		commit(t, s, a, "v") // the grant has not ended with it
		release(t, s, a)
		require.Equal(t, fenced.ErrSkip, context.Cause(ctx))
	})
}

func TestContextOfAGrantThatIsNotCurrent(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		ended := claim(t, s, "k", "A")
		reclaim(t, s, ended)
		b := claim(t, s, "k", "B")
		b.Generation++
		for _, test := range []struct {
			grant fenced.Grant
			want  error
		}{
			{ended, fenced.ErrStaleReadGeneration},
			{b, fenced.ErrForeignGrant},
			{claim(t, fenced.NewStore(fenced.Options{}), "k", "A"), fenced.ErrForeignGrant},
			{fenced.Grant{}, fenced.ErrInvalid},
		} {
			unmoved(t, s, []string{"k"}, func() {
				ctx, cancel := s.Context(bg, test.grant)
				require.ErrorIs(t, ctx.Err(), context.Canceled)
				exactly(t, context.Cause(ctx), test.want)
				cancel()
			})
		}
		ctx, cancel := s.Context(bg, ended)
		defer cancel()
		require.Equal(t, fenced.Reclaimed, conflict(t, context.Cause(ctx)).Ended)
	})
}

func TestContextOfAClosedStore(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "k", "A")
		require.NoError(t, s.Close())
		ctx, cancel := s.Context(bg, a)
		defer cancel()
		exactly(t, context.Cause(ctx), fenced.ErrClosed)
	})
}

func TestContextOfAFinishedContext(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		parent, end := context.WithCancel(bg)
		end()
		ctx, cancel := s.Context(parent, claim(t, s, "k", "A"))
		defer cancel()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.Equal(t, context.Canceled, context.Cause(ctx))
	})
}

func TestContextWithoutParent(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "k", "A")
		ctx, cancel := s.Context(nil, a) //nolint:staticcheck // what is tested
		defer cancel()
		require.Error(t, ctx.Err())
		exactly(t, context.Cause(ctx), fenced.ErrInvalid)
	})
}

// A context that was cancelled is forgotten, wherever it stood among others,
// and may be cancelled again.
func TestContextCancelled(t *testing.T) {
	for gone := range 3 {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			var ctxs [3]context.Context
			var cancels [3]context.CancelFunc
			for i := range ctxs {
				ctxs[i], cancels[i] = s.Context(bg, a)
				defer cancels[i]()
			}
			cancels[gone]()
			cancels[gone]()
			require.Equal(t, context.Canceled, context.Cause(ctxs[gone]))
			require.Equal(t, 2, fenced.Watching(s, "k"))
			release(t, s, a)
			for i, ctx := range ctxs {
				if i != gone {
					exactly(t, context.Cause(ctx), fenced.ErrStaleReadGeneration)
				}
			}
			require.Equal(t, context.Canceled, context.Cause(ctxs[gone]))
			// Nor does a late cancel touch the contexts of the next grant.
			next, cancel := s.Context(bg, claim(t, s, "k", "B"))
			defer cancel()
			for _, cancel := range cancels {
				cancel()
			}
			require.NoError(t, next.Err())
			require.Equal(t, 1, fenced.Watching(s, "k"))
		})
	}
}

// The context does not end with an earlier or later grant of the record.
func TestContextBelongsToOneGrant(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "k", "A")
		waits := acquire(bg, s, "k", "B", lease)
		first, cancelFirst := s.Context(bg, a)
		defer cancelFirst()
		release(t, s, a)
		b := served(t, waits)
		second, cancelSecond := s.Context(bg, b)
		defer cancelSecond()
		require.Error(t, first.Err())
		require.NoError(t, second.Err())
		reclaim(t, s, b)
		require.Equal(t, fenced.Reclaimed, conflict(t, context.Cause(second)).Ended)
		require.Equal(t, fenced.Released, conflict(t, context.Cause(first)).Ended)
	})
}

// A slow call is cancelled rather than finished for nothing.
func TestContextCancelsASlowCall(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "k", "A")
		ctx, cancel := s.Context(bg, a)
		defer cancel()
		start := time.Now()
		took := make(chan time.Duration, 1)
		go func() {
			select {
			case <-time.After(time.Hour):
			case <-ctx.Done():
			}
			took <- time.Since(start)
		}()
		synctest.Wait()
		waits := acquire(bg, s, "k", "B", lease)
		require.Equal(t, lease, <-took)
		served(t, waits)
	})
}
