package fencedtest

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/fencedgo/fenced"
)

// SingleWriter.

func claimWhileHeld(k *kit) {
	a := k.claim("A")
	k.that(a.Key == key && a.Holder == "A" && !a.Exists() && a.Version == 0 && a.Generation == 1 && !a.Expires.IsZero(),
		"first grant is %+v", a)
	k.claimRefused(key, "B")
	k.claimRefused(key, "A") // a label is no identity
	r := k.read(key)
	k.that(same(r, a.Record), "record is %+v under grant %+v", r, a.Record)
	k.release(k.commit(a, "paid"))
	r = k.read(key)
	k.that(r.Holder == "" && r.Expires.IsZero(), "a free record shows holder %q until %v", r.Holder, r.Expires)
	b := k.claim("B")
	k.that(string(b.Value) == "paid" && b.Version == 1 && b.Generation == 2, "next grant is %+v", b)
}

func swapWhileHeld(k *kit) {
	k.swap(key, 0, "paid")
	a := k.claim("A")
	k.swapRefused(key, 1, held)
	k.removeRefused(key, 1, held)
	k.swapRefused(key, 0, held, moved)
	k.removeRefused(key, 2, held, moved)
	k.release(a)
	k.swap(key, 1, "sent")
}

func claimsAtOnce(k *kit) {
	const claimants = 16
	k.many(20, func(round int) {
		key := fmt.Sprintf("orders/%d", round)
		var grants [claimants]fenced.Grant
		var errs [claimants]error
		k.together(claimants, func(i int) {
			grants[i], errs[i] = k.b.TryAcquire(k.ctx, key, "w", k.ticks(long))
		})
		won := -1
		for i, err := range errs {
			switch {
			case err == nil && won >= 0:
				k.failf("two claimants hold %q: %+v and %+v", key, grants[won].Record, grants[i].Record)
			case err == nil:
				won = i
			case !errors.Is(err, held):
				k.failf("claim: %v", err)
			}
		}
		k.that(won >= 0, "none of %d claimants got the free record %q", claimants, key)
		k.commit(grants[won], "paid")
	})
}

func recordsApart(k *kit) {
	a, b := k.claimOf("a", "A", long), k.claimOf("b", "A", long)
	k.release(a)
	b = k.commit(b, "paid")
	k.stands("a", 0, 2, "")
	k.stands("b", 1, 1, "paid")
	k.release(b)
}

// UniqueGeneration.

func generationsDiffer(k *kit) {
	carried := make(map[fenced.Generation]string)
	note := func(g fenced.Grant, how string) {
		k.t.Helper()
		k.that(g.Generation != 0, "a grant without a generation")
		if before, ok := carried[g.Generation]; ok {
			k.failf("generation %d was carried by a grant that was %s, and again by one that was %s", g.Generation, before, how)
		}
		carried[g.Generation] = how
	}
	for range 2 {
		for _, e := range endings {
			note(e.end(k, key, "w1"), e.name)
			if r := k.read(key); r.Holder != "" {
				successor := fenced.Grant{Record: r}
				note(successor, "reclaimed")
				k.reclaim(successor)
			}
		}
		k.remove(key, k.read(key).Version)
	}
}

func sameLabel(k *kit) {
	a := k.lapsed("w1")
	b := k.claim("w1")
	k.that(a.Generation != b.Generation, "two grants of w1 carry generation %d", a.Generation)
	k.stopped(a)
	k.commit(b, "paid")
}

func generationsAtOnce(k *kit) {
	const claimants, each = 8, 10
	var carried [claimants][]fenced.Generation
	var errs [claimants]error
	k.together(claimants, func(i int) {
		for tries := 0; len(carried[i]) < each && errs[i] == nil; tries++ {
			g, err := k.b.TryAcquire(k.ctx, key, "w", k.ticks(long))
			if errors.Is(err, held) && k.again(tries) {
				continue
			}
			if err == nil {
				carried[i] = append(carried[i], g.Generation)
				runtime.Gosched() // others may try
				g, err = k.b.Commit(k.ctx, g, []byte("w"))
			}
			if err == nil {
				err = k.b.Release(k.ctx, g)
			}
			errs[i] = err
		}
	})
	k.must(errors.Join(errs[:]...), "claim and release")
	seen := make(map[fenced.Generation]bool)
	for _, some := range carried {
		for _, n := range some {
			k.that(!seen[n], "two grants carry generation %d", n)
			seen[n] = true
		}
	}
	k.that(len(seen) == claimants*each, "%d grants of %d", len(seen), claimants*each)
	k.stands(key, claimants*each, claimants*each+1, "w")
}
