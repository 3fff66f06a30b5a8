package fencedsql_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

func (d database) resolves(t *testing.T, s *fencedsql.Store, g fenced.Grant, want fencedsql.Outcome) {
	t.Helper()
	got, err := s.Resolve(t.Context(), g)
	require.NoError(t, err)
	require.Equal(t, want, got, "%v", got)
}

// TestReplyLost loses the reply of a commit that lands.
func TestReplyLost(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		p, db := d.tapped(t)
		s := d.storeIn(t, db, fencedsql.Options{})
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		p.lose.Store(replies)
		_, err = s.Commit(t.Context(), g, []byte("v"))
		p.lose.Store(nothing)
		require.ErrorIs(t, err, fenced.ErrUncertain)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		d.resolves(t, s, g, fencedsql.Landed)
		r, err := s.Read(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, "v", string(r.Value))
		g.Version = r.Version // the holder goes on
		_, err = s.Commit(t.Context(), g, []byte("w"))
		require.NoError(t, err)
	})
}

// TestRequestLost loses a commit on its way, which then arrives late.
func TestRequestLost(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		p, db := d.tapped(t)
		s := d.storeIn(t, db, fencedsql.Options{})
		for _, arrives := range []bool{false, true} {
			g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
			require.NoError(t, err)
			p.lose.Store(requests)
			_, err = s.Commit(t.Context(), g, []byte("v"))
			p.lose.Store(nothing)
			require.ErrorIs(t, err, fenced.ErrUncertain)
			d.resolves(t, s, g, fencedsql.Unknown) // a look proves nothing

			if arrives {
				_, err = s.Commit(t.Context(), g, []byte("v"))
				require.NoError(t, err)
				d.resolves(t, s, g, fencedsql.Landed)
			}
			require.NoError(t, s.Release(t.Context(), g)) // which is what makes the answer conclusive
			_, err = s.Commit(t.Context(), g, []byte("v"))
			require.ErrorIs(t, err, fenced.ErrStaleReadGeneration)
			want := fencedsql.NotLanded
			if arrives {
				want = fencedsql.Landed
			}
			d.resolves(t, s, g, want)
		}
	})
}

// TestUncertain loses the replies of every call: those that change something say
// so.
func TestUncertain(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		p, db := d.tapped(t)
		s := d.storeIn(t, db, fencedsql.Options{})
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		reads := map[string]bool{"read": true, "resolve": true, "records": true}
		for name, call := range calls(t, s, g) {
			if d.dialect == fencedsql.SQLite && reads[name] {
				continue // is not lost there: see tap.pass
			}
			p.lose.Store(replies)
			err := call()
			p.lose.Store(nothing)
			if reads[name] {
				require.NotErrorIs(t, err, fenced.ErrUncertain, name)
				require.ErrorIs(t, err, io.ErrUnexpectedEOF, name)
				continue
			}
			// Some are refused after the ones before. A refusal whose reply is lost
			// is uncertain too.
			require.ErrorIs(t, err, fenced.ErrUncertain, name)
		}
	})
}

// TestResolve asks after what came later, as long as the database can know.
func TestResolve(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		ctx := t.Context()
		for _, landed := range []bool{true, false} {
			s, _ := d.store(t, fencedsql.Options{})
			claim := func(holder string) fenced.Grant {
				g, err := s.TryAcquire(ctx, "k", holder, time.Hour)
				require.NoError(t, err)
				return g
			}
			commit := func(g fenced.Grant) fenced.Grant {
				g, err := s.Commit(ctx, g, []byte(g.Holder))
				require.NoError(t, err)
				return g
			}
			_, err := s.CompareAndSwap(ctx, "k", 0, []byte("first"))
			require.NoError(t, err)
			a := claim("A")
			want := fencedsql.NotLanded
			if landed {
				commit(a)
				want = fencedsql.Landed
				d.resolves(t, s, a, want)
			} else {
				d.resolves(t, s, a, fencedsql.Unknown)
			}
			_, err = s.Reclaim(ctx, "k", a.Generation)
			require.NoError(t, err)
			d.resolves(t, s, a, want)
			b := claim("B")
			d.resolves(t, s, a, want)
			d.resolves(t, s, b, fencedsql.Unknown)
			b = commit(commit(b)) // B has written over whatever A did
			d.resolves(t, s, a, want)
			require.NoError(t, s.Release(ctx, b))
			d.resolves(t, s, a, fencedsql.Unknown) // two grants ago
			d.resolves(t, s, b, fencedsql.NotLanded)
			b.Version--
			d.resolves(t, s, b, fencedsql.Landed)
			c := claim("C")
			require.NoError(t, s.Release(ctx, c))
			d.resolves(t, s, b, fencedsql.Landed) // the last writer is known for as long as it is the last

			e := claim("E")
			require.NoError(t, s.Release(ctx, e))
			require.NoError(t, s.Release(ctx, claim("F")))
			d.resolves(t, s, e, fencedsql.NotLanded) // nobody has written since
			commit(claim("G"))
			d.resolves(t, s, e, fencedsql.NotLanded) // G made the step
		}
	})
}

// TestResolveAtOtherVersions asks after writes that were presented at versions
// that the record had before the claim, and at none that it has had.
func TestResolveAtOtherVersions(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, _ := d.store(t, fencedsql.Options{})
		r, err := s.CompareAndSwap(t.Context(), "k", 0, nil)
		require.NoError(t, err)
		for range 4 {
			r, err = s.CompareAndSwap(t.Context(), "k", r.Version, nil)
			require.NoError(t, err)
		}
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		require.Equal(t, fenced.Version(5), g.Version)
		now := g
		for range 2 {
			now, err = s.Commit(t.Context(), now, nil)
			require.NoError(t, err)
		}
		const u, y, n = fencedsql.Unknown, fencedsql.Landed, fencedsql.NotLanded
		resolve := func(want map[fenced.Version]fencedsql.Outcome) {
			for g.Version = range want {
				d.resolves(t, s, g, want[g.Version])
			}
		}
		resolve(map[fenced.Version]fencedsql.Outcome{4: n, 5: y, 6: y, 7: u, 8: u})
		require.NoError(t, s.Release(t.Context(), g))
		resolve(map[fenced.Version]fencedsql.Outcome{4: n, 5: y, 6: y, 7: n, 8: n})
	})
}

func TestResolveForeign(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, _ := d.store(t, fencedsql.Options{})
		other, _ := d.store(t, fencedsql.Options{})
		theirs, err := other.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		for range 3 { // never issued, current, and the one before
			_, err = s.Resolve(t.Context(), theirs)
			require.ErrorIs(t, err, fenced.ErrForeignGrant)
			_, err = s.Acquire(t.Context(), "k", "A", time.Millisecond) // first with the same numbers
			require.NoError(t, err)
		}
		_, err = s.Resolve(t.Context(), fenced.Grant{})
		require.ErrorIs(t, err, fenced.ErrInvalid)
	})
}

// TestNoConnection waits in vain for the one connection of a pool: nothing was
// sent, and the error says so.
func TestNoConnection(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, db := d.store(t, fencedsql.Options{Timeout: time.Second})
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		db.SetMaxOpenConns(1)
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		errs := make(chan error)
		all := calls(t, s, g)
		for _, call := range all {
			go func() { errs <- call() }()
		}
		for range all {
			err := <-errs
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, fenced.ErrUncertain)
		}
		require.NoError(t, s.Guard(t.Context(), tx, g)) // which needs no other
		require.NoError(t, tx.Commit())
		_, err = s.Commit(t.Context(), g, nil)
		require.NoError(t, err)
	})
}

// TestShortLivedConnections has every call meet a new connection.
func TestShortLivedConnections(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, db := d.store(t, fencedsql.Options{})
		db.SetConnMaxLifetime(time.Millisecond)
		g, err := s.Acquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		for range 20 {
			g, err = s.Commit(t.Context(), g, []byte("v"))
			require.NoError(t, err)
		}
		require.Equal(t, fenced.Version(20), g.Version)
	})
}

// TestClaimAbandoned ends the context of a claim while it is under way, behind a
// lock. What it is granted later is not kept.
func TestClaimAbandoned(t *testing.T) {
	s, db := postgres.store(t, fencedsql.Options{})
	g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
	require.NoError(t, err)
	require.NoError(t, s.Release(t.Context(), g))
	lock, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = lock.ExecContext(t.Context(), `SELECT 1 FROM fenced_records FOR UPDATE`)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
	defer cancel()
	_, err = s.Acquire(ctx, "k", "B", time.Hour)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, lock.Rollback())

	for r := (fenced.Record{}); r.Generation < 3; { // B is granted generation 2, and that ends
		r, err = s.Read(t.Context(), "k")
		require.NoError(t, err)
	}
	c, err := s.TryAcquire(t.Context(), "k", "C", time.Hour)
	require.NoError(t, err)
	require.Equal(t, fenced.Generation(3), c.Generation)
}

// TestSerialization runs the Store where every transaction is serializable:
// failures to serialize are tried again and never a refusal.
func TestSerialization(t *testing.T) {
	_, dsn := postgres.open(t)
	for _, level := range []string{"repeatable%20read", "serializable"} {
		db := openDB(t, "pgx", dsn+"&default_transaction_isolation="+level)
		s := postgres.storeIn(t, db, fencedsql.Options{})
		errs := make(chan error)
		for range 4 {
			go func() {
				var err error
				for range 20 {
					var g fenced.Grant
					if g, err = s.Acquire(t.Context(), level, "w", time.Hour); err != nil {
						break
					}
					if g, err = s.Commit(t.Context(), g, []byte("v")); err != nil {
						break
					}
					if err = s.Release(t.Context(), g); err != nil {
						break
					}
				}
				errs <- err
			}()
		}
		for range 4 {
			require.NoError(t, <-errs)
		}
		r, err := s.Read(t.Context(), level)
		require.NoError(t, err)
		require.Equal(t, fenced.Version(80), r.Version)
	}
}
