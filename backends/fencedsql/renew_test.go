package fencedsql_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced/backends/fencedsql"
)

// TestContextRenewedHere makes a lease shorter through the Store that watches the
// grant, which looks at no database to find out.
func TestContextRenewedHere(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, _ := d.store(t, fencedsql.Options{Poll: never})
		g, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		ctx, cancel := s.Context(t.Context(), g)
		defer cancel()
		_, err = s.Renew(t.Context(), g, 10*time.Millisecond)
		require.NoError(t, err)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
		require.NoError(t, t.Context().Err())
	})
}
