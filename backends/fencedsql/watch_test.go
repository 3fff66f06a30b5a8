package fencedsql_test

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// never is a Poll that no test waits for.
const never = time.Hour

// endedBy fails unless ctx ends because its grant did, in that way.
func endedBy(ctx context.Context, t *testing.T, how fenced.Ending) {
	t.Helper()
	<-ctx.Done()
	var refused *fenced.ConflictError
	require.ErrorAs(t, context.Cause(ctx), &refused)
	require.ErrorIs(t, refused, fenced.ErrStaleReadGeneration)
	require.Equal(t, how, refused.Ended)
	require.False(t, refused.EndedAt.IsZero())
}

// TestContext ends grants through the Store that watches, which tells their
// contexts at once, and through another, which it finds out by looking.
func TestContext(t *testing.T) {
	endings := map[fenced.Ending]func(t *testing.T, s *fencedsql.Store, g fenced.Grant){
		fenced.Released: func(t *testing.T, s *fencedsql.Store, g fenced.Grant) {
			require.NoError(t, s.Release(t.Context(), g))
		},
		fenced.Reclaimed: func(t *testing.T, s *fencedsql.Store, g fenced.Grant) {
			_, err := s.Reclaim(t.Context(), g.Key, g.Generation)
			require.NoError(t, err)
		},
	}
	onEach(t, func(t *testing.T, d database) {
		db, _ := d.open(t)
		ender := d.storeIn(t, db, fencedsql.Options{Poll: never})
		looking := d.storeIn(t, db, fencedsql.Options{Poll: 10 * time.Millisecond})
		for how, end := range endings {
			for name, s := range map[string]*fencedsql.Store{"here": ender, "there": looking} {
				t.Run(how.String()+" "+name, func(t *testing.T) {
					g, err := s.TryAcquire(t.Context(), t.Name(), "A", time.Hour)
					require.NoError(t, err)
					ctx, cancel := s.Context(t.Context(), g)
					defer cancel()
					beside, drop := s.Context(t.Context(), g)
					drop()
					<-beside.Done()
					require.NoError(t, ctx.Err())
					end(t, ender, g)
					endedBy(ctx, t, how)
					late, cancel := s.Context(t.Context(), g)
					defer cancel()
					require.Error(t, late.Err())
					endedBy(late, t, how)
				})
			}
		}
	})
}

// TestContextTakenOver asks for the context of a grant that was taken over. One
// asked for before ends with the lease already.
func TestContextTakenOver(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, _ := d.store(t, fencedsql.Options{})
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Millisecond)
		require.NoError(t, err)
		_, err = s.Acquire(t.Context(), "k", "B", time.Hour)
		require.NoError(t, err)
		ctx, cancel := s.Context(t.Context(), g)
		defer cancel()
		require.Error(t, ctx.Err())
		endedBy(ctx, t, fenced.TakenOver)
	})
}

// TestContextLease has a lease run out of which nobody hears: the context ends
// all the same, though the grant has not.
func TestContextLease(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		p, db := d.tapped(t)
		s := d.storeIn(t, db, fencedsql.Options{Poll: 10 * time.Millisecond})
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		ctx, cancel := s.Context(t.Context(), g)
		defer cancel()
		_, err = s.Renew(t.Context(), g, 100*time.Millisecond) // a shorter one counts
		require.NoError(t, err)
		p.lose.Store(requests)
		<-ctx.Done()
		p.lose.Store(nothing)
		require.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
		require.NoError(t, t.Context().Err())
		_, err = s.Commit(t.Context(), g, nil) // NoClock
		require.NoError(t, err)
	})
}

// TestContextRenewed lives on renewals, its own and those that another process
// makes, beyond its first lease.
func TestContextRenewed(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db, _ := d.open(t)
		s := d.storeIn(t, db, fencedsql.Options{Poll: 10 * time.Millisecond})
		other := d.storeIn(t, db, fencedsql.Options{})
		for _, renewer := range []*fencedsql.Store{s, other} {
			const lease = 2 * time.Second
			g, err := s.TryAcquire(t.Context(), "k", "A", lease)
			require.NoError(t, err)
			ctx, cancel := s.Context(t.Context(), g)
			defer cancel()
			_, err = renewer.Renew(t.Context(), g, time.Hour)
			require.NoError(t, err)
			lapse := time.NewTimer(lease + lease/10)
			select {
			case <-ctx.Done():
				t.Fatal(context.Cause(ctx))
			case <-lapse.C:
			}
			require.NoError(t, s.Release(t.Context(), g))
			endedBy(ctx, t, fenced.Released)
		}
	})
}

// TestContextToken watches a grant that another process was issued.
func TestContextToken(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db, _ := d.open(t)
		issuer := d.storeIn(t, db, fencedsql.Options{})
		s := d.storeIn(t, db, fencedsql.Options{Poll: 10 * time.Millisecond})
		g, err := issuer.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		parsed, err := fenced.ParseToken(g.Token())
		require.NoError(t, err)
		ctx, cancel := s.Context(t.Context(), parsed)
		defer cancel()
		require.NoError(t, ctx.Err())
		altered := parsed
		altered.Generation++
		bad, drop := s.Context(t.Context(), altered)
		defer drop()
		require.ErrorIs(t, context.Cause(bad), fenced.ErrForeignGrant)
		require.NoError(t, issuer.Release(t.Context(), g))
		endedBy(ctx, t, fenced.Released)
	})
}

// TestContextClosed ends with the Store, which waits for it; the grant does not.
func TestContextClosed(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db, _ := d.open(t)
		s := d.storeIn(t, db, fencedsql.Options{})
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		ctx, cancel := s.Context(t.Context(), g)
		defer cancel()
		require.NoError(t, s.Close())
		require.ErrorIs(t, context.Cause(ctx), fenced.ErrClosed)
		late, cancel := s.Context(t.Context(), g)
		defer cancel()
		require.ErrorIs(t, context.Cause(late), fenced.ErrClosed)
		require.NoError(t, d.storeIn(t, db, fencedsql.Options{}).Release(t.Context(), g))
	})
}

// heldBack has the nth answer to a query that has something in it wait for let. The
// channel is closed once that is there.
func (p *tap) heldBack(has string, nth int64, let <-chan struct{}) <-chan struct{} {
	answered := make(chan struct{})
	var seen atomic.Int64
	p.after = func(query string) {
		if strings.Contains(query, has) && seen.Add(1) == nth {
			close(answered)
			<-let
		}
	}
	return answered
}

const renews = `UPDATE fenced_records SET expires`

// TestContextStaleLook has the answer of a look come after that of a renewal which
// it knows nothing of.
func TestContextStaleLook(t *testing.T) {
	p, db := postgres.tapped(t)
	let := make(chan struct{})
	looked := p.heldBack(`SELECT false, key, NULL`, 2, let) // the first is Context's own
	s := postgres.storeIn(t, db, fencedsql.Options{Poll: never})
	const lease = 2 * time.Second
	g, err := postgres.storeIn(t, db, fencedsql.Options{}).TryAcquire(t.Context(), "k", "A", lease)
	require.NoError(t, err)
	ctx, cancel := s.Context(t.Context(), g)
	defer cancel()
	<-looked
	_, err = s.Renew(t.Context(), g, time.Hour)
	require.NoError(t, err)
	close(let)
	select {
	case <-ctx.Done():
		t.Fatal(context.Cause(ctx))
	case <-time.After(lease):
	}
}

// TestContextRenewedTwice has the answers of two renewals come in another order
// than they were made in.
func TestContextRenewedTwice(t *testing.T) {
	p, db := postgres.tapped(t)
	let := make(chan struct{})
	renewed := p.heldBack(renews, 1, let)
	s := postgres.storeIn(t, db, fencedsql.Options{Poll: never})
	g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
	require.NoError(t, err)
	ctx, cancel := s.Context(t.Context(), g)
	defer cancel()
	first := make(chan error, 1)
	go func() {
		_, err := s.Renew(t.Context(), g, time.Hour)
		first <- err
	}()
	<-renewed
	_, err = s.Renew(t.Context(), g, 400*time.Millisecond)
	require.NoError(t, err)
	close(let)
	require.NoError(t, <-first)
	select {
	case <-ctx.Done():
		require.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
	case <-time.After(30 * time.Second):
		t.Fatal("the shorter lease, which is the later one, has been forgotten")
	}
}

// TestContextRenewedAfterRelease has the answer of a renewal come after that of a
// release by the same Store: it revives nothing.
func TestContextRenewedAfterRelease(t *testing.T) {
	p, db := postgres.tapped(t)
	let := make(chan struct{})
	renewed := p.heldBack(renews, 1, let)
	s := postgres.storeIn(t, db, fencedsql.Options{Poll: never})
	g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
	require.NoError(t, err)
	late := make(chan error, 1)
	go func() {
		_, err := s.Renew(t.Context(), g, time.Hour)
		late <- err
	}()
	<-renewed
	require.NoError(t, s.Release(t.Context(), g))
	close(let)
	require.NoError(t, <-late)
	ctx, cancel := s.Context(t.Context(), g)
	defer cancel()
	require.Error(t, ctx.Err())
	endedBy(ctx, t, fenced.Released)
}

// TestCloseDuringLook closes the Store while a look is stuck.
func TestCloseDuringLook(t *testing.T) {
	r := newRace(t, postgres, fencedsql.Options{Poll: time.Millisecond, Timeout: time.Hour})
	ctx, cancel := r.s.Context(t.Context(), r.a)
	defer cancel()
	tx := r.begin(sql.LevelDefault)
	_, err := tx.ExecContext(t.Context(), `LOCK TABLE fenced_records`)
	require.NoError(t, err)
	require.True(t, r.blocked(1, nil))
	closed := make(chan error, 1)
	go func() { closed <- r.s.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		t.Fatal("Close waits for the look")
	}
	require.ErrorIs(t, context.Cause(ctx), fenced.ErrClosed)
}
