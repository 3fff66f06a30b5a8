package fencedtest

import (
	"errors"
	"fmt"

	"github.com/fencedgo/fenced"
)

// Sticky.

// stickyReads tries again with whatever a read shows.
func stickyReads(k *kit) {
	for i, e := range endings {
		key := fmt.Sprintf("orders/%d", i)
		k.swap(key, 0, "paid")
		g := e.end(k, key, "A")
		k.stopped(g)
		for range 3 {
			r := k.read(key)
			g.Version, g.Holder, g.Expires, g.Value = r.Version, r.Holder, r.Expires, r.Value
			k.commitRefused(g, stale)
			k.deleteRefused(g, stale)
			if k.read(key).Holder == "" {
				k.swap(key, r.Version, fmt.Sprintf("moved from %d", r.Version))
			}
		}
	}
}

func stickyRetries(k *kit) {
	a := k.dispossessed()
	for range 3 {
		for _, name := range []string{"renew", "release", "commit", "delete"} {
			if err := k.calls(a)[name](); !errors.Is(err, stale) {
				k.failf("%s, once more, under a grant that has ended: %v", name, err)
			}
		}
	}
	k.pause(2 * short)
	k.stopped(a)
	k.stands(key, 7, 4, "paid")
}

func stickyOthers(k *kit) {
	a := k.dispossessed()
	b := k.claim("A") // the same label
	k.stopped(a)
	k.renew(b, short)
	k.stopped(a)
	k.pause(short)
	k.stopped(a)
	k.sweep(0)
	k.stopped(a)
	c := k.delete(k.claim("C"))
	k.stopped(a)
	k.release(c)
	k.swap(key, 0, "again")
	k.stopped(a)
	k.remove(key, 9)
	k.swap(key, 10, "again")
	k.stopped(a)
	k.stopped(b)
	k.stopped(c)
}

func stickyListing(k *kit) {
	a := k.dispossessed()
	for range 2 {
		n := 0
		for r := range k.b.(fenced.Lister).All() {
			n++
			a.Version = r.Version
		}
		k.that(n == 1, "%d records listed, want 1", n)
		k.stopped(a)
	}
}

func stickyReopened(k *kit) {
	a := k.dispossessed()
	b := k.claimOf("other", "B", long)
	k.reopen()
	k.stopped(a)
	k.claim("A")
	k.stopped(a)
	// A durable store may keep its grants over a restart or end them all. It
	// may not do both.
	if err := k.calls(b)["commit"](); err != nil {
		k.stopped(b)
	} else {
		k.claimRefused("other", "C")
	}
}
