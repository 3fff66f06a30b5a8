package fencedsql_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// TestSentAgain loses a request or a reply of each call where the driver says of
// either that the connection was dead, so that the call is sent again. A call that
// is then in its own way knows that it is itself, or says that it cannot know; and
// nothing is done twice.
func TestSentAgain(t *testing.T) {
	type numbers struct {
		version    fenced.Version
		generation fenced.Generation
	}
	for _, test := range []struct {
		name      string
		free      bool // nobody holds the record
		lapsed    bool // the one who does has lapsed
		call      func(ctx context.Context, s *fencedsql.Store, g fenced.Grant) error
		moves     numbers // by how much, each time it is done
		uncertain bool    // where the reply is lost
		once      bool    // is not sent again
	}{
		{name: "claim", free: true, call: func(ctx context.Context, s *fencedsql.Store, _ fenced.Grant) error {
			g, err := s.TryAcquire(ctx, "k", "B", time.Hour)
			if err == nil {
				_, err = s.Renew(ctx, g, time.Hour) // it is a grant indeed
			}
			return err
		}},
		{name: "take-over", lapsed: true, moves: numbers{0, 1}, call: func(ctx context.Context, s *fencedsql.Store, _ fenced.Grant) error {
			_, err := s.TryAcquire(ctx, "k", "B", time.Hour)
			return err
		}},
		{name: "commit", moves: numbers{1, 0}, uncertain: true, call: func(ctx context.Context, s *fencedsql.Store, g fenced.Grant) error {
			_, err := s.Commit(ctx, g, []byte("v"))
			return err
		}},
		{name: "delete", moves: numbers{1, 0}, uncertain: true, call: func(ctx context.Context, s *fencedsql.Store, g fenced.Grant) error {
			_, err := s.Delete(ctx, g)
			return err
		}},
		{name: "renew", call: func(ctx context.Context, s *fencedsql.Store, g fenced.Grant) error {
			_, err := s.Renew(ctx, g, time.Hour)
			return err
		}},
		{name: "release", moves: numbers{0, 1}, uncertain: true, call: func(ctx context.Context, s *fencedsql.Store, g fenced.Grant) error {
			return s.Release(ctx, g)
		}},
		{name: "reclaim", moves: numbers{0, 1}, uncertain: true, call: func(ctx context.Context, s *fencedsql.Store, g fenced.Grant) error {
			_, err := s.Reclaim(ctx, g.Key, g.Generation)
			return err
		}},
		{name: "swap", free: true, moves: numbers{1, 0}, uncertain: true, call: func(ctx context.Context, s *fencedsql.Store, _ fenced.Grant) error {
			_, err := s.CompareAndSwap(ctx, "k", 1, []byte("v"))
			return err
		}},
		{name: "removal", free: true, moves: numbers{1, 0}, uncertain: true, call: func(ctx context.Context, s *fencedsql.Store, _ fenced.Grant) error {
			_, err := s.CompareAndDelete(ctx, "k", 1)
			return err
		}},
		{name: "creation", free: true, moves: numbers{1, 0}, uncertain: true, once: true, call: func(ctx context.Context, s *fencedsql.Store, _ fenced.Grant) error {
			_, err := s.CompareAndSwap(ctx, "none", 0, []byte("v"))
			return err
		}},
		{name: "removal of nothing", free: true, moves: numbers{1, 0}, uncertain: true, once: true, call: func(ctx context.Context, s *fencedsql.Store, _ fenced.Grant) error {
			_, err := s.CompareAndDelete(ctx, "none", 0)
			return err
		}},
		{name: "sweep", lapsed: true, moves: numbers{0, 1}, uncertain: true, once: true, call: func(ctx context.Context, s *fencedsql.Store, _ fenced.Grant) error {
			_, err := s.ReclaimExpired(ctx, 0)
			return err
		}},
		{name: "read", call: func(ctx context.Context, s *fencedsql.Store, _ fenced.Grant) error {
			_, err := s.Read(ctx, "k")
			return err
		}},
	} {
		for lose, name := range map[int32]string{deadRequest: "request", deadReply: "reply"} {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				p, db := postgres.tapped(t)
				s := postgres.storeIn(t, db, fencedsql.Options{})
				key := "k"
				_, err := s.CompareAndSwap(t.Context(), key, 0, []byte("first"))
				require.NoError(t, err)
				g := fenced.Grant{}
				if !test.free {
					g, err = s.TryAcquire(t.Context(), key, "A", time.Hour)
					require.NoError(t, err)
				}
				if test.lapsed {
					postgres.lapse(t, db)
				}
				if test.free && test.once {
					key = "none"
				}
				was, err := s.Read(t.Context(), key)
				require.NoError(t, err)

				p.lose.Store(lose)
				err = test.call(t.Context(), s, g)
				require.EqualValues(t, nothing, p.lose.Load())
				if test.once || lose == deadReply && test.uncertain {
					require.ErrorIs(t, err, fenced.ErrUncertain)
					for _, refusal := range []error{fenced.ErrVersionConflict, fenced.ErrStaleReadGeneration, fenced.ErrGrantHeld, fenced.ErrForeignGrant} {
						require.NotErrorIs(t, err, refusal)
					}
				} else {
					require.NoError(t, err)
				}
				is, err := s.Read(t.Context(), key)
				require.NoError(t, err)
				moved := numbers{is.Version - was.Version, is.Generation - was.Generation}
				if test.once && lose == deadRequest {
					require.Zero(t, moved)
				} else {
					require.Equal(t, test.moves, moved)
				}
				if test.name == "commit" {
					postgres.resolves(t, s, g, fencedsql.Landed)
				}
			})
		}
	}
}

// handsOver is in the statement of a release that hands the record over.
const handsOver = `SET holder = $5`

// TestHandedOverAgain loses the reply of a release that hands the record over, and
// is sent again.
func TestHandedOverAgain(t *testing.T) {
	p, db := postgres.tapped(t)
	p.only = handsOver
	s := postgres.storeIn(t, db, fencedsql.Options{Poll: never})
	a, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
	require.NoError(t, err)
	got := p.queue(t, s)
	p.lose.Store(deadReply)
	require.NoError(t, s.Release(t.Context(), a))
	require.EqualValues(t, nothing, p.lose.Load())
	b := <-got
	require.Equal(t, a.Generation+1, b.Generation)
	_, err = s.Commit(t.Context(), b, nil)
	require.NoError(t, err)
}

// queue has B wait for the record that A holds.
func (p *tap) queue(t *testing.T, s *fencedsql.Store) <-chan fenced.Grant {
	t.Helper()
	before := p.sent.Load()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	got := acquire(ctx, s, "B")
	require.Eventually(t, func() bool { return p.sent.Load() > before }, 10*time.Second, time.Millisecond)
	return got
}

// TestHandOverLost loses the reply for good. The claimant finds that the grant is
// its own; the holder's release is uncertain.
func TestHandOverLost(t *testing.T) {
	p, db := postgres.tapped(t)
	p.only = handsOver
	s := postgres.storeIn(t, db, fencedsql.Options{})
	a, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
	require.NoError(t, err)
	got := p.queue(t, s)
	p.lose.Store(replies)
	require.ErrorIs(t, s.Release(t.Context(), a), fenced.ErrUncertain)
	b := <-got
	require.Equal(t, a.Generation+1, b.Generation)
	_, err = s.Commit(t.Context(), b, nil)
	require.NoError(t, err)
	require.ErrorIs(t, s.Release(t.Context(), a), fenced.ErrStaleReadGeneration)
}

// TestRequestLostInTheMoment loses a commit, and while it is sent again its grant
// ends: that it is refused then says nothing of the first time.
func TestRequestLostInTheMoment(t *testing.T) {
	r := newRace(t, postgres, fencedsql.Options{})
	p := &tap{driver: r.db.Driver(), dsn: r.dsn}
	db := sql.OpenDB(p)
	t.Cleanup(func() { _ = db.Close() })
	s := postgres.storeIn(t, db, fencedsql.Options{})
	p.lose.Store(deadRequest)
	err := r.reclaimedInTheMoment(s)
	require.ErrorIs(t, err, fenced.ErrUncertain)
	require.NotErrorIs(t, err, fenced.ErrStaleReadGeneration)
	postgres.resolves(t, s, r.a, fencedsql.NotLanded)
}

// TestDeadPool has every idle connection die at once, by a driver that finds out
// only when it uses one.
func TestDeadPool(t *testing.T) {
	_, dsn := postgres.open(t)
	admin, db := openDB(t, "pgx", dsn+"_admin"), openDB(t, "postgres", dsn) // of another application_name
	const idle = 30
	db.SetMaxIdleConns(idle)
	s := postgres.storeIn(t, db, fencedsql.Options{})
	g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
	require.NoError(t, err)
	var conns []*sql.Conn
	for range idle {
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		require.NoError(t, conn.Close())
	}
	var name string
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT current_setting('application_name')`).Scan(&name))
	require.Eventually(t, func() bool {
		var n int
		require.NoError(t, admin.QueryRowContext(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE application_name = $1`, name).Scan(&n))
		return n == 0
	}, 10*time.Second, 10*time.Millisecond)
	_, err = s.Commit(t.Context(), g, []byte("v"))
	require.NoError(t, err)
}
