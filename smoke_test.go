package fenced_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := fenced.NewStore(fenced.Options{})
		a, err := s.TryAcquire(ctx, "k", "A", time.Minute)
		require.NoError(t, err)
		a2, err := s.Commit(ctx, a, []byte("one"))
		require.NoError(t, err)
		_, err = s.Commit(ctx, a, []byte("two"))
		require.ErrorIs(t, err, fenced.ErrVersionConflict)
		t.Log(err)
		_, err = s.Reclaim(ctx, "k", a.Generation)
		require.NoError(t, err)
		_, err = s.Commit(ctx, a2, nil)
		require.ErrorIs(t, err, fenced.ErrStaleReadGeneration)
		t.Log(err)
		p, err := fenced.ParseToken(a2.Token())
		require.NoError(t, err)
		t.Log(a2.Token())
		_, err = s.Commit(ctx, p, nil)
		require.ErrorIs(t, err, fenced.ErrStaleReadGeneration)
		c, cancel := s.Context(ctx, p)
		defer cancel()
		t.Log(context.Cause(c))
		b, err := s.Acquire(ctx, "k", "C", time.Millisecond)
		require.NoError(t, err)
		c, cancel = s.Context(ctx, b)
		defer cancel()
		done := make(chan struct{})
		go func() {
			b, _ := s.Acquire(ctx, "k", "B", time.Millisecond)
			t.Log(b.Generation)
			close(done)
		}()
		<-done
		t.Log(context.Cause(c))
		b, err = s.Acquire(ctx, "k", "D", time.Millisecond)
		require.NoError(t, err)
		w := fenced.Worker{Backend: s, Name: "w", Lease: 3 * time.Second}
		_, err = w.Do(ctx, "k", func(ctx context.Context, g fenced.Grant) ([]byte, error) {
			time.Sleep(20 * time.Second)
			return []byte("x"), ctx.Err()
		})
		require.NoError(t, err)
		_, err = w.Do(ctx, "k", func(ctx context.Context, g fenced.Grant) ([]byte, error) {
			time.Sleep(60 * time.Second)
			return []byte("x"), ctx.Err()
		})
		t.Log(err)
		t.Logf("%+v", s.Stats())
	})
}
