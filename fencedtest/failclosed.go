package fencedtest

import (
	"context"
	"errors"
	"time"

	"github.com/fencedgo/fenced"
)

// FailClosed.

// invalid fails unless all four calls under g are refused as no call at all,
// and change nothing.
func (k *kit) invalid(g fenced.Grant) {
	k.t.Helper()
	k.untouched(key, func() {
		for name, call := range k.calls(g) {
			if err := call(); !errors.Is(err, fenced.ErrInvalid) {
				k.failf("%s under %+v: %v, want ErrInvalid", name, g.Record, err)
			}
		}
	})
}

func failZero(k *kit) {
	zeros := func() {
		k.t.Helper()
		r := k.read(key)
		k.invalid(fenced.Grant{})
		k.invalid(fenced.Grant{Record: fenced.Record{Key: key}})
		k.invalid(fenced.Grant{Record: fenced.Record{Key: key, Holder: "A", Version: r.Version, Expires: r.Expires}})
		k.invalid(fenced.NewGrant(fenced.Record{Key: key, Version: r.Version}, 1))
	}
	zeros()
	g := k.claim("A")
	zeros()
	for _, lost := range []func(*fenced.Grant){
		func(g *fenced.Grant) { g.Key = "" },
		func(g *fenced.Grant) { g.Generation = 0 },
	} {
		without := g
		lost(&without)
		k.invalid(without)
	}
	k.commit(g, "paid")
	zeros()
}

func failHandBuilt(k *kit) {
	k.swap(key, 0, "paid")
	k.closedTo(fenced.Grant{Record: k.read(key)}, foreign) // the next grant, not yet issued
	g := k.claim("A")
	k.untouched(key, func() {
		k.closedTo(fenced.Grant{Record: g.Record}, foreign)
		k.closedTo(fenced.NewGrant(g.Record, g.Nonce()^1), foreign)
		k.closedTo(fenced.NewGrant(g.Record, g.Nonce()+1), foreign)
	})
	k.commit(fenced.NewGrant(g.Record, g.Nonce()), "sent")
}

// failOtherStore presents grants whose numbers match, of a store beside this
// one or of its earlier life.
func failOtherStore(k *kit) {
	other := k.open()
	theirs, err := other.TryAcquire(k.ctx, key, "A", k.ticks(long))
	k.must(err, "claim in another store")
	k.untouched(key, func() { k.closedTo(theirs, foreign) })
	ours := k.claim("A")
	k.untouched(key, func() { k.closedTo(theirs, foreign) })
	parsed, err := fenced.ParseToken(theirs.Token())
	k.must(err, "parse a token of another store's")
	k.untouched(key, func() { k.closedTo(parsed, foreign) })
	k.commit(ours, "paid")
	_, err = other.Commit(k.ctx, theirs, []byte("paid"))
	k.must(err, "commit in the other store")
}

// failAltered presents grants of this store with another's key or generation.
func failAltered(k *kit) {
	a := k.claimOf("a", "A", long)
	k.claimOf("b", "A", long)
	other := a
	other.Key = "b"
	k.untouched("b", func() { k.closedTo(other, foreign) })
	other.Key = "c"
	k.untouched("c", func() { k.closedTo(other, foreign) })

	future := a
	future.Generation += 4
	k.untouched("a", func() { k.closedTo(future, foreign) })
	future.Generation = 1<<64 - 1
	k.untouched("a", func() { k.closedTo(future, foreign) })

	k.release(a)
	a.Generation++ // what the record now says
	k.denied(a)
	k.claimOf("a", "A", long)
	k.denied(a)
	a.Generation++
	k.denied(a)
	k.stands("a", 0, 2, "")
}

// denied fails unless all four calls are refused, as foreign or as stale: a
// store need not remember the marks of grants that have ended.
func (k *kit) denied(g fenced.Grant) {
	k.t.Helper()
	k.untouched(g.Key, func() {
		for name, call := range k.calls(g) {
			if err := call(); !errors.Is(err, foreign) && !errors.Is(err, stale) {
				k.failf("%s under %+v, which was altered: %v", name, g.Record, err)
			}
		}
	})
}

func failContext(k *kit) {
	other, err := k.open().TryAcquire(k.ctx, key, "A", k.ticks(long))
	k.must(err, "claim in another store")
	k.claim("A")
	for want, g := range map[error]fenced.Grant{fenced.ErrInvalid: {}, foreign: other} {
		ctx, cancel := k.b.(fenced.Watcher).Context(k.ctx, g)
		k.that(ctx.Err() != nil && errors.Is(context.Cause(ctx), want), "context of a grant that is none: %v, want %v", context.Cause(ctx), want)
		cancel()
	}
}

func failClosed(k *kit) {
	g := k.claim("A")
	ctx := k.ctx
	if w, ok := k.b.(fenced.Watcher); ok {
		var cancel context.CancelFunc
		ctx, cancel = w.Context(k.ctx, g)
		defer cancel()
	}
	var b *claimant
	if is[fenced.Waiter](k.b) {
		b = k.line("B")
	}
	k.must(k.b.(closer).Close(), "close")
	if b != nil {
		<-b.done
		k.that(errors.Is(b.err, fenced.ErrClosed), "a claimant that waited for a store now closed got %v", b.err)
	}
	if is[fenced.Watcher](k.b) {
		<-ctx.Done()
		k.that(errors.Is(context.Cause(ctx), fenced.ErrClosed), "the context of a grant of a closed store has cause %v", context.Cause(ctx))
	}
	for name, call := range k.all(k.ctx, g) {
		if err := call(); !errors.Is(err, fenced.ErrClosed) {
			k.failf("%s in a closed store: %v, want ErrClosed", name, err)
		}
	}
	k.must(k.b.(closer).Close(), "close once more")
}

// all are the calls of a Backend, as they would be accepted under g.
func (k *kit) all(ctx context.Context, g fenced.Grant) map[string]func() error {
	return map[string]func() error{
		"read":               func() error { _, err := k.b.Read(ctx, key); return err },
		"claim":              func() error { _, err := k.b.TryAcquire(ctx, "free", "B", k.ticks(long)); return err },
		"commit":             func() error { _, err := k.b.Commit(ctx, g, []byte("late")); return err },
		"delete":             func() error { _, err := k.b.Delete(ctx, g); return err },
		"renew":              func() error { _, err := k.b.Renew(ctx, g, k.ticks(2*long)); return err },
		"release":            func() error { return k.b.Release(ctx, g) },
		"reclaim":            func() error { _, err := k.b.Reclaim(ctx, key, g.Generation); return err },
		"reclaim expired":    func() error { _, err := k.b.ReclaimExpired(ctx, 0); return err },
		"compare-and-swap":   func() error { _, err := k.b.CompareAndSwap(ctx, "free", 0, []byte("late")); return err },
		"compare-and-delete": func() error { _, err := k.b.CompareAndDelete(ctx, "free", 0); return err },
	}
}

// failFinished makes every call under a context that has ended.
func failFinished(k *kit) {
	k.swap(key, 0, "paid")
	g := k.lapsed("A") // so that a sweep would find something too
	cancelled, cancel := context.WithCancel(k.ctx)
	cancel()
	late, stop := context.WithDeadline(k.ctx, time.Now().Add(-time.Second))
	defer stop()
	for _, ctx := range []context.Context{cancelled, late} {
		for name, call := range k.all(ctx, g) {
			k.untouched(key, func() {
				if err := call(); !errors.Is(err, ctx.Err()) {
					k.failf("%s under a finished context: %v, want %v", name, err, ctx.Err())
				}
			})
		}
	}
	k.stands("free", 0, 1, "")
	k.that(k.read("free").Holder == "", "a claim under a finished context holds the record")
	k.commit(g, "sent")
}
