package fencedtest

import (
	"errors"
	"fmt"

	"github.com/fencedgo/fenced"
)

// The scenarios that need two calls at once.

// accordion127 renews a lapsed grant while it is taken over. Whichever came
// first, the successor stays.
func accordion127(k *kit) {
	k.many(20, func(round int) {
		name := fmt.Sprintf("orders/%d", round)
		a := k.claimOf(name, "A", long)
		var b fenced.Grant
		var renewal, claim error
		k.together(2, func(i int) {
			if i == round%2 {
				_, renewal = k.b.Renew(k.ctx, a, k.ticks(2*long))
				return
			}
			if _, claim = k.b.Reclaim(k.ctx, name, a.Generation); claim == nil {
				b, claim = k.b.TryAcquire(k.ctx, name, "B", k.ticks(long))
			}
		})
		k.must(claim, "reclaim and claim")
		k.that(renewal == nil || errors.Is(renewal, stale), "renewal: %v", renewal)
		k.that(same(k.read(name), b.Record), "B holds %+v, the record is %+v", b.Record, k.read(name))
		k.stopped(a)
		k.commit(b, "B")
	})
}

// omnigraph375 commits a large value while the grant is taken over: it has
// landed before the successor's claim, or it never does.
func omnigraph375(k *kit) {
	value := make([]byte, 64<<10)
	k.many(20, func(round int) {
		name := fmt.Sprintf("orders/%d", round)
		a := k.claimOf(name, "A", long)
		var b fenced.Grant
		var commit, claim error
		k.together(2, func(i int) {
			if i == round%2 {
				_, commit = k.b.Commit(k.ctx, a, value)
				return
			}
			if _, claim = k.b.Reclaim(k.ctx, name, a.Generation); claim == nil {
				b, claim = k.b.TryAcquire(k.ctx, name, "B", k.ticks(long))
			}
		})
		k.must(claim, "reclaim and claim")
		want := fenced.Version(1)
		if commit != nil {
			want = 0
			k.that(errors.Is(commit, stale), "commit: %v", commit)
		}
		k.that(b.Version == want && len(b.Value) == int(want)*len(value), "A's commit gave %v, and B claimed at version %d", commit, b.Version)
		k.that(same(k.read(name), b.Record), "B holds %+v, the record is at %d", b.Version, k.read(name).Version)
		k.commit(b, "B")
	})
}
