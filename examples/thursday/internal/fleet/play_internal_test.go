package fleet

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// run is the program in memory.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, code := Parse(args, stdout, stderr)
	if opts == nil {
		return code
	}
	return opts.Play(ctx, InMemory(), stdout, stderr)
}

// play1 runs one mechanism on a few orders, a fifth of which stall, and returns
// the outcome.
func play1(t *testing.T, mechanism string, seed uint64) *outcome {
	t.Helper()
	return playAll(t, mechanism, seed)[0]
}

// playAll does so with several seeds at a time.
func playAll(t *testing.T, mechanism string, seeds ...uint64) []*outcome {
	t.Helper()
	orders, err := readOrders()
	require.NoError(t, err)
	outcomes, errs := make([]*outcome, len(seeds)), make([]error, len(seeds))
	var runs sync.WaitGroup
	for i, seed := range seeds {
		cfg := config{orders: orders[:40], workers: defaultWorkers, stall: .2, seed: seed}
		runs.Go(func() { outcomes[i], errs[i] = runFleet(t.Context(), cfg, InMemory(), mechanism, func(snapshot) {}) })
	}
	runs.Wait()
	for i, o := range outcomes {
		require.NoError(t, errs[i])
		require.Equal(t, 40, o.settled+len(o.stuck))
	}
	return outcomes
}

func TestFenceLetsNothingThrough(t *testing.T) {
	t.Parallel()
	for seed, o := range playAll(t, "fence", 0, 1, 2, 3) {
		require.Empty(t, o.wrong, "seed %d", seed)
		require.Empty(t, o.stuck, "seed %d", seed)
		require.Positive(t, o.refused.fence, "an owner that decided that no write applies")
		require.Positive(t, o.refused.both, "an owner that wrote")
		require.Len(t, o.late, o.refused.sum(), "every refused result was handed back")
		s := o.stats
		require.Equal(t, refusals{int(s.RefusedVersion), int(s.RefusedGeneration), int(s.RefusedBoth)}, o.refused, "as the store counts")
	}
}

func TestNoneLetsLateWritesThrough(t *testing.T) {
	t.Parallel()
	requireLateWrites(t, play1(t, "none", 1))
}

func TestLockLetsDeadHoldersKeepOrders(t *testing.T) {
	t.Parallel()
	o := play1(t, "lock", 1)
	orders, err := readOrders()
	require.NoError(t, err)
	var hung, stuck []string
	for number, f := range newPlan(orders[:40], .2, 1) {
		if f.hangs {
			hung = append(hung, number)
		}
	}
	for _, x := range o.stuck {
		stuck = append(stuck, x.order)
		require.Contains(t, x.String(), " was given up and never let go\n")
	}
	require.NotEmpty(t, hung)
	require.ElementsMatch(t, hung, stuck)
}

func TestLeaseLetsLateWritesThrough(t *testing.T) {
	t.Parallel()
	requireLateWrites(t, play1(t, "lease", 1))
}

// requireLateWrites fails unless records are wrong, all of them because a worker
// wrote that had lost the order.
func requireLateWrites(t *testing.T, o *outcome) {
	t.Helper()
	require.NotEmpty(t, o.wrong)
	require.Empty(t, o.stuck)
	for _, x := range o.wrong {
		require.Regexp(t, `\n +written by w\d+ \d\.\d s after it had lost the order\n`, x.String())
	}
}

func TestVersionLetsLateWritesThroughWhereNobodyWrote(t *testing.T) {
	t.Parallel()
	o := play1(t, "version", 1)
	requireLateWrites(t, o)
	for _, x := range o.wrong {
		require.True(t, x.decided.leave, "order %s", x.order)
	}
	require.Positive(t, o.refused.version, "where someone wrote")
}

func TestWithoutStallsNothingGoesWrong(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	require.Equal(t, ExitOK, run(t.Context(), []string{"-stall", "0", "-orders", "12", "-workers", "3"}, &out, &errs))
	require.Empty(t, errs.String())
	require.Contains(t, out.String(), "12 orders, 3 workers")
	require.Contains(t, out.String(), "12/12 settled")
	require.Contains(t, out.String(), "fence: 12 records, 0 wrong, 0 stuck\n")
	require.NotContains(t, out.String(), "\r", "no terminal, no line that is updated")
}

func TestCompareRunsEveryMechanism(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	require.Equal(t, ExitOK, run(t.Context(), []string{"-compare", "-orders", "16", "-stall", ".3"}, &out, &errs))
	require.Empty(t, errs.String())
	_, table, found := strings.Cut(out.String(), "wrong  stuck ")
	require.True(t, found)
	for _, name := range names() {
		require.Contains(t, table, "\n"+name+" ")
		require.Contains(t, table, "\nunder "+name+"\norder ", "a story of each")
	}
	require.Regexp(t, `\nfence +0 +0 `, table)
}

func TestFlagsAreChecked(t *testing.T) {
	for _, row := range []struct{ args, says string }{
		{"-mechanism hope", `-mechanism "hope" is not one of none, lock, lease, version, fence`},
		{"-compare -mechanism lock", "-compare runs every mechanism"},
		{"-backend mysql", `-backend "mysql" is not memory, sqlite or a postgres:// address`},
		{"-workers 0", "-workers 0 is not 1 to 64"},
		{"-workers 65", "-workers 65 is not 1 to 64"},
		{"-workers many", `invalid value "many" for flag -workers`},
		{"-orders 0", "-orders 0 is not 1 to 300"},
		{"-orders 301", "-orders 301 is not 1 to 300"},
		{"-stall -0.1", "-stall -0.1 is not 0 to 1"},
		{"-stall 1.1", "-stall 1.1 is not 0 to 1"},
		{"-stall NaN", "-stall NaN is not 0 to 1"},
		{"-seed -1", `invalid value "-1" for flag -seed`},
		{"-nonsense", "flag provided but not defined: -nonsense"},
		{"fence", `unexpected argument "fence"`},
	} {
		t.Run(row.args, func(t *testing.T) {
			var out, errs bytes.Buffer
			require.Equal(t, ExitMisused, run(t.Context(), strings.Fields(row.args), &out, &errs))
			require.Contains(t, errs.String(), "thursday: "+row.says)
			require.Equal(t, 1, strings.Count(errs.String(), "\n"))
			require.Empty(t, out.String())
		})
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, ExitOK, run(t.Context(), []string{"-h"}, &out, &errs))
	require.Empty(t, errs.String())
	for _, flag := range []string{"-mechanism", "-backend", "-compare", "-workers", "-orders", "-stall", "-seed"} {
		require.Contains(t, out.String(), "\n  "+flag+" ")
	}
	require.NotContains(t, out.String(), "%!")
	requireNarrow(t, out.String())
}

func TestInterruptBreaksOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	require.Equal(t, ExitFailed, run(ctx, nil, &out, &errs))
	require.Contains(t, errs.String(), "thursday: interrupted")
}

func TestOnlyTheFenceMustHold(t *testing.T) {
	bad := []finding{{order: "4412"}}
	require.Equal(t, ExitOK, judge([]*outcome{{mechanism: "none", wrong: bad}, {mechanism: "lock", stuck: bad}, {mechanism: "fence"}}))
	require.Equal(t, ExitFailed, judge([]*outcome{{mechanism: "fence", wrong: bad}}))
	require.Equal(t, ExitFailed, judge([]*outcome{{mechanism: "none"}, {mechanism: "fence", stuck: bad}}))
}

// requireNarrow fails if text does not fit a plain terminal.
func requireNarrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
	}
}
