// Package fencedtest is the conformance kit of package fenced: every law of it,
// and what went wrong elsewhere, as checks that any [fenced.Backend] can be run
// against. A test of a store calls [Run] with a [Harness]; for a store that
// lives in its process, Open and [testing/synctest.Test] as Wrap will do.
//
// Each check is a subtest named after its law ("NoStaleApply/ending-two") or
// after the public report it restates ("Scenario/river-1302"), has a store of
// its own, and quotes the law where it fails. What only some stores can do
// ([fenced.Waiter], [fenced.Watcher], [fenced.Lister], Stats, Close) is probed
// for; a store that cannot must say so in Skip, check by check, or fail. So a
// green run lists what it did not show.
//
// The kit shows that a store breaks a law, never that it keeps it under every
// interleaving. Run it under the race detector as well.
package fencedtest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
)

// Harness is how the kit gets at the stores of one implementation. The zero
// Harness lacks an Open.
type Harness struct {
	// Open returns a store that is fresh, empty and apart from all others it
	// returned, some of which may still be open. If it needs closing, Open sees
	// to that with t.Cleanup.
	Open func(t *testing.T) fenced.Backend

	// Reopen closes b and opens again what b held, as after a restart. nil: the
	// store is not durable, and no check calls for it.
	Reopen func(t *testing.T, b fenced.Backend) fenced.Backend

	// Skip names what is not run, and why: a law ("Progress"), a check
	// ("Progress/first-come") or a scenario ("Scenario/etcd-6127"). A name that
	// does not exist fails, as does an empty reason. nil: all is run.
	Skip map[string]string

	// Wrap calls f with t, or with one derived from it, such as
	// [testing/synctest.Test] does. nil: f is called as it is.
	Wrap func(t *testing.T, f func(t *testing.T))

	// Tick is the unit of the kit's clock. The longest checks take some hundred
	// ticks, and a call should take less than one. At least a millisecond; 0: a
	// second, which suits a synctest bubble.
	Tick time.Duration

	_ struct{}
}

// Run runs every law and scenario as a subtest of t.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if h.Open == nil {
		t.Fatal("fencedtest: a harness without Open")
	}
	if h.Tick == 0 {
		h.Tick = time.Second
	}
	if h.Tick < time.Millisecond {
		t.Fatalf("fencedtest: a tick of %v, at least a millisecond", h.Tick)
	}
	if h.Wrap == nil {
		h.Wrap = func(t *testing.T, f func(t *testing.T)) { f(t) }
	}
	all := Laws()
	for _, s := range Scenarios() {
		all = append(all, s.law())
	}
	h.judgeSkip(t, all)
	for _, law := range all {
		for _, check := range law.Checks {
			h.run(t, law, check)
		}
	}
}

// judgeSkip fails t for what Skip says in vain.
func (h *Harness) judgeSkip(t *testing.T, all []Law) {
	t.Helper()
	known := make(map[string]bool)
	for _, law := range all {
		known[law.Name] = true
		for _, check := range law.Checks {
			known[law.Name+"/"+check.Name] = true
		}
	}
	delete(known, scenario) // they are skipped one by one
	for _, name := range slices.Sorted(maps.Keys(h.Skip)) {
		if !known[name] {
			t.Errorf("fencedtest: Skip names %q, which is no law, check or scenario", name)
		}
		if strings.TrimSpace(h.Skip[name]) == "" {
			t.Errorf("fencedtest: Skip names %q without a reason", name)
		}
	}
}

// run runs one check as a subtest.
func (h *Harness) run(t *testing.T, law Law, check Check) {
	if check.Needs == needsReopen && h.Reopen == nil {
		return
	}
	name := law.Name + "/" + check.Name
	t.Run(name, func(t *testing.T) {
		for _, skip := range []string{law.Name, name} {
			if reason, ok := h.Skip[skip]; ok {
				t.Skip(reason)
			}
		}
		h.Wrap(t, func(t *testing.T) {
			k := h.kit(t, law)
			if can, ok := capabilities[check.Needs]; ok && !can(k.b) {
				t.Fatalf("the store cannot %s: implement it, or name %q in Skip with the reason", check.Needs, name)
			}
			check.run(k)
		})
	})
}

// kit returns what a check works with.
func (h *Harness) kit(t *testing.T, law Law) *kit {
	k := &kit{t: t, tick: h.Tick, law: law, open: func() fenced.Backend { return h.Open(t) }}
	k.b = k.open()
	if h.Reopen != nil {
		k.reopen = func() { k.b = h.Reopen(t, k.b) }
	}
	// Nothing in the kit waits for longer, so a store that never answers fails
	// the check and not the whole run.
	ctx, cancel := context.WithTimeout(context.Background(), max(patience*h.Tick, 30*time.Second))
	k.ctx = ctx
	t.Cleanup(func() {
		cancel()
		k.running.Wait()
	})
	return k
}
