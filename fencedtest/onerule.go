package fencedtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencedgo/fenced"
)

// OneRule.

func endedIsEnded(k *kit) {
	for i, e := range endings {
		key := fmt.Sprintf("orders/%d", i)
		g := e.end(k, key, "w1")
		k.told(g, e.how)
		if k.read(key).Holder != "" {
			continue // by a successor of the same label
		}
		next := k.claimOf(key, "w1", long)
		k.told(g, e.how)
		next = k.commit(next, "next")
		k.told(g, e.how)
		k.release(next)
		k.told(g, fenced.EndingUnknown)
	}
}

// currentIsCurrent presents grants from which all was taken that does not
// count.
func currentIsCurrent(k *kit) {
	a := k.claim("A")
	a = k.commit(a, "one")
	a.Holder, a.Expires, a.Value = "B", time.Time{}, []byte("none of this counts")
	r := k.renew(a, long)
	k.that(r.Version == a.Version && r.Generation == a.Generation && r.Key == a.Key && r.Expires.Equal(k.read(key).Expires),
		"renewal of %+v returned %+v", a.Record, r.Record)
	a.Holder = ""
	a = k.commit(a, "two")
	a = k.commit(k.delete(a), "four")
	k.that(k.read(key).Holder == "A", "a grant's copy changed the holder to %q", k.read(key).Holder)
	k.release(a)
	k.stopped(a)
}

func tokenIsGrant(k *kit) {
	parse := func(g fenced.Grant) fenced.Grant {
		k.t.Helper()
		p, err := fenced.ParseToken(g.Token())
		k.must(err, "parse a token of this store's")
		return p
	}
	a := parse(k.claim("A"))
	a = parse(k.renew(a, long))
	old := a
	a = parse(k.commit(a, "one"))
	k.commitRefused(old, moved)
	a = parse(k.commit(parse(k.delete(a)), "three"))
	k.stands(key, 3, 1, "three")
	k.release(a)
	k.stopped(parse(a))
}

// contextEnds asks the question that a context answers by ending.
// watch returns the context of g.
func (k *kit) watch(g fenced.Grant) context.Context {
	ctx, cancel := k.b.(fenced.Watcher).Context(k.ctx, g)
	k.t.Cleanup(cancel)
	return ctx
}

func contextEnds(k *kit) {
	for i, e := range endings {
		key := fmt.Sprintf("orders/%d", i)
		ctx := k.watch(e.end(k, key, "w1"))
		<-ctx.Done()
		k.ended(ctx, e.how)
	}
	a := k.claim("A")
	ctx := k.watch(a)
	b := k.renew(a, long)
	k.release(k.claimOf("other", "A", long))
	k.commit(k.delete(k.commit(b, "one")), "three")
	k.pause(1)
	k.must(context.Cause(ctx), "context of a current grant")
	k.reclaim(a)
	<-ctx.Done()
	k.ended(ctx, fenced.Reclaimed)

	g := k.claim("B")
	parent, cancel := context.WithCancel(k.ctx)
	defer cancel()
	first, drop := k.b.(fenced.Watcher).Context(parent, g)
	second, stop := k.b.(fenced.Watcher).Context(parent, g)
	defer stop()
	drop()
	<-first.Done()
	k.must(second.Err(), "a context beside a cancelled one")
	cancel()
	<-second.Done()
	k.commit(g, "four") // contexts end with grants, not grants with contexts
}

// A store that many processes share may end a context with the lease, since one
// that is cut off from it learns nothing else in time.
func contextOutlivesLease(k *kit) {
	a := k.lapsed("A")
	ctx := k.watch(a)
	k.commit(a, "one")
	k.pause(1)
	k.must(context.Cause(ctx), "context of a lapsed grant that is current")
	k.reclaim(a)
	<-ctx.Done()
	k.ended(ctx, fenced.Reclaimed)
}

// ended fails unless ctx has ended because its grant did.
func (k *kit) ended(ctx context.Context, how fenced.Ending) {
	k.t.Helper()
	var c *fenced.ConflictError
	cause := context.Cause(ctx)
	if !errors.As(cause, &c) || !errors.Is(cause, stale) {
		k.failf("context ended with cause %v, which is no refusal for a stale generation", cause)
	}
	k.that(c.Ended == how || c.Ended == fenced.EndingUnknown, "context says its grant was %v, it was %v", c.Ended, how)
}
