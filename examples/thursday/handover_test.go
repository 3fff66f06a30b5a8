package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced/examples/thursday/internal/fleet"
)

func TestHandOverRunsTheOtherModule(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module other\n\ngo 1.25\n",
		"main.go": "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() {\n\tfmt.Printf(\"%q\", os.Args[1:])\n\tos.Exit(7)\n}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var out, errs bytes.Buffer
	code := handOver(t.Context(), dir, []string{"-backend", "postgres://db/app?a=b&c=d"}, &out, &errs)
	require.Equal(t, 7, code, errs.String())
	require.Equal(t, `["-backend" "postgres://db/app?a=b&c=d"]`, out.String())
	require.Equal(t, "thursday: the drivers are in a module of their own: go run . in "+dir+"\n", errs.String())
}

func TestHandOverSaysWhatToRunInstead(t *testing.T) {
	for _, files := range []map[string]string{
		{}, // not in a checkout
		{"go.mod": "module other\n", "main.go": "package main\n\nfunc main() { none() }\n"},
	} {
		dir := t.TempDir()
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		var out, errs bytes.Buffer
		args := []string{"-backend", "postgres://db/app?a=b&c=d", "-orders", "20"}
		require.Equal(t, fleet.ExitFailed, handOver(t.Context(), dir, args, &out, &errs))
		require.Empty(t, out.String())
		require.True(t, strings.HasSuffix(errs.String(),
			"; in a checkout, run: cd examples/thursday/sql && go run . -backend 'postgres://db/app?a=b&c=d' -orders 20\n"), errs.String())
	}
}

func TestTheOtherModuleIsThere(t *testing.T) {
	require.FileExists(t, filepath.Join(nested(), "go.mod"))
}

func TestFlagsAreCheckedBeforeHandingOver(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, fleet.ExitMisused, run(t.Context(), []string{"-backend", "sqlite", "-orders", "0"}, &out, &errs))
	require.Equal(t, "thursday: -orders 0 is not 1 to 300 (-h for help)\n", errs.String())
}

func TestMemoryNeedsNoOtherModule(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, fleet.ExitOK, run(t.Context(), []string{"-stall", "0", "-orders", "3"}, &out, &errs))
	require.Empty(t, errs.String())
	require.Contains(t, out.String(), "fence: 3 records, 0 wrong, 0 stuck\n")
}
