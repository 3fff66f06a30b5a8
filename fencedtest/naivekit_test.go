package fencedtest_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/fencedtest"
	"github.com/stretchr/testify/require"
)

// lesser are stores that pass all but what they say they cannot do.
var lesser = []fencedtest.Harness{
	naiveHarness(""),   // can do no more than it must
	patientHarness(""), // can also wait and watch
	listerHarness(""),  // can list
}

var skipped = regexp.MustCompile(`(?m)^\s*--- SKIP: TestVictim/(\S+)`)

// TestLesserStores runs them, in processes of their own, since what is skipped
// there on purpose is not skipped here: it is what is tested.
func TestLesserStores(t *testing.T) {
	for i, h := range lesser {
		out, err := victim(lesserVar, i, "")
		require.NoError(t, err, out)
		var names []string
		for _, s := range skipped.FindAllStringSubmatch(out, -1) {
			names = append(names, s[1])
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(h.Skip)), names)
	}
}

func naiveHarness(flaw string) fencedtest.Harness {
	return fencedtest.Harness{
		Open: func(*testing.T) fenced.Backend { return newNaive(flaw) },
		Reopen: func(_ *testing.T, b fenced.Backend) fenced.Backend {
			return b.(*naive).reopen()
		},
		Wrap: synctest.Test,
		Skip: unable("wait", "watch", "list", "count", "close"),
	}
}

func patientHarness(flaw string) fencedtest.Harness {
	return fencedtest.Harness{
		Open: func(*testing.T) fenced.Backend { return patient{newNaive(flaw)} },
		Wrap: synctest.Test,
		Skip: unable("list", "count", "close"),
	}
}

func listerHarness(flaw string) fencedtest.Harness {
	return fencedtest.Harness{
		Open: func(*testing.T) fenced.Backend { return lister{newNaive(flaw)} },
		Wrap: synctest.Test,
		Skip: unable("wait", "watch", "count", "close"),
	}
}

// storeHarness runs the in-process store as broken by f.
func storeHarness(f func(*fenced.Store) fenced.Backend) fencedtest.Harness {
	return fencedtest.Harness{
		Open: func(t *testing.T) fenced.Backend { return f(openStore(t).(*fenced.Store)) },
		Wrap: synctest.Test,
	}
}

// unable names the checks that need what a store cannot do.
func unable(cannot ...string) map[string]string {
	skip := make(map[string]string)
	note := func(name, needs string) {
		for _, what := range cannot {
			if strings.HasPrefix(needs, what) {
				skip[name] = "a naive store cannot " + needs
			}
		}
	}
	for _, law := range fencedtest.Laws() {
		for _, check := range law.Checks {
			note(law.Name+"/"+check.Name, check.Needs)
		}
	}
	for _, s := range fencedtest.Scenarios() {
		note("Scenario/"+s.Name, s.Needs)
	}
	return skip
}
