package fencedsql_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced/backends/fencedsql"
)

// TestKeysApart writes records whose keys are alike but for what a database may
// not be able to hold, or takes for an escape.
func TestKeysApart(t *testing.T) {
	keys := []string{"\x00", "\x010", "\x01", "\x011", "\x01\x00", "\x0110", "0", "k", "K", "k ", "ö", "o\u0308", "%", "_"}
	onEach(t, func(t *testing.T, d database) {
		s, _ := d.store(t, fencedsql.Options{})
		for _, key := range keys {
			_, err := s.CompareAndSwap(t.Context(), key, 0, []byte(key))
			require.NoError(t, err, "%q", key)
		}
		var listed []string
		for r, err := range s.Records(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, r.Key, string(r.Value))
			listed = append(listed, r.Key)
		}
		require.ElementsMatch(t, keys, listed)
	})
}
