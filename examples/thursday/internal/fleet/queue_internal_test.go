package fleet

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQueueHandsOutReclaimedOrdersFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	q := newQueue([]string{"a", "b"})
	q.reclaimed <- "c"
	for _, want := range []string{"c", "a", "b"} {
		key, ok := q.take(ctx)
		require.True(t, ok)
		require.Equal(t, want, key)
	}
	cancel()
	_, ok := q.take(ctx)
	require.False(t, ok)
}
