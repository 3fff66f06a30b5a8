package fencedtest

import (
	"errors"
	"fmt"

	"github.com/fencedgo/fenced"
)

// ConditionalReclaim.

func reclaimSeen(k *kit) {
	k.swap(key, 0, "paid")
	a := k.claim("A") // whose lease has hardly begun
	r := k.reclaim(a)
	k.that(same(r, k.read(key)), "reclaim returned %+v, the record is %+v", r, k.read(key))
	k.that(r.Generation == 2 && r.Version == 1 && r.Holder == "" && r.Expires.IsZero() && string(r.Value) == "paid", "reclaim left %+v", r)
	k.stopped(a)
	k.commit(k.claim("B"), "sent")
}

func reclaimNotCurrent(k *kit) {
	a := k.claim("A")
	k.release(a)
	b := k.claim("A")
	for _, seen := range []fenced.Generation{a.Generation, b.Generation + 1, 0, 1 << 63} {
		k.untouched(key, func() { k.reclaimRefused(key, seen) })
	}
	k.commit(b, "paid")
	k.reclaim(b)
	k.untouched(key, func() { k.reclaimRefused(key, b.Generation) }) // once
	c := k.lapsed("C")
	k.untouched(key, func() { k.reclaimRefused(key, b.Generation) })
	k.commit(c, "sent")
}

// reclaimFree names the generation that a free record has: no grant carries it.
func reclaimFree(k *kit) {
	k.reclaimRefused(key, 1)
	k.swap(key, 0, "paid")
	k.reclaimRefused(key, 1)
	k.release(k.claim("A"))
	for range 2 {
		k.untouched(key, func() { k.reclaimRefused(key, 2) })
		k.untouched(key, func() { k.reclaimRefused(key, 1) })
		k.remove(key, k.read(key).Version)
	}
	k.stands(key, 3, 2, "")
}

func reclaimExpired(k *kit) {
	k.that(len(k.sweep(0)) == 0, "an empty store had something to reclaim")
	alive := k.claimOf("alive", "A", long)
	k.release(k.claimOf("released", "A", short))
	k.swap("lapsed", 0, "paid")
	g := k.claimOf("lapsed", "B", short)
	k.pause(short)
	ended := k.sweep(0)
	if len(ended) != 1 {
		k.failf("reclaimed %d grants, want the one that had lapsed", len(ended))
	}
	k.that(same(ended[0].Record, g.Record), "reclaimed %+v, it was %+v", ended[0].Record, g.Record)
	k.stopped(ended[0])
	k.stopped(g)
	k.stands("lapsed", 1, 2, "paid")
	k.that(k.read("lapsed").Holder == "", "a reclaimed record is held by %q", k.read("lapsed").Holder)
	k.that(len(k.sweep(0)) == 0, "a grant was reclaimed twice")
	k.commit(alive, "alive")
}

func reclaimRenewed(k *kit) {
	g := k.lapsed("A")
	other := k.claimOf("other", "B", short)
	k.pause(short)
	g = k.renew(g, long) // late, but before anyone reclaimed
	ended := k.sweep(0)
	k.that(len(ended) == 1 && ended[0].Key == "other", "reclaimed %+v, want only the grant that was not renewed", ended)
	k.commit(g, "paid")
	k.stopped(other)
}

func reclaimLimit(k *kit) {
	const n = 7
	claim := func() map[string]bool {
		keys := make(map[string]bool)
		for i := range n {
			name := fmt.Sprintf("orders/%d", i)
			k.claimOf(name, "A", short)
			keys[name] = true
		}
		k.pause(short)
		return keys
	}
	keys := claim()
	for _, want := range []int{3, 3, 1, 0} {
		ended := k.sweep(3)
		k.that(len(ended) == want, "reclaimed %d of at most 3, want %d", len(ended), want)
		for _, g := range ended {
			k.that(keys[g.Key], "%q was reclaimed twice or never claimed", g.Key)
			delete(keys, g.Key)
		}
	}
	for _, limit := range []int{0, -1, n, n + 1} {
		claim()
		ended := k.sweep(limit)
		k.that(len(ended) == n, "limit %d: reclaimed %d, want %d", limit, len(ended), n)
	}
}

// sweepsAtOnce has supervisors race each other and a holder that renews.
func sweepsAtOnce(k *kit) {
	const n, supervisors = 24, 4
	for i := range n {
		k.claimOf(fmt.Sprintf("orders/%d", i), "A", short)
	}
	g := k.lapsed("A")
	var ended [supervisors][]fenced.Grant
	var errs [supervisors]error
	var renewal error
	k.together(supervisors+1, func(i int) {
		if i == supervisors {
			_, renewal = k.b.Renew(k.ctx, g, k.ticks(long))
			return
		}
		ended[i], errs[i] = k.b.ReclaimExpired(k.ctx, 0)
	})
	k.must(errors.Join(errs[:]...), "reclaim of what has expired")
	times := make(map[string]int)
	for _, some := range ended {
		for _, e := range some {
			times[e.Key]++
		}
	}
	for i := range n {
		name := fmt.Sprintf("orders/%d", i)
		k.that(times[name] == 1, "%q was reclaimed %d times", name, times[name])
		k.stands(name, 0, 2, "")
	}
	if times[key] == 0 {
		k.must(renewal, "renewal of a grant that was not reclaimed")
		k.commit(g, "paid")
		return
	}
	k.that(times[key] == 1 && errors.Is(renewal, stale), "a grant was reclaimed %d times and its renewal gave %v", times[key], renewal)
	k.stopped(g)
}
