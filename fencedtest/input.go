package fencedtest

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/fencedgo/fenced"
)

// FailClosed, of what is passed in.

func (k *kit) wantInvalid(err error, call, what string) {
	k.t.Helper()
	if !errors.Is(err, fenced.ErrInvalid) {
		k.failf("%s with %s: %v, want ErrInvalid", call, what, err)
	}
}

func failBadInput(k *kit) {
	g := k.claim("A")
	k.untouched(key, func() {
		for what, bad := range badKeys() {
			what += " key"
			for call, err := range k.withKey(bad) {
				k.wantInvalid(err, call, what)
			}
			b := g
			b.Key = bad
			for name, call := range k.calls(b) {
				k.wantInvalid(call(), name, what)
			}
		}
		for what, bad := range badHolders() {
			_, err := k.b.TryAcquire(k.ctx, "free", bad, k.ticks(long))
			k.wantInvalid(err, "claim", what+" holder")
		}
		for _, lease := range badLeases {
			_, err := k.b.TryAcquire(k.ctx, "free", "B", lease)
			k.wantInvalid(err, "claim", "lease "+lease.String())
			_, err = k.b.Renew(k.ctx, g, lease)
			k.wantInvalid(err, "renew", "lease "+lease.String())
		}
	})
	k.stands("free", 0, 1, "")
	k.that(k.read("free").Holder == "", "a claim that no store takes holds the record")
	k.commit(g, "paid")
}

// withKey returns what the calls that take a key say to it.
func (k *kit) withKey(key string) map[string]error {
	errs := make(map[string]error)
	_, errs["read"] = k.b.Read(k.ctx, key)
	_, errs["claim"] = k.b.TryAcquire(k.ctx, key, "B", k.ticks(long))
	_, errs["reclaim"] = k.b.Reclaim(k.ctx, key, 1)
	_, errs["compare-and-swap"] = k.b.CompareAndSwap(k.ctx, key, 0, []byte("v"))
	_, errs["compare-and-delete"] = k.b.CompareAndDelete(k.ctx, key, 0)
	return errs
}

// failWaitingInput calls Acquire as nobody may, on a free record that it would
// get at once and on a held one.
func failWaitingInput(k *kit) {
	acquire := k.b.(fenced.Waiter).Acquire
	cancelled, cancel := context.WithCancel(k.ctx)
	cancel()
	for range 2 {
		k.untouched(key, func() {
			for what, bad := range badKeys() {
				_, err := acquire(k.ctx, bad, "B", k.ticks(long))
				k.wantInvalid(err, "waiting claim", what+" key")
			}
			for what, bad := range badHolders() {
				_, err := acquire(k.ctx, key, bad, k.ticks(long))
				k.wantInvalid(err, "waiting claim", what+" holder")
			}
			for _, lease := range badLeases {
				_, err := acquire(k.ctx, key, "B", lease)
				k.wantInvalid(err, "waiting claim", "lease "+lease.String())
			}
			_, err := acquire(cancelled, key, "B", k.ticks(long))
			k.that(errors.Is(err, context.Canceled), "waiting claim under a finished context: %v", err)
		})
		if k.read(key).Holder == "" {
			k.claim("A")
		}
	}
}

var badLeases = []time.Duration{0, -1, math.MinInt64, fenced.MaxLease + 1, math.MaxInt64}

// badKeys and badHolders are what no store takes.
func badKeys() map[string]string { return bad(fenced.MaxKey) }

func badHolders() map[string]string { return bad(fenced.MaxHolder) }

func bad(most int) map[string]string {
	return map[string]string{
		"empty":            "",
		"over-long":        strings.Repeat("k", most+1),
		"over-long in all": strings.Repeat("é", most/2+1),
		"not UTF-8":        "k\xff",
		"cut":              "k\xc3",
	}
}

// failLimits is what every store takes.
func failLimits(k *kit) {
	for _, key := range []string{
		"k", "\x00", " ", "/", "%_'\"\\", "é\u2028\U0001F600",
		strings.Repeat("k", fenced.MaxKey), strings.Repeat("é", fenced.MaxKey/2),
	} {
		k.swap(key, 0, "one")
		g := k.claimOf(key, strings.Repeat("h", fenced.MaxHolder), long)
		k.that(g.Key == key && k.read(key).Key == key, "%q became %q", key, g.Key)
		k.that(k.read(key).Holder == strings.Repeat("h", fenced.MaxHolder), "the label of the holder is cut to %q", k.read(key).Holder)
		parsed, err := fenced.ParseToken(g.Token())
		k.must(err, "parse the token")
		g = k.commit(parsed, "two")
		k.release(g)
	}
	for _, other := range []string{"K", "k ", "k\x00", "e\u0301\u2028\U0001F600"} {
		k.stands(other, 0, 1, "") // one byte apart is another record
	}
	g, err := k.b.TryAcquire(k.ctx, key, "A", fenced.MaxLease)
	k.must(err, "claim for the longest lease")
	g, err = k.b.Renew(k.ctx, g, fenced.MaxLease)
	k.must(err, "renewal for the longest lease")
	k.that(len(k.sweep(0)) == 0, "the longest lease has lapsed at once")
	k.claimRefused(key, "B")
	g, err = k.b.Renew(k.ctx, g, 1)
	k.must(err, "renewal for the shortest lease")
	k.pause(1)
	k.commit(g, "paid")
	k.that(len(k.sweep(0)) == 1, "the shortest lease has not lapsed")
	value := strings.Repeat("value", 20_000)
	r := k.swap("large", 0, value)
	k.stands("large", r.Version, 1, value)
}
