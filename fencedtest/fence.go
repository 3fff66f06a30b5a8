package fencedtest

import (
	"fmt"
	"sync"

	"github.com/fencedgo/fenced"
)

// NoStaleApply.

// dispossessed returns a grant of version 7 and generation 3 that has lapsed
// and was reclaimed.
func (k *kit) dispossessed() fenced.Grant {
	k.t.Helper()
	k.story()
	a := k.lapsed("A")
	k.that(a.Version == 7 && a.Generation == 3, "A claimed at %d, %d; want 7, 3", a.Version, a.Generation)
	r := k.reclaim(a)
	k.that(r.Version == 7 && r.Generation == 4 && r.Holder == "", "reclaim left %+v; want 7, 4", r)
	return a
}

func endingOne(k *kit) {
	a := k.dispossessed()
	b := k.claim("B")
	k.that(b.Version == 7 && b.Generation == 4, "B claimed at %d, %d; want 7, 4", b.Version, b.Generation)
	b = k.commit(b, "sent")
	k.that(b.Version == 8 && b.Generation == 4, "B committed to %d, %d; want 8, 4", b.Version, b.Generation)
	k.commitRefused(a, moved, stale)
	k.deleteRefused(a, moved, stale)
	k.stands(key, 8, 4, "sent")
	k.release(b)
}

func endingTwo(k *kit) {
	a := k.dispossessed()
	b := k.claim("B")
	k.commitRefused(a, stale) // 7 is 7: the version alone would let it pass
	k.deleteRefused(a, stale)
	k.stands(key, 7, 4, "paid")
	k.release(b)
	k.commitRefused(a, stale)
	k.stands(key, 7, 5, "paid")
}

func zombieUnclaimed(k *kit) {
	a := k.dispossessed()
	k.commitRefused(a, stale) // though nobody else holds it
	k.deleteRefused(a, stale)
	k.stands(key, 7, 4, "paid")
}

// delayedDuplicate sends the copy of a commit, with the version it finds, once
// its grant was released, and once the next claimant holds the record.
func delayedDuplicate(k *kit) {
	k.story()
	a := k.claim("A")
	first, second := a, k.commit(a, "sent")
	k.release(second)
	k.stands(key, 8, 4, "sent")
	k.commitRefused(first, moved, stale)
	k.commitRefused(second, stale)
	b := k.claim("A")
	k.that(b.Version == 8 && b.Generation == 4, "claimed at %d, %d; want 8, 4", b.Version, b.Generation)
	k.commitRefused(first, moved, stale)
	k.commitRefused(second, stale)
	k.deleteRefused(second, stale)
	k.stands(key, 8, 4, "sent")
	k.commit(b, "kept")
}

// commitAgainstReclaim lets a holder commit as fast as it can while it is
// reclaimed and succeeded: what it was told has landed has, and nothing after.
func commitAgainstReclaim(k *kit) {
	k.many(30, func(round int) {
		key := fmt.Sprintf("orders/%d", round)
		a := k.claimOf(key, "A", long)
		var landed fenced.Version
		var at fenced.Record
		var b fenced.Grant
		var errReclaim, errClaim error
		landing := make(chan struct{}) // closed once A has begun
		k.together(2, func(i int) {
			if i == 0 {
				begun := sync.OnceFunc(func() { close(landing) })
				for g, err := a, error(nil); err == nil && landed < 10_000; begun() {
					if g, err = k.b.Commit(k.ctx, g, []byte("A")); err == nil {
						landed++
					}
				}
				return
			}
			<-landing
			if at, errReclaim = k.b.Reclaim(k.ctx, key, a.Generation); errReclaim == nil {
				b, errClaim = k.b.TryAcquire(k.ctx, key, "B", k.ticks(long))
			}
		})
		k.must(errReclaim, "reclaim")
		k.must(errClaim, "claim")
		k.that(at.Version == landed && b.Version == landed,
			"%d commits landed; reclaimed at version %d, claimed at %d", landed, at.Version, b.Version)
		k.commit(b, "B")
		k.stands(key, landed+1, 2, "B")
	})
}

func refusalsCounted(k *kit) {
	stats := k.b.(counter).Stats
	a := k.claim("A")
	now := k.commit(a, "one")
	before := stats()
	k.commitRefused(a, moved)
	k.deleteRefused(a, moved)
	k.swapRefused(key, 1, held)
	k.claimRefused(key, "B")
	k.reclaim(a)
	k.commitRefused(now, stale)
	k.deleteRefused(now, stale)
	k.commitRefused(now, stale)
	k.commitRefused(a, moved, stale)
	k.renewRefused(a, stale)
	k.swapRefused(key, 0, moved)
	after := stats()
	for what, n := range map[string][2]uint64{
		"RefusedVersion":    {after.RefusedVersion - before.RefusedVersion, 3},
		"RefusedGeneration": {after.RefusedGeneration - before.RefusedGeneration, 3},
		"RefusedBoth":       {after.RefusedBoth - before.RefusedBoth, 1},
		"RefusedHeld":       {after.RefusedHeld - before.RefusedHeld, 2},
		"Reclaimed":         {after.Reclaimed - before.Reclaimed, 1},
		"Live":              {before.Live - after.Live, 1},
		"Commits":           {before.Commits, after.Commits},
	} {
		k.that(n[0] == n[1], "%s: %d, want %d", what, n[0], n[1])
	}
}
