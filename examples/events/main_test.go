package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryEventIsALine(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	for i, wants := range []string{
		"msg=acquire key=orders/4412 holder=A generation=1 version=0 err=<nil>",
		"msg=reclaim key=orders/4412 holder=A generation=1 version=0 err=<nil>",
		`msg=commit key=orders/4412 holder=A generation=1 version=0 err="fenced: commit of`,
	} {
		require.Contains(t, lines[i], wants)
	}
	require.Contains(t, lines[2], "stale generation")
}
