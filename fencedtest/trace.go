package fencedtest

import (
	"errors"
	"fmt"

	"github.com/fencedgo/fenced"
)

// NoTrace.

// refuse makes calls that all are to be refused, and fails where one is not or
// leaves a trace.
func (k *kit) refuse(key string, calls map[string]func() error) {
	k.t.Helper()
	for name, call := range calls {
		k.untouched(key, func() {
			if err := call(); err == nil {
				k.failf("%s of %q was accepted", name, key)
			}
		})
	}
}

func traceZombie(k *kit) {
	for i, e := range endings {
		key := fmt.Sprintf("orders/%d", i)
		k.swap(key, 0, "paid")
		g := e.end(k, key, "A")
		k.refuse(key, k.calls(g))
		if k.read(key).Holder == "" {
			k.claimOf(key, "B", long)
			k.refuse(key, k.calls(g))
		}
	}
}

func traceMoved(k *kit) {
	old := k.claim("A")
	now := k.commit(old, "one")
	calls := k.calls(old)
	k.refuse(key, map[string]func() error{"commit": calls["commit"], "delete": calls["delete"]})
	k.commit(now, "two")
}

// others are the calls that are refused while someone holds the record.
func (k *kit) others(version fenced.Version) map[string]func() error {
	return map[string]func() error{
		"claim":              func() error { _, err := k.b.TryAcquire(k.ctx, key, "B", k.ticks(2*long)); return err },
		"compare-and-swap":   func() error { _, err := k.b.CompareAndSwap(k.ctx, key, version, []byte("B")); return err },
		"compare-and-delete": func() error { _, err := k.b.CompareAndDelete(k.ctx, key, version); return err },
	}
}

func traceHeld(k *kit) {
	k.swap(key, 0, "paid")
	k.release(k.claim("earlier"))
	a := k.claim("A")
	k.refuse(key, k.others(1))
	k.refuse(key, k.others(0))
	k.refuse(key, map[string]func() error{
		"reclaim of an earlier grant": func() error { _, err := k.b.Reclaim(k.ctx, key, a.Generation-1); return err },
		"reclaim of a later grant":    func() error { _, err := k.b.Reclaim(k.ctx, key, a.Generation+1); return err },
	})
	k.commit(a, "sent")
}

func traceFree(k *kit) {
	k.swap(key, 0, "paid")
	for range 2 {
		r := k.read(key)
		k.refuse(key, map[string]func() error{
			"compare-and-swap":   func() error { _, err := k.b.CompareAndSwap(k.ctx, key, r.Version+1, []byte("B")); return err },
			"compare-and-delete": func() error { _, err := k.b.CompareAndDelete(k.ctx, key, r.Version+1); return err },
			"reclaim":            func() error { _, err := k.b.Reclaim(k.ctx, key, r.Generation); return err },
		})
		k.refuse(key, k.calls(fenced.Grant{}))
		k.refuse(key, k.calls(fenced.NewGrant(r, 1)))
		k.remove(key, r.Version) // and once more where nothing is
	}
}

// traceLease looks at a lease by letting it lapse: no refused call may have
// made it longer.
func traceLease(k *kit) {
	zombie := k.dispossessed()
	b := k.claimOf(key, "A", 10)
	k.renewRefused(zombie, stale)
	k.claimRefused(key, "A")
	if err := k.calls(zombie)["renew"](); err == nil {
		k.failf("a zombie's renewal was accepted")
	}
	if _, err := k.b.Renew(k.ctx, b, -1); !errors.Is(err, fenced.ErrInvalid) {
		k.failf("a renewal for a negative lease: %v", err)
	}
	k.pause(10)
	c := k.claim("C")
	k.that(c.Generation == b.Generation+1, "took over at generation %d, want %d", c.Generation, b.Generation+1)
}

// traceAbsent is refused on a key that the store has never seen.
func traceAbsent(k *kit) {
	k.swapRefused(key, 1, moved)
	k.removeRefused(key, 1, moved)
	k.reclaimRefused(key, 1)
	k.refuse(key, k.calls(fenced.NewGrant(fenced.Record{Key: key, Generation: 1}, 1)))
	for r := range k.b.(fenced.Lister).All() {
		k.failf("refused calls left the record %+v", r)
	}
}

// traceQueue has all kinds of refused calls made while two claimants wait.
func traceQueue(k *kit) {
	zombie := k.dispossessed()
	a := k.claim("A")
	old := a
	a = k.commit(a, "sent")
	b, c := k.line("B"), k.line("C")
	k.refuse(key, k.calls(zombie))
	k.refuse(key, k.others(7))
	k.refuse(key, k.others(8))
	k.refuse(key, map[string]func() error{
		"commit":  k.calls(old)["commit"],
		"delete":  k.calls(old)["delete"],
		"reclaim": func() error { _, err := k.b.Reclaim(k.ctx, key, zombie.Generation); return err },
	})
	k.waiting(b, c)
	k.release(a)
	k.refuse(key, k.calls(a))
	g := k.served(b)
	k.waiting(c)
	k.release(g)
	k.release(k.served(c))
}
