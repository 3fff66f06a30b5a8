package fencedsql_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced/backends/fencedsql"
)

// TestNotifyOfEveryKey wakes by the payload of a notification who waits for a key
// that the database cannot hold as it is.
func TestNotifyOfEveryKey(t *testing.T) {
	const key = "\x00k\x01"
	p, db := postgres.tapped(t)
	s := postgres.storeIn(t, db, fencedsql.Options{Poll: never, Notify: "fenced"})
	listener, err := pgx.Connect(t.Context(), p.dsn)
	require.NoError(t, err)
	defer listener.Close(context.Background())
	_, err = listener.Exec(t.Context(), `LISTEN fenced`)
	require.NoError(t, err)
	g, err := s.TryAcquire(t.Context(), key, "A", time.Hour)
	require.NoError(t, err)
	_, err = s.Reclaim(t.Context(), key, g.Generation)
	require.NoError(t, err)
	heard, err := listener.WaitForNotification(t.Context())
	require.NoError(t, err)
	p.wakes(t, s, key, heard.Payload)
}

// TestWakeAll wakes who waits for any key.
func TestWakeAll(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		p, db := d.tapped(t)
		p.wakes(t, d.storeIn(t, db, fencedsql.Options{Poll: never}), "k", "")
	})
}

// wakes fails to end unless s.Wake(by) makes a claimant look who waits for key.
func (p *tap) wakes(t *testing.T, s *fencedsql.Store, key, by string) {
	t.Helper()
	_, err := s.TryAcquire(t.Context(), key, "B", time.Hour)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := s.Acquire(ctx, key, "C", time.Hour)
		left <- err
	}()
	for range 40 { // by itself, the last look would come after years
		for before := p.sent.Load(); p.sent.Load() == before; {
			s.Wake(by)
		}
	}
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
}
