package fencedtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fencedgo/fenced"
)

// The scenarios that calls alone show. The lease is ten ticks.

func river1302(k *kit) {
	for variant, meanwhile := range map[string]func(a fenced.Grant){
		"commits and releases": func(a fenced.Grant) { k.release(k.commit(a, "done")) },
		"B claims":             func(a fenced.Grant) { k.release(a); k.claimOf(a.Key, "B", long) },
		"A again claims":       func(a fenced.Grant) { k.release(a); k.claimOf(a.Key, "A", long) },
		"B takes over":         func(a fenced.Grant) { k.claimOf(a.Key, "B", long) },
		"another supervisor":   func(a fenced.Grant) { k.reclaim(a) },
	} {
		alive := k.claimOf(variant, "A", 10)
		dead := k.claimOf(variant+", S", "A", 10)
		k.pause(11)
		noted := []fenced.Record{k.read(alive.Key), k.read(dead.Key)}
		meanwhile(alive)
		k.untouched(alive.Key, func() { k.reclaimRefused(noted[0].Key, noted[0].Generation) })
		k.reclaim(fenced.Grant{Record: noted[1]})
		k.stopped(dead)
	}
	a := k.lapsed("A")
	k.release(a)
	b := k.claim("B")
	k.reclaimRefused(key, a.Generation)
	k.commit(b, "done") // and B goes on
}

func etcd6127(k *kit) {
	a := k.claim("A")
	ctx, cancel := k.b.(fenced.Watcher).Context(k.ctx, a)
	defer cancel()
	k.reclaim(a)
	k.claim("B")
	<-ctx.Done()
	var c *fenced.ConflictError
	k.that(errors.As(context.Cause(ctx), &c) && errors.Is(c, stale) && c.Ended == fenced.Reclaimed,
		"the context of a reclaimed grant has cause %v, which does not say so", context.Cause(ctx))
	k.commitRefused(a, stale)
}

func etcd19597(k *kit) {
	a := k.claim("A")
	ctx, cancel := context.WithTimeout(k.ctx, k.ticks(5))
	defer cancel()
	b := k.start(ctx, key, "B", k.ticks(10))
	k.pause(1)
	c := k.line("C")
	<-b.done
	k.that(errors.Is(b.err, context.DeadlineExceeded), "B's context has ended, and it got %+v, %v", b.grant.Record, b.err)
	k.waiting(c)
	k.release(a)
	g := k.served(c)
	k.that(g.Generation == 2, "C was served with generation %d, want 2: someone held between", g.Generation)
	k.release(g)
	k.that(k.read(key).Holder == "", "%q holds the record", k.read(key).Holder)
}

func etcd10811(k *kit) {
	k.swap(key, 0, "paid")
	a := k.claimOf(key, "A", 10)
	k.pause(11)
	k.commit(k.claimOf(key, "B", long), "B")
	a.Version = k.read(key).Version
	a.Expires = time.Now().Add(k.ticks(long)) // by A's clock
	k.untouched(key, func() { k.commitRefused(a, stale) })
}

func langgraph8796(k *kit) {
	for v := range fenced.Version(5) {
		k.swap(key, v, "earlier")
	}
	a := k.claimOf(key, "A", 10)
	k.pause(11)
	b := k.commit(k.claimOf(key, "B", long), "B")
	k.untouched(key, func() {
		k.commitRefused(a, moved, stale)
		a.Version = k.read(key).Version
		k.commitRefused(a, stale)
	})
	k.release(b)
	k.commitRefused(a, stale)
	k.stands(key, 6, 3, "B")
}

func redislock93(k *kit) {
	theirs, err := k.open().TryAcquire(k.ctx, key, "A", k.ticks(10))
	k.must(err, "claim in another store")
	for _, claim := range []bool{false, true} {
		if claim {
			k.claim("A")
		}
		k.invalid(fenced.Grant{})
		k.invalid(fenced.Grant{Record: fenced.Record{Key: key}})
		k.untouched(key, func() { k.closedTo(theirs, foreign) })
	}
}

func rapina793(k *kit) {
	a := k.claimOf(key, "A", 10)
	k.pause(11)
	b := k.claimOf(key, "B", long)
	k.that(b.Generation == a.Generation+1, "B claimed generation %d after %d", b.Generation, a.Generation)
	k.untouched(key, func() { k.stopped(a) })
	k.commit(b, "done")
}

func river682(k *kit) {
	a := k.claimOf(key, "A", 10)
	dead := k.claimOf("S", "D", 10)
	renewed := 0
	for at := 8; at < 60; at += 8 {
		k.pause(8)
		a = k.renew(a, 10)
		renewed++
	}
	k.pause(4)
	ended := k.sweep(0)
	k.that(len(ended) == 1 && ended[0].Key == "S", "the supervisor reclaimed %+v, want S alone", ended)
	k.stopped(dead)
	a = k.renew(a, 10) // and is done with renewing
	k.pause(11)
	ended = k.sweep(0)
	k.that(len(ended) == 1 && ended[0].Key == key, "the supervisor reclaimed %+v, want the one that renews no more", ended)
	k.stopped(a)
	k.that(renewed == 7, "%d renewals", renewed)
}

func aegra547(k *kit) {
	hung := k.claimOf(key, "w1", 10)
	k.pause(11)
	k.claimOf(key, "w1", long)
	k.untouched(key, func() {
		k.renewRefused(hung, stale)
		k.releaseRefused(hung, stale)
		k.deleteRefused(hung, stale)
		k.commitRefused(hung, stale)
	})
}

func occurrent665(k *kit) {
	for range 6 {
		k.release(k.claim("earlier"))
	}
	a := k.claim("A")
	k.that(a.Generation == 7, "A claimed generation %d, want 7", a.Generation)
	k.release(k.delete(k.commit(a, "done")))
	k.crowd()
	b := k.claim("B")
	k.that(b.Generation > 7, "B claimed generation %d, want above 7", b.Generation)
	k.stopped(a)
}

func khive2662(k *kit) {
	for _, collected := range []bool{false, true} {
		k.swap(key, 0, "one")
		read := k.read(key)
		k.remove(key, read.Version)
		if collected {
			k.crowd()
		}
		again := k.swap(key, 0, "one")
		k.that(again.Version > read.Version, "made anew at version %d, was %d", again.Version, read.Version)
		k.untouched(key, func() {
			k.swapRefused(key, read.Version, moved)
			k.removeRefused(key, read.Version, moved)
		})
		k.remove(key, again.Version)
	}
}

func agentCoherence172(k *kit) {
	k.swap(key, 0, "paid")
	a := k.claimOf(key, "A", 10)
	k.pause(11)
	b := k.claimOf(key, "B", long)
	k.commitRefused(a, stale)
	b = k.commit(b, "B")
	for range 3 { // B, C and A read
		a.Version = k.read(key).Version
		if l, ok := k.b.(fenced.Lister); ok {
			for range l.All() {
			}
		}
		k.commitRefused(a, stale)
		a.Version--
		k.commitRefused(a, moved, stale)
	}
	k.release(b)
	a.Version = k.read(key).Version
	k.commitRefused(a, stale)
	k.stands(key, 2, 3, "B")
}

func agentCoherence166(k *kit) {
	const writers = 40
	k.swap(key, 0, "one")
	var errs [writers]error
	k.together(writers, func(i int) {
		_, errs[i] = k.b.CompareAndSwap(k.ctx, key, 1, fmt.Append(nil, i))
	})
	won := -1
	for i, err := range errs {
		if err == nil {
			k.that(won < 0, "%d and %d both wrote under version 1", won, i)
			won = i
		} else if !errors.Is(err, moved) {
			k.failf("swap: %v, want ErrVersionConflict", err)
		}
	}
	k.that(won >= 0, "none of %d writers won", writers)
	k.stands(key, 2, 1, fmt.Sprint(won))
}

// natsServer4710 writes values that say their version, and of which a torn read
// would show two halves.
func natsServer4710(k *kit) {
	value := func(v fenced.Version) []byte {
		return []byte(strings.Repeat(fmt.Sprintf("%06d ", v), 64))
	}
	const writes = 200
	var errs [3]error
	g := k.claim("A")
	done, stop := context.WithCancel(k.ctx)
	k.together(3, func(i int) {
		if i == 0 {
			defer stop()
			for n := 0; n < writes && errs[0] == nil && k.again(n); n++ {
				g, errs[0] = k.b.Commit(k.ctx, g, value(g.Version+1))
			}
			return
		}
		for n := 0; done.Err() == nil && errs[i] == nil && k.again(n); n++ {
			r, err := k.b.Read(k.ctx, key)
			if err == nil && (r.Generation != 1 || r.Version > 0 && !bytes.Equal(r.Value, value(r.Version))) {
				err = fmt.Errorf("a read that is not of one instant: version %d, generation %d, value %q", r.Version, r.Generation, r.Value)
			}
			errs[i] = err
		}
	})
	k.must(errors.Join(errs[:]...), "read and commit")
}

func posthog76169(k *kit) {
	k.claimOf(key, "A", 10)
	k.pause(11)
	b := k.claimOf(key, "B", long)
	k.untouched(key, func() { k.claimRefused(key, "A") })
	k.commit(b, "done")
}

// asynq1144 looks at a record while it is claimed and released.
func asynq1144(k *kit) {
	const rounds = 100
	var errs [3]error
	done, stop := context.WithCancel(k.ctx)
	k.together(3, func(i int) {
		if i == 0 {
			defer stop()
			for n := 0; n < rounds && errs[0] == nil; n++ {
				g, err := k.b.TryAcquire(k.ctx, key, "A", k.ticks(long))
				if err == nil && (g.Holder != "A" || g.Generation != fenced.Generation(n)+1 || g.Expires.IsZero()) {
					err = fmt.Errorf("half a claim: %+v", g.Record)
				}
				if err == nil {
					k.again(n)
					err = k.b.Release(k.ctx, g)
				}
				errs[0] = err
			}
			return
		}
		for n := 0; done.Err() == nil && errs[i] == nil && k.again(n); n++ {
			r, err := k.b.Read(k.ctx, key)
			if err == nil && (r.Holder == "") != r.Expires.IsZero() {
				err = fmt.Errorf("half a claim: %+v", r)
			}
			errs[i] = err
		}
	})
	k.must(errors.Join(errs[:]...), "claim, read, release")
}

func curator1121(k *kit) {
	earlier := k.open()
	for range 2 {
		g, err := earlier.TryAcquire(k.ctx, key, "A", k.ticks(10))
		k.must(err, "claim in an earlier life")
		k.untouched(key, func() { k.closedTo(g, foreign) }) // before anyone has claimed
		now := k.claim("A")
		k.that(now.Version == g.Version && now.Generation == g.Generation, "the numbers do not match: %+v, %+v", now.Record, g.Record)
		k.untouched(key, func() { k.closedTo(g, foreign) })
		k.release(now)
		k.must(earlier.Release(k.ctx, g), "release in an earlier life")
	}
}

func redisson6510(k *kit) {
	var zombies []fenced.Grant
	k.many(20_000, func(i int) {
		g := k.claimOf(fmt.Sprintf("R%d", i), "A", long)
		k.release(k.delete(k.commit(g, "x")))
		if i%2_000 == 7 {
			zombies = append(zombies, g)
		}
	})
	for _, g := range zombies {
		k.untouched(g.Key, func() { k.stopped(g) })
		next := k.claimOf(g.Key, "A", long)
		k.that(next.Generation > g.Generation, "%q made anew has generation %d, had %d", g.Key, next.Generation, g.Generation)
		k.stopped(g)
		k.commit(next, "y")
	}
}

func graphileWorker169(k *kit) {
	var run []fenced.Grant
	for _, holder := range []string{"A", "B", "C"} {
		run = append(run, k.claimOf(key, holder, 10))
		k.pause(11)
	}
	k.commitRefused(run[1], stale)
	k.commit(run[2], "C")
	k.commitRefused(run[0], moved, stale)
	k.commitRefused(run[1], moved, stale)
	k.stands(key, 1, 3, "C")
}
