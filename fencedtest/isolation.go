package fencedtest

import "github.com/fencedgo/fenced"

// Isolation.

// scribble overwrites a slice, and what lies behind it.
func scribble(value []byte) {
	value = value[:cap(value)]
	for i := range value {
		value[i] = '#'
	}
}

func roomy(value string) []byte { return append(make([]byte, 0, 64), value...) }

func isolationIn(k *kit) {
	value := roomy("one")
	_, err := k.b.CompareAndSwap(k.ctx, key, 0, value)
	k.must(err, "compare-and-swap")
	scribble(value)
	k.stands(key, 1, 1, "one")
	g := k.claim("A")
	for v := fenced.Version(2); v < 5; v++ { // the first may grow the store's own slice, the next reuse it
		value = roomy("two")
		g, err = k.b.Commit(k.ctx, g, value)
		k.must(err, "commit")
		scribble(value)
		k.stands(key, v, 1, "two")
	}
}

func isolationOut(k *kit) {
	r := k.swap(key, 0, "one")
	scribble(r.Value)
	k.stands(key, 1, 1, "one")
	r = k.read(key)
	scribble(r.Value)
	k.stands(key, 1, 1, "one")
	g := k.claim("A")
	scribble(g.Value)
	k.stands(key, 1, 1, "one")

	earlier, g := k.read(key), k.commit(g, "two")
	k.that(string(earlier.Value) == "one", "a write changed what was read before to %q", earlier.Value)
	scribble(g.Value)
	k.stands(key, 2, 1, "two")
	g = k.renew(g, long)
	scribble(g.Value)
	k.stands(key, 2, 1, "two")

	g = k.commit(g, "three")
	k.release(g)
	next := k.claim("B")
	k.commit(next, "four!")
	k.that(string(next.Value) == "three", "a write changed what was claimed before to %q", next.Value)
}

func isolationReclaimed(k *kit) {
	k.swap(key, 0, "one")
	r := k.reclaim(k.claim("A"))
	scribble(r.Value)
	k.stands(key, 1, 2, "one")
	k.lapsed("A")
	for _, g := range k.sweep(0) {
		scribble(g.Value)
	}
	k.stands(key, 1, 3, "one")
	k.claimOf(key, "A", short)
	k.pause(short)
	scribble(k.claim("B").Value)
	k.stands(key, 1, 4, "one")
}

func isolationListed(k *kit) {
	k.swap(key, 0, "one")
	for r := range k.b.(fenced.Lister).All() {
		k.swap(key, 1, "two")
		k.that(string(r.Value) == "one", "a write changed what was listed before to %q", r.Value)
	}
	for r := range k.b.(fenced.Lister).All() {
		scribble(r.Value)
	}
	k.stands(key, 2, 1, "two")
}
