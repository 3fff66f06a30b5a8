package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutputIsWhatTheCommentSays(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(source), "It prints:\n//\n")
	require.True(t, found)
	said, _, found := strings.Cut(rest, "package main")
	require.True(t, found)
	require.Equal(t, strings.ReplaceAll(said, "//\t", ""), out.String())
}
