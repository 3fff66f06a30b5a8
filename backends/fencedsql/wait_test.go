package fencedsql_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// acquire claims on a goroutine of its own.
func acquire(ctx context.Context, s *fencedsql.Store, holder string) <-chan fenced.Grant {
	got := make(chan fenced.Grant, 1)
	go func() {
		defer close(got)
		if g, err := s.Acquire(ctx, "k", holder, time.Hour); err == nil {
			got <- g
		}
	}()
	return got
}

// TestAcquireAcross waits in one Store for what another holds.
func TestAcquireAcross(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db, _ := d.open(t)
		here, there := d.storeIn(t, db, fencedsql.Options{Poll: 20 * time.Millisecond}), d.storeIn(t, db, fencedsql.Options{})
		g, err := there.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		got := acquire(t.Context(), here, "B")
		require.NoError(t, there.Release(t.Context(), g))
		b := <-got
		require.Equal(t, "B", b.Holder)
		require.Equal(t, fenced.Generation(2), b.Generation)
	})
}

// TestWake has a claimant look as often as it is woken, and not in its own time.
func TestWake(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		p, db := d.tapped(t)
		s := d.storeIn(t, db, fencedsql.Options{Poll: never})
		g, err := d.storeIn(t, db, fencedsql.Options{}).TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		got := acquire(ctx, s, "B")
		for range 40 { // by itself, the last look would come after years
			for before := p.sent.Load(); p.sent.Load() == before; {
				s.Wake("other")
				s.Wake(g.Key)
			}
		}
		for before := p.sent.Load(); p.sent.Load() == before; {
			s.Wake("")
		}
		cancel()
		_, ok := <-got
		require.False(t, ok)
	})
}

// TestNotify listens as a program that uses pgx does, and hears of reclaims
// alone.
func TestNotify(t *testing.T) {
	db, dsn := postgres.open(t)
	s := postgres.storeIn(t, db, fencedsql.Options{Poll: never, Notify: "fenced's"})
	there := postgres.storeIn(t, db, fencedsql.Options{Notify: "fenced's"})

	// A connection of its own, not of the pool and not through a transaction
	// pooler.
	listener, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer listener.Close(context.Background())
	_, err = listener.Exec(t.Context(), `LISTEN "fenced's"`)
	require.NoError(t, err)
	var heard []string
	listen := func() {
		n, err := listener.WaitForNotification(t.Context())
		require.NoError(t, err)
		heard = append(heard, n.Payload)
		s.Wake(n.Payload)
	}

	g, err := there.TryAcquire(t.Context(), "quiet", "A", time.Hour)
	require.NoError(t, err)
	_, err = there.Commit(t.Context(), g, nil)
	require.NoError(t, err)
	require.NoError(t, there.Release(t.Context(), g))

	g, err = there.TryAcquire(t.Context(), "k", "A", time.Hour)
	require.NoError(t, err)
	got := acquire(t.Context(), s, "B")
	_, err = there.Reclaim(t.Context(), "k", g.Generation)
	require.NoError(t, err)
	listen()
	require.Equal(t, "B", (<-got).Holder)

	_, err = there.Reclaim(t.Context(), "k", g.Generation) // refused
	require.ErrorIs(t, err, fenced.ErrStaleReadGeneration)
	for _, key := range []string{"swept", "also"} {
		_, err = there.TryAcquire(t.Context(), key, "A", time.Millisecond)
		require.NoError(t, err)
	}
	for swept := 0; swept < 2; {
		ended, err := there.ReclaimExpired(t.Context(), 0)
		require.NoError(t, err)
		swept += len(ended)
	}
	listen()
	listen()
	require.ElementsMatch(t, []string{"k", "swept", "also"}, heard)
}

// TestHandOver passes a record on among claimants of one Store, whose Poll none
// of them would live to see, while others leave.
func TestHandOver(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, _ := d.store(t, fencedsql.Options{Poll: never})
		const claimants, each = 6, 10
		errs := make(chan error)
		for i := range claimants {
			go func() {
				var err error
				for n := 0; n < each && err == nil; n++ {
					ctx, cancel := context.WithCancel(t.Context())
					if i == 0 {
						time.AfterFunc(time.Millisecond, cancel)
					}
					var g fenced.Grant
					if g, err = s.Acquire(ctx, "k", "w", time.Hour); err == nil {
						if g, err = s.Commit(t.Context(), g, []byte("mine")); err == nil {
							err = s.Release(t.Context(), g)
						}
					} else if i == 0 {
						err = nil
					}
					cancel()
				}
				errs <- err
			}()
		}
		for range claimants {
			require.NoError(t, <-errs)
		}
		r, err := s.Read(t.Context(), "k")
		require.NoError(t, err)
		require.Empty(t, r.Holder)
		require.Equal(t, uint64(r.Generation), uint64(r.Version)+1)
	})
}

// TestAcquireBehindGuard waits longer than a call may go without an answer, for a
// lapsed grant that a guard keeps, and is granted the record once.
func TestAcquireBehindGuard(t *testing.T) {
	r := newRace(t, postgres, fencedsql.Options{Timeout: time.Second})
	tx := r.begin(sql.LevelDefault)
	postgres.lapse(t, r.db)
	require.NoError(t, guarded(r, tx))
	got := make(chan error, 1)
	go func() {
		g, err := r.s.Acquire(r.Context(), invoice, "B", time.Hour)
		if err == nil {
			_, err = r.s.Commit(r.Context(), g, nil)
		}
		got <- err
	}()
	for range 2 { // tries of B, each of which is given up
		require.True(t, r.blocked(1, got))
		require.Eventually(t, func() bool { return r.waiting() == 0 }, 10*time.Second, time.Millisecond)
	}
	require.NoError(t, tx.Commit())
	require.NoError(t, <-got)
}

// TestAcquireAtTheEnd has the context of a claim end while the answer is on its
// way, which is waited for: a grant is not left to nobody.
func TestAcquireAtTheEnd(t *testing.T) {
	p, db := postgres.tapped(t)
	s := postgres.storeIn(t, db, fencedsql.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	p.after = func(query string) {
		if strings.Contains(query, "INSERT INTO fenced_records") {
			cancel() // with the answer on its way
		}
	}
	g, err := s.Acquire(ctx, "k", "A", time.Hour)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	require.NoError(t, err)
	_, err = s.Commit(t.Context(), g, nil)
	require.NoError(t, err)
}
