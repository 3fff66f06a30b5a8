package fencedtest

import (
	"fmt"

	"github.com/fencedgo/fenced"
)

// MonotonicVersion and MonotonicGeneration.

// crowded is how many dead records make a store collect them.
const crowded = 8_000

func versionByWrites(k *kit) {
	k.stands(key, 0, 1, "")
	k.swap(key, 0, "one")
	k.stands(key, 1, 1, "one")
	k.remove(key, 1)
	k.stands(key, 2, 1, "")
	g := k.claim("A")
	g = k.commit(g, "three")
	k.that(g.Version == 3 && g.Generation == 1, "commit returned %+v", g)
	k.stands(key, 3, 1, "three")
	g = k.delete(g)
	k.that(g.Version == 4 && g.Generation == 1 && !g.Exists(), "delete returned %+v", g)
	k.stands(key, 4, 1, "")
	g = k.commit(g, "five")
	k.commit(g, "five") // equal bytes are a write all the same
	k.stands(key, 6, 1, "five")
}

func versionByOwnership(k *kit) {
	k.story()
	for _, e := range endings {
		if r := k.read(key); r.Holder != "" {
			k.reclaim(fenced.Grant{Record: r})
		}
		g := e.end(k, key, "A")
		k.that(g.Version == 7, "grant at version %d, want 7", g.Version)
		k.that(k.read(key).Version == 7, "version %d once a grant was %s, want 7", k.read(key).Version, e.name)
	}
	k.reclaim(fenced.Grant{Record: k.read(key)})
	k.renew(k.claim("B"), long)
	k.that(k.read(key).Version == 7, "version %d after a renewal, want 7", k.read(key).Version)
}

func versionRecreated(k *kit) {
	k.swap(key, 0, "one")
	k.remove(key, 1)
	r := k.swap(key, 0, "again")
	k.that(r.Version == 3 && r.Key == key && string(r.Value) == "again", "made anew as %+v, want version 3", r)
	g := k.delete(k.claim("A"))
	g = k.commit(g, "once more")
	k.stands(key, 5, 1, "once more")
	g = k.delete(k.delete(g))
	k.release(g)
	k.remove(key, 0) // nothing is there, and still it is a write
	k.stands(key, 8, 2, "")
}

func versionCollected(k *kit) {
	for v := range fenced.Version(5) {
		k.swap(key, v, "paid")
	}
	k.remove(key, 5)
	k.crowd()
	r := k.read(key)
	k.that(r.Version >= 6 && !r.Exists(), "a deleted record was at version 6 and is %+v", r)
	if r = k.swap(key, 0, "again"); r.Version <= 6 {
		k.failf("made anew at version %d, after 6", r.Version)
	}
}

func versionReopened(k *kit) {
	k.swap(key, 0, "paid")
	k.swap("gone", 0, "paid")
	k.remove("gone", 1)
	k.reopen()
	k.stands(key, 1, 1, "paid")
	k.stands("gone", 2, 1, "")
	k.swap(key, 1, "sent")
}

func generationByEndings(k *kit) {
	want := fenced.Generation(1)
	for _, e := range endings {
		g := e.end(k, key, "A")
		k.that(g.Generation == want, "grant of generation %d, want %d", g.Generation, want)
		want++
		k.stands(key, 0, want, "")
	}
	r := k.reclaim(fenced.Grant{Record: k.read(key)})
	k.that(r.Generation == want+1, "reclaim left generation %d, want %d", r.Generation, want+1)
}

func generationByClaims(k *kit) {
	k.story()
	g := k.claim("A")
	k.that(g.Version == 7 && g.Generation == 3, "claim moved the record to %d, %d; want 7, 3", g.Version, g.Generation)
	k.stands(key, 7, 3, "paid")
	g = k.commit(k.renew(g, long), "sent")
	k.claimRefused(key, "B")
	k.stands(key, 8, 3, "sent")
	g = k.commit(k.delete(g), "again")
	k.stands(key, 10, 3, "again")
	k.release(g)
	k.swap(key, 10, "swapped")
	k.remove(key, 11)
	k.stands(key, 12, 4, "")
}

func generationDeleted(k *kit) {
	k.story()
	k.release(k.delete(k.claim("A")))
	k.stands(key, 8, 4, "")
	k.swap(key, 0, "again")
	g := k.claim("B")
	k.that(g.Generation == 4, "the record made anew has generation %d, want 4", g.Generation)
}

func generationCollected(k *kit) {
	k.story()
	zombie := k.claim("A")
	k.release(k.delete(zombie))
	k.crowd()
	g := k.claim("B")
	k.that(g.Generation > 3, "generation %d, after 3", g.Generation)
	k.stopped(zombie)
	k.commit(g, "again")
}

func generationReopened(k *kit) {
	k.story()
	k.claim("A")
	k.release(k.delete(k.claimOf("gone", "A", long)))
	k.reopen()
	r := k.read(key)
	k.that(r.Generation >= 3 && r.Version == 7, "reopened at %d, %d; was at 7, 3", r.Version, r.Generation)
	g := k.claimOf("gone", "B", long)
	k.that(g.Generation >= 2 && g.Version == 1, "reopened at %d, %d; was at 1, 2", g.Version, g.Generation)
}

// crowd makes and deletes so many other records that a store that collects dead
// ones does so.
func (k *kit) crowd() {
	k.t.Helper()
	k.many(crowded, func(i int) {
		key := fmt.Sprintf("crowd/%d", i)
		k.release(k.delete(k.commit(k.claimOf(key, "A", long), "x")))
	})
}
