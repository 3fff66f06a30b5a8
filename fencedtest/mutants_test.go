package fencedtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"text/tabwriter"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/fencedtest"
	"github.com/stretchr/testify/require"
)

// mutant is a broken store, and the check that must say so.
type mutant struct {
	name    string // the flaw
	killer  string // law/check
	harness func(flaw string) fencedtest.Harness
}

var mutants = []mutant{
	{"a label claims again", "SingleWriter/claim-while-held", naiveHarness},
	{"a swap passes holders", "SingleWriter/swap-while-held", naiveHarness},
	{"a claim is two steps", "SingleWriter/claims-at-once", naiveHarness},
	{"a release frees a label", "SingleWriter/records-apart", naiveHarness},

	{"equal bytes are no write", "MonotonicVersion/writes", naiveHarness},
	{"a claim moves the version", "MonotonicVersion/ownership", naiveHarness},
	{"a deleted record loses its version", "MonotonicVersion/delete-and-recreate", naiveHarness},
	{"collecting leaves no floor", "MonotonicVersion/collected", naiveHarness},
	{"reopening forgets the deleted", "MonotonicVersion/reopened", naiveHarness},

	{"a take-over counts twice", "MonotonicGeneration/endings", naiveHarness},
	{"a claim moves the generation", "MonotonicGeneration/claims-and-writes", naiveHarness},
	{"a deleted record loses its generation", "MonotonicGeneration/claims-and-writes", naiveHarness},
	{"a record made anew starts anew", "MonotonicGeneration/deleted", naiveHarness},
	{"collecting leaves no floor", "MonotonicGeneration/collected", naiveHarness},
	{"reopening starts generations anew", "MonotonicGeneration/reopened", naiveHarness},

	{"no version check", "NoLostUpdate/commits-chain", naiveHarness},
	{"later versions pass", "NoLostUpdate/reread", naiveHarness},
	{"a swap passes later versions", "NoLostUpdate/swap", naiveHarness},
	{"a swap from 0 always lands", "NoLostUpdate/delete", naiveHarness},
	{"acknowledged and lost", "NoLostUpdate/acknowledged", naiveHarness},
	{"nil deletes", "NoLostUpdate/empty-value", naiveHarness},
	{"a swap from 0 always lands", "NoLostUpdate/must-not-exist", naiveHarness},
	{"a swap is two steps", "NoLostUpdate/increments", naiveHarness},

	{"the version is told alone", "NoStaleApply/ending-one", naiveHarness},
	{"no fence", "NoStaleApply/ending-two", naiveHarness},
	{"no fence while nobody holds", "NoStaleApply/unclaimed", naiveHarness},
	{"a release keeps the generation", "NoStaleApply/delayed-duplicate", naiveHarness},
	{"the fence is an earlier step", "NoStaleApply/commit-against-reclaim", naiveHarness},
	{"stats stand still", "NoStaleApply/counted", still},

	{"a reclaim keeps the generation", "UniqueGeneration/endings", naiveHarness},
	{"a label has one mark", "UniqueGeneration/same-label", naiveHarness},
	{"a claim is two steps", "UniqueGeneration/claims-at-once", naiveHarness},

	{"a release asks the label", "OneRule/ended", naiveHarness},
	{"a renewal asks the label", "OneRule/ended", naiveHarness},
	{"the label must match", "OneRule/current", naiveHarness},
	{"the label must match", "OneRule/token", naiveHarness},
	{"a context outlives its grant", "OneRule/context", patientHarness},
	{"a context ends with the lease", "OneRule/context-lapsed", patientHarness},

	{"a read revives", "Sticky/reads", naiveHarness},
	{"the third try passes", "Sticky/retries", naiveHarness},
	{"a renewal revives", "Sticky/retries", naiveHarness},
	{"no fence while nobody holds", "Sticky/acts-of-others", naiveHarness},
	{"a listing revives", "Sticky/listing", listerHarness},
	{"reopening starts generations anew", "Sticky/reopened", naiveHarness},

	{"refusals move the version", "NoTrace/zombie", naiveHarness},
	{"refusals drop the holder", "NoTrace/moved", naiveHarness},
	{"a refused claim lengthens the lease", "NoTrace/held", naiveHarness},
	{"a reclaim ends what nobody holds", "NoTrace/free", naiveHarness},
	{"a refused renewal lengthens the lease", "NoTrace/lease", naiveHarness},
	{"refused calls leave a record", "NoTrace/absent", listerHarness},
	{"refusals disturb the line", "NoTrace/queue", patientHarness},

	{"commit asks the clock", "NoClock/lapsed-commits", naiveHarness},
	{"a renewal asks the clock", "NoClock/lapsed-renews", naiveHarness},
	{"a swap passes the lapsed", "NoClock/lapsed-is-held", naiveHarness},
	{"an unlapsed lease passes", "NoClock/unlapsed-zombie", naiveHarness},
	{"stats stand still", "NoClock/overrun", still},

	{"a reclaim waits for the lease", "ConditionalReclaim/seen", naiveHarness},
	{"a reclaim ignores what was seen", "ConditionalReclaim/not-current", naiveHarness},
	{"a reclaim ends what nobody holds", "ConditionalReclaim/free", naiveHarness},
	{"a sweep gives what is left", "ConditionalReclaim/expired", naiveHarness},
	{"a sweep misses renewals", "ConditionalReclaim/renewed", naiveHarness},
	{"a sweep has no limit", "ConditionalReclaim/limit", naiveHarness},
	{"a sweep is two steps", "ConditionalReclaim/sweeps-at-once", naiveHarness},

	{"slices in are the store's", "Isolation/passed-in", naiveHarness},
	{"slices out are the store's", "Isolation/got-back", naiveHarness},
	{"slices out are the store's", "Isolation/reclaimed", naiveHarness},
	{"slices out are the store's", "Isolation/listed", listerHarness},

	{"zero grants pass", "FailClosed/zero", naiveHarness},
	{"grants without a mark pass", "FailClosed/hand-built", naiveHarness},
	{"grants without a mark pass", "FailClosed/other-store", naiveHarness},
	{"later generations pass", "FailClosed/altered", naiveHarness},
	{"over-long keys are cut", "FailClosed/bad-input", naiveHarness},
	{"a long label is cut", "FailClosed/limits", naiveHarness},
	{"finished contexts go on", "FailClosed/finished-context", naiveHarness},
	{"waiting claims are not checked", "FailClosed/waiting-input", patientHarness},
	{"any grant has a context", "FailClosed/context", patientHarness},
	{"closing does nothing", "FailClosed/closed", open},

	{"a lapsed grant is never taken over", "Progress/dead-holder", naiveHarness},
	{"a lease includes its last instant", "Progress/at-the-instant", naiveHarness},
	{"a renewal never shortens", "Progress/renewal", naiveHarness},
	{"last come, first served", "Progress/first-come", patientHarness},
	{"a claim overtakes the line", "Progress/not-overtaken", patientHarness},
	{"a hand-over takes a moment", "Progress/direct", patientHarness},
	{"a reclaim passes waiters over", "Progress/every-ending", patientHarness},
	{"waiters miss the lapse", "Progress/lapse", patientHarness},
	{"waiters miss renewals", "Progress/renewals-followed", patientHarness},
	{"a label claims again", "Progress/same-label", patientHarness},
	{"waiters stay in line", "Progress/context-ended", patientHarness},
	{"waiters stay in line", "Progress/leaving-at-once", patientHarness},
	{"the deleted are listed", "Progress/listed", listerHarness},

	{"a reclaim ignores what was seen", "Scenario/river-1302", naiveHarness},
	{"a context outlives its grant", "Scenario/etcd-6127", patientHarness},
	{"waiters stay in line", "Scenario/etcd-19597", patientHarness},
	{"no fence", "Scenario/etcd-10811", naiveHarness},
	{"commit asks the clock", "Scenario/harness-1878", naiveHarness},
	{"a refused renewal lengthens the lease", "Scenario/cozy-stack-4911", naiveHarness},
	{"no fence", "Scenario/langgraph-8796", naiveHarness},
	{"zero grants pass", "Scenario/redislock-93", naiveHarness},
	{"a lapsed grant is never taken over", "Scenario/rapina-793", naiveHarness},
	{"a sweep misses renewals", "Scenario/river-682", naiveHarness},
	{"a renewal asks the label", "Scenario/aegra-547", naiveHarness},
	{"collecting leaves no floor", "Scenario/occurrent-665", naiveHarness},
	{"a deleted record loses its version", "Scenario/khive-2662", naiveHarness},
	{"a renewal is two steps", "Scenario/accordion-127", naiveHarness},
	{"the fence is an earlier step", "Scenario/omnigraph-375", naiveHarness},
	{"a read revives", "Scenario/agent-coherence-172", naiveHarness},
	{"a swap is two steps", "Scenario/agent-coherence-166", naiveHarness},
	{"a read gives the value of an earlier one", "Scenario/nats-server-4710", naiveHarness},
	{"a refused claim lengthens the lease", "Scenario/posthog-76169", naiveHarness},
	{"a claim shows no lease", "Scenario/asynq-1144", naiveHarness},
	{"grants without a mark pass", "Scenario/curator-1121", naiveHarness},
	{"collecting leaves no floor", "Scenario/redisson-6510", naiveHarness},
	{"a release asks the clock", "Scenario/consul-18271", naiveHarness},
	{"no fence while nobody holds", "Scenario/durable-extension-3375", naiveHarness},
	{"no fence", "Scenario/graphile-worker-169", naiveHarness},
}

// still is a store that counts nothing.
type stillStore struct{ *fenced.Store }

func (stillStore) Stats() fenced.Stats { return fenced.Stats{} }

func still(string) fencedtest.Harness {
	return storeHarness(func(s *fenced.Store) fenced.Backend { return stillStore{s} })
}

// openedStore is one that closing does not close.
type openedStore struct{ *fenced.Store }

func (openedStore) Close() error { return nil }

func open(string) fencedtest.Harness {
	return storeHarness(func(s *fenced.Store) fenced.Backend { return openedStore{s} })
}

// misused are harnesses that say too little or too much, by what the kit then
// says.
var misused = []struct {
	says    string
	harness fencedtest.Harness
}{
	{`a harness without Open`, fencedtest.Harness{}},
	{`Skip names "NoSuchLaw", which is no law`, skipping("NoSuchLaw", "why not")},
	{`Skip names "Scenario", which is no law`, skipping("Scenario", "all of them")},
	{`Skip names "Progress" without a reason`, skipping("Progress", " ")},
	{`a tick of 1ns, at least a millisecond`, fencedtest.Harness{Open: openStore, Tick: 1}},
	{
		`the store cannot wait (fenced.Waiter): implement it, or name "Progress/first-come" in Skip`,
		fencedtest.Harness{Open: func(*testing.T) fenced.Backend { return newNaive("") }},
	},
}

func skipping(name, reason string) fencedtest.Harness {
	return fencedtest.Harness{Open: openStore, Wrap: synctest.Test, Skip: map[string]string{name: reason}}
}

const (
	mutantVar  = "FENCEDTEST_MUTANT"
	misusedVar = "FENCEDTEST_MISUSED"
	lesserVar  = "FENCEDTEST_LESSER"
)

// TestVictim is what other tests run in a process of its own. Alone it does
// nothing.
func TestVictim(t *testing.T) {
	var i int
	if n, _ := fmt.Sscan(os.Getenv(mutantVar), &i); n == 1 {
		fencedtest.Run(t, mutants[i].harness(mutants[i].name))
		return
	}
	if n, _ := fmt.Sscan(os.Getenv(misusedVar), &i); n == 1 {
		fencedtest.Run(t, misused[i].harness)
		return
	}
	if n, _ := fmt.Sscan(os.Getenv(lesserVar), &i); n == 1 {
		fencedtest.Run(t, lesser[i])
	}
}

// victim runs TestVictim, narrowed down to run, and returns what it printed.
func victim(variable string, i int, run string) (string, error) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestVictim$/"+run, "-test.v", "-test.timeout=1m")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, i))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// fail runs a victim, and fails t if it passed.
func fail(t *testing.T, variable string, i int, run string) string {
	t.Helper()
	out, err := victim(variable, i, run)
	require.Error(t, err, "passed:\n%s", out)
	require.NotContains(t, out, "no tests to run")
	return out
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: TestVictim/(\S+)`)

// TestMutants holds the kit to its purpose: each broken store fails the check
// that is named for it, which quotes its law, and each check, so each law too,
// fails one: a check that nothing can fail shows nothing.
func TestMutants(t *testing.T) {
	sentences := make(map[string]string)
	for _, law := range fencedtest.Laws() {
		for _, check := range law.Checks {
			sentences[law.Name+"/"+check.Name] = law.Sentence
		}
	}
	for _, s := range fencedtest.Scenarios() {
		sentences["Scenario/"+s.Name] = s.Right
	}
	killed := make([][]string, len(mutants))
	t.Run("all", func(t *testing.T) {
		for i, m := range mutants {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				law, check, _ := strings.Cut(m.killer, "/")
				out := fail(t, mutantVar, i, "^"+law+"$/^"+check+"$")
				for _, f := range failed.FindAllStringSubmatch(out, -1) {
					killed[i] = append(killed[i], f[1])
				}
				require.Contains(t, killed[i], m.killer, out)
				require.NotEmpty(t, sentences[m.killer])
				require.Contains(t, out, sentences[m.killer])
			})
		}
	})
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for i, m := range mutants {
		if slices.Contains(killed[i], m.killer) {
			delete(sentences, m.killer)
		}
		fmt.Fprintf(w, "%s\t%s\n", m.name, strings.Join(killed[i], " "))
	}
	require.NoError(t, w.Flush())
	t.Logf("broken store and the check that fails it:\n%s", table.String())
	require.Empty(t, sentences, "checks that fail no broken store")
}

// TestMisuse holds Run to what the Harness says.
func TestMisuse(t *testing.T) {
	for i, m := range misused {
		t.Run(m.says, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, fail(t, misusedVar, i, "^Progress$/^first-come$"), m.says)
		})
	}
}
