package fencedtest

import "github.com/fencedgo/fenced"

// ending is one way for a grant to end.
type ending struct {
	name string
	how  fenced.Ending
	// end claims the record of key and ends that grant, which it returns.
	end func(k *kit, key, holder string) fenced.Grant
}

// endings are all there are. The last leaves the record to a successor with the
// same label, the others leave it free.
var endings = []ending{
	{"released", fenced.Released, func(k *kit, key, holder string) fenced.Grant {
		g := k.claimOf(key, holder, long)
		k.release(g)
		return g
	}},
	{"reclaimed", fenced.Reclaimed, func(k *kit, key, holder string) fenced.Grant {
		g := k.claimOf(key, holder, long)
		k.reclaim(g)
		return g
	}},
	{"swept", fenced.Reclaimed, func(k *kit, key, holder string) fenced.Grant {
		g := k.claimOf(key, holder, short)
		k.pause(short)
		k.that(len(k.sweep(0)) == 1, "a lapsed grant was not reclaimed")
		return g
	}},
	{"taken over", fenced.TakenOver, func(k *kit, key, holder string) fenced.Grant {
		g := k.claimOf(key, holder, short)
		k.pause(short)
		k.claimOf(key, holder, long)
		return g
	}},
}
