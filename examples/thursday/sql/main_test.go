package main

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced/examples/thursday/internal/fleet"
)

// play runs the program on a few orders, some of which stall, and returns what
// it prints.
func play(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, fleet.ExitOK, run(t.Context(), append(args, "-orders", "20"), &out, &errs), "%s%s", &out, &errs)
	require.Empty(t, errs.String())
	return out.String()
}

// requireMechanisms fails unless the fence lets nothing through in backend, and
// the version does where nobody wrote.
func requireMechanisms(t *testing.T, backend string) {
	t.Helper()
	fence := play(t, "-backend", backend)
	require.Contains(t, fence, "\nfence: 20 records, 0 wrong, 0 stuck\n")
	require.Regexp(t, `\nwrites refused +[1-9]\d*   `, fence)
	require.Regexp(t, `\noverruns +-   `, fence, "nobody counts them")

	version := play(t, "-backend", backend, "-mechanism", "version")
	require.Regexp(t, `\nversion: 20 records, [1-9]\d* wrong, 0 stuck\n`, version)
	require.Regexp(t, `decided to leave it at ".*\n +written by w\d+ \d+\.\d s after it had lost the order\n`, version)
}

func TestSQLite(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	requireMechanisms(t, "sqlite")
	requireEmpty(t, os.TempDir())
}

func TestPostgreSQL(t *testing.T) {
	dsn := os.Getenv("FENCEDSQL_POSTGRES")
	if dsn == "" {
		t.Skip("no PostgreSQL to test against: set FENCEDSQL_POSTGRES to the DSN of one (backends/fencedsql/postgres.sh starts one)")
	}
	requireMechanisms(t, dsn)
	out := play(t, "-backend", dsn, "-stall", "0")
	prefix := regexp.MustCompile(`in schemas (thursday_\w+_)N`).FindStringSubmatch(out)
	require.NotNil(t, prefix, out)
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	defer db.Close()
	var left int
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_namespace WHERE starts_with(nspname, $1)`, prefix[1]).Scan(&left))
	require.Zero(t, left)
}

func TestMemory(t *testing.T) {
	out := play(t, "-backend", "memory", "-stall", "0")
	require.Contains(t, out, "\nfence: 20 records, 0 wrong, 0 stuck\n")
	require.Regexp(t, `\noverruns +\d+   `, out, "the store counts them")
}

func TestInterruptLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	require.Equal(t, fleet.ExitFailed, run(ctx, []string{"-backend", "sqlite"}, &out, &errs))
	require.Equal(t, "thursday: interrupted: context canceled\n", errs.String())
	require.Regexp(t, `claims are in SQLite, in /.*, which is removed`, out.String())
	requireEmpty(t, os.TempDir())
}

func TestPlacesThatCannotBeHad(t *testing.T) {
	t.Setenv("TMPDIR", "/nowhere")
	for backend, says := range map[string]string{
		"sqlite":                     "/nowhere",
		"postgres://127.0.0.1:1/app": "connect",
		"postgres://127.0.0.1:app/":  "parse",
	} {
		var out, errs bytes.Buffer
		require.Equal(t, fleet.ExitFailed, run(t.Context(), []string{"-backend", backend}, &out, &errs))
		require.Contains(t, errs.String(), "thursday: ")
		require.Contains(t, errs.String(), says)
	}
}

func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}
