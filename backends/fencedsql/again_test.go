package fencedsql_test

import (
	"context"
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
					_, err := db.ExecContext(t.Context(), `UPDATE fenced_records SET expires = now()`)
					require.NoError(t, err)
				}
				if test.name == "removal of nothing" {
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

// TestHandedOverAgain loses the reply of a release that hands the record over.
func TestHandedOverAgain(t *testing.T) {
	p, db := postgres.tapped(t)
	s := postgres.storeIn(t, db, fencedsql.Options{Poll: time.Hour})
	a, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
	require.NoError(t, err)
	granted := make(chan fenced.Grant)
	before := p.sent.Load()
	go func() {
		g, _ := s.Acquire(t.Context(), "k", "B", time.Hour)
		granted <- g
	}()
	require.Eventually(t, func() bool { return p.sent.Load() > before }, 10*time.Second, time.Millisecond) // B waits
	p.lose.Store(deadReply)
	require.NoError(t, s.Release(t.Context(), a))
	b := <-granted
	require.Equal(t, a.Generation+1, b.Generation)
	_, err = s.Commit(t.Context(), b, nil)
	require.NoError(t, err)
}
