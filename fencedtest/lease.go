package fencedtest

import "github.com/fencedgo/fenced"

// NoClock.

func lapsedCommits(k *kit) {
	a := k.lapsed("A")
	k.pause(3)
	a = k.commit(a, "one")
	a = k.delete(a)
	a = k.commit(a, "three")
	k.stands(key, 3, 1, "three")
	k.release(a)
	k.stopped(a)
}

func lapsedRenews(k *kit) {
	a := k.lapsed("A")
	k.pause(3)
	a = k.renew(a, long)
	k.claimRefused(key, "B")
	k.that(len(k.sweep(0)) == 0, "a renewed grant was reclaimed")
	k.commit(a, "one")
}

// lapsedIsHeld looks at a grant that nobody has reclaimed: it is still current,
// and an optimistic writer is no claimant.
func lapsedIsHeld(k *kit) {
	k.swap(key, 0, "paid")
	a := k.lapsed("A")
	r := k.read(key)
	k.that(same(r, a.Record), "a lapsed grant is %+v, its record %+v", a.Record, r)
	k.swapRefused(key, 1, held)
	k.removeRefused(key, 1, held)
	k.commit(a, "sent")
}

// unlapsedZombie has most of its lease left, and no grant.
func unlapsedZombie(k *kit) {
	a := k.claim("A")
	k.reclaim(a)
	k.stopped(a)
	b := k.claim("B")
	k.stopped(a)
	k.commit(b, "one")
}

func overrunCounted(k *kit) {
	stats := k.b.(counter).Stats
	k.release(k.claim("A"))
	k.that(stats().Overruns == 0, "%d overruns after a release in time", stats().Overruns)
	k.release(k.commit(k.lapsed("A"), "late"))
	k.that(stats().Overruns == 1, "%d overruns after a release past the lease, want 1", stats().Overruns)
	k.release(k.renew(k.lapsed("A"), long))
	k.that(stats().Overruns == 1, "%d overruns after a renewed lease, want 1", stats().Overruns)
}

// Progress, without waiting.

func deadHolder(k *kit) {
	k.swap(key, 0, "paid")
	for n := fenced.Generation(1); n < 6; n++ {
		g := k.claimOf(key, "w1", short)
		k.that(g.Generation == n && g.Version == 1 && string(g.Value) == "paid", "claim gave %+v, want generation %d", g.Record, n)
		k.pause(short) // it dies
	}
	a := k.claimOf(key, "A", 20)
	k.claimRefused(key, "B") // not before
	k.pause(20)
	k.release(k.commit(k.claim("B"), "sent"))
	k.stopped(a)
}

// lapseInstant lets exactly the lease pass, where the clock is exact.
func lapseInstant(k *kit) {
	k.claimOf(key, "A", 3)
	k.claimOf("swept", "A", 3)
	k.pause(3)
	b := k.claim("B")
	k.that(b.Generation == 2, "claimed at generation %d, want 2", b.Generation)
	ended := k.sweep(0)
	k.that(len(ended) == 1 && ended[0].Key == "swept", "reclaimed %+v at the instant the lease ended", ended)
}

func renewalSets(k *kit) {
	a := k.claimOf(key, "A", long)
	longer := k.renew(a, 2*long)
	k.that(longer.Expires.After(a.Expires), "a longer lease ends at %v, the shorter at %v", longer.Expires, a.Expires)
	k.that(longer.Version == a.Version && longer.Generation == a.Generation && longer.Holder == "A", "renewal returned %+v", longer.Record)
	k.that(k.read(key).Expires.Equal(longer.Expires), "record shows %v, the renewal %v", k.read(key).Expires, longer.Expires)
	shorter := k.renew(a, short)
	k.that(shorter.Expires.Before(a.Expires), "a shorter lease ends at %v, the longer at %v", shorter.Expires, a.Expires)
	k.pause(short)
	b := k.claim("B") // the shorter one counts
	k.that(b.Generation == a.Generation+1, "claimed at generation %d", b.Generation)

	c := k.claimOf("lengthened", "C", 10)
	k.renew(c, long)
	k.pause(11)
	k.claimRefused("lengthened", "D") // the longer one counts
	k.that(len(k.sweep(0)) == 0, "a lengthened lease was reclaimed")
}

// listsExisting walks the records while it changes them.
func listsExisting(k *kit) {
	all := k.b.(fenced.Lister).All
	for range all() {
		k.failf("an empty store lists a record")
	}
	for _, name := range []string{"a", "b", "c", "gone"} {
		k.swap(name, 0, name)
	}
	k.remove("gone", 1)
	k.claimOf("held", "A", long)
	k.claimOf("a", "A", long)
	seen := make(map[string]bool)
	for r := range all() {
		k.that(!seen[r.Key], "%q is listed twice", r.Key)
		seen[r.Key] = true
		k.that(same(r, k.read(r.Key)), "listed as %+v, is %+v", r, k.read(r.Key))
	}
	k.that(len(seen) == 3 && seen["a"] && seen["b"] && seen["c"], "listed %v, want a, b and c", seen)
	n := 0
	for range all() {
		n++
		break
	}
	k.that(n == 1, "a walk broken off went on")
}
