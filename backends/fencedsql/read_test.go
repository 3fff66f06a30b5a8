package fencedsql_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// TestReadOfNothing reads a record that nobody has seen, alone and with a refusal.
func TestReadOfNothing(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, _ := d.store(t, fencedsql.Options{})
		unseen := fenced.Record{Key: "k", Generation: 1}
		r, err := s.Read(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, unseen, r)
		_, err = s.Reclaim(t.Context(), "k", 1)
		var refused *fenced.ConflictError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, unseen, refused.Current)
	})
}
