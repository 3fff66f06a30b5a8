package fencedtest_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/fencedtest"
)

// TestNaive runs a store that can do no more than it must. It says so.
func TestNaive(t *testing.T) { fencedtest.Run(t, naiveHarness("")) }

// TestPatient runs one that can also wait and watch.
func TestPatient(t *testing.T) { fencedtest.Run(t, patientHarness("")) }

// TestLister runs one that can list.
func TestLister(t *testing.T) { fencedtest.Run(t, listerHarness("")) }

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
