package fencedtest

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
)

const (
	key = "orders/4412" // the record of a check that needs only one

	// Leases in ticks. No check lasts for long, which is longer than patience.
	short    = 1
	long     = 1_000_000
	patience = 1_000
)

// kit is what a check works with: a fresh store, its clock, and the law that a
// failure quotes. Its methods fail the check where the store does not do as
// they say; those that are called on other goroutines say so.
type kit struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // lives as long as the check
	b       fenced.Backend
	open    func() fenced.Backend // another fresh store
	reopen  func()                // b, as after a restart
	tick    time.Duration
	law     Law
	running sync.WaitGroup // goroutines that end with ctx
}

// failf ends the check with what happened and the law it breaks.
func (k *kit) failf(format string, args ...any) {
	k.t.Helper()
	k.t.Logf("%s: %s", k.law.Name, k.law.Sentence)
	k.t.Fatalf(format, args...)
}

func (k *kit) must(err error, what string) {
	k.t.Helper()
	if err != nil {
		k.failf("%s: %v", what, err)
	}
}

func (k *kit) that(ok bool, format string, args ...any) {
	k.t.Helper()
	if !ok {
		k.failf(format, args...)
	}
}

// ticks returns n units of the clock.
func (k *kit) ticks(n int) time.Duration { return time.Duration(n) * k.tick }

// pause lets n ticks pass.
func (k *kit) pause(n int) {
	k.t.Helper()
	timer := time.NewTimer(k.ticks(n))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-k.ctx.Done():
		k.failf("the check took too long")
	}
}

// many calls f for 0 to n-1, and stops early where the store is slow.
func (k *kit) many(n int, f func(i int)) {
	k.t.Helper()
	start := time.Now()
	for i := range n {
		if f(i); time.Since(start) > k.ticks(100) {
			k.t.Logf("%d rounds of %d, as the store is slow", i+1, n)
			return
		}
	}
}

// together calls f for 0 to n-1, each on a goroutine of its own, and waits.
func (k *kit) together(n int, f func(i int)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	all.Wait()
}

// again is to be called before the n-th try of a call that others made fail. It
// lets them, and now and then the clock, go on, and reports whether to try.
func (k *kit) again(n int) bool {
	if n%16 != 15 {
		runtime.Gosched()
		return k.ctx.Err() == nil
	}
	timer := time.NewTimer(k.tick / 100)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-k.ctx.Done():
		return false
	}
}

func (k *kit) read(key string) fenced.Record {
	k.t.Helper()
	r, err := k.b.Read(k.ctx, key)
	k.must(err, "read")
	return r
}

// claim returns a grant of the one record, for long.
func (k *kit) claim(holder string) fenced.Grant {
	k.t.Helper()
	return k.claimOf(key, holder, long)
}

// claimOf returns a grant of the record of key for that many ticks.
func (k *kit) claimOf(key, holder string, lease int) fenced.Grant {
	k.t.Helper()
	g, err := k.b.TryAcquire(k.ctx, key, holder, k.ticks(lease))
	k.must(err, "claim by "+holder)
	return g
}

// lapsed returns a grant of the one record whose lease has lapsed.
func (k *kit) lapsed(holder string) fenced.Grant {
	k.t.Helper()
	g := k.claimOf(key, holder, short)
	k.pause(short)
	return g
}

func (k *kit) renew(g fenced.Grant, lease int) fenced.Grant {
	k.t.Helper()
	g, err := k.b.Renew(k.ctx, g, k.ticks(lease))
	k.must(err, "renew")
	return g
}

func (k *kit) commit(g fenced.Grant, value string) fenced.Grant {
	k.t.Helper()
	g, err := k.b.Commit(k.ctx, g, []byte(value))
	k.must(err, "commit")
	return g
}

func (k *kit) delete(g fenced.Grant) fenced.Grant {
	k.t.Helper()
	g, err := k.b.Delete(k.ctx, g)
	k.must(err, "delete")
	return g
}

func (k *kit) release(g fenced.Grant) {
	k.t.Helper()
	k.must(k.b.Release(k.ctx, g), "release")
}

// reclaim ends g as a supervisor does.
func (k *kit) reclaim(g fenced.Grant) fenced.Record {
	k.t.Helper()
	r, err := k.b.Reclaim(k.ctx, g.Key, g.Generation)
	k.must(err, "reclaim")
	return r
}

func (k *kit) sweep(limit int) []fenced.Grant {
	k.t.Helper()
	ended, err := k.b.ReclaimExpired(k.ctx, limit)
	k.must(err, "reclaim of what has expired")
	return ended
}

func (k *kit) swap(key string, version fenced.Version, value string) fenced.Record {
	k.t.Helper()
	r, err := k.b.CompareAndSwap(k.ctx, key, version, []byte(value))
	k.must(err, "compare-and-swap")
	return r
}

func (k *kit) remove(key string, version fenced.Version) fenced.Record {
	k.t.Helper()
	r, err := k.b.CompareAndDelete(k.ctx, key, version)
	k.must(err, "compare-and-delete")
	return r
}

// stands fails unless the record has these numbers and this value; "" is none.
func (k *kit) stands(key string, version fenced.Version, generation fenced.Generation, value string) {
	k.t.Helper()
	r := k.read(key)
	if r.Version != version || r.Generation != generation || string(r.Value) != value || r.Exists() != (value != "") {
		k.failf("%q is at version %d, generation %d with value %q; want %d, %d, %q",
			key, r.Version, r.Generation, r.Value, version, generation, value)
	}
}

// story brings the one record to version 7 and generation 3.
func (k *kit) story() {
	k.t.Helper()
	for v := range fenced.Version(7) {
		k.swap(key, v, "paid")
	}
	k.release(k.claim("earlier"))
	k.release(k.claim("earlier"))
}
