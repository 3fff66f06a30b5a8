package fencedtest

import (
	"bytes"
	"errors"
	"slices"

	"github.com/fencedgo/fenced"
)

var (
	moved   = fenced.ErrVersionConflict
	stale   = fenced.ErrStaleReadGeneration
	held    = fenced.ErrGrantHeld
	foreign = fenced.ErrForeignGrant
)

var sentinels = []error{moved, stale, held, foreign, fenced.ErrInvalid, fenced.ErrClosed}

// refused makes a call that is to be refused for exactly these reasons, and
// judges the refusal.
func (k *kit) refused(op string, presented fenced.Record, call func() error, reasons ...error) *fenced.ConflictError {
	k.t.Helper()
	current := k.read(presented.Key)
	err := call()
	if err == nil {
		k.failf("%s of %q was accepted; want %v", op, presented.Key, reasons)
	}
	for _, s := range sentinels {
		if got, want := errors.Is(err, s), slices.Contains(reasons, s); got != want {
			k.failf("%s of %q: %v; matches %q: %t, want %t", op, presented.Key, err, s, got, want)
		}
	}
	return k.conflict(err, op, presented, current)
}

// conflict fails unless err says truly what was presented and what stood
// against it.
func (k *kit) conflict(err error, op string, presented, current fenced.Record) *fenced.ConflictError {
	k.t.Helper()
	var c *fenced.ConflictError
	if !errors.As(err, &c) {
		k.failf("%s of %q: %v is no *ConflictError", op, presented.Key, err)
	}
	p := c.Presented
	k.that(c.Op == op, "refusal of %q says op %q, want %q", c.Key, c.Op, op)
	k.that(c.Key == presented.Key, "refusal of %q says key %q", presented.Key, c.Key)
	k.that(p.Value == nil && c.Current.Value == nil, "refusal carries a value: %q, %q", p.Value, c.Current.Value)
	k.that(p.Key == presented.Key && p.Version == presented.Version && p.Generation == presented.Generation && p.Holder == presented.Holder,
		"%s of %q: refusal says %+v was presented, it was %+v", op, c.Key, p, presented)
	current.Value = nil
	k.that(same(c.Current, current), "%s of %q: refusal says current is %+v, it is %+v", op, c.Key, c.Current, current)
	k.that(c.EndedAt.IsZero() == (c.Ended == fenced.EndingUnknown), "refusal says ended %v at %v", c.Ended, c.EndedAt)
	return c
}

// same reports whether two records are the same in every respect.
func same(a, b fenced.Record) bool {
	return a.Key == b.Key && a.Exists() == b.Exists() && bytes.Equal(a.Value, b.Value) && a.Version == b.Version &&
		a.Generation == b.Generation && a.Holder == b.Holder && a.Expires.Equal(b.Expires)
}

// untouched fails unless the record of key is as before once f has run.
func (k *kit) untouched(key string, f func()) {
	k.t.Helper()
	before := k.read(key)
	f()
	if after := k.read(key); !same(before, after) {
		k.failf("%q was %+v and is %+v", key, before, after)
	}
}

func (k *kit) commitRefused(g fenced.Grant, reasons ...error) *fenced.ConflictError {
	k.t.Helper()
	return k.refused("commit", g.Record, func() error {
		_, err := k.b.Commit(k.ctx, g, []byte("zombie"))
		return err
	}, reasons...)
}

func (k *kit) deleteRefused(g fenced.Grant, reasons ...error) *fenced.ConflictError {
	k.t.Helper()
	return k.refused("delete", g.Record, func() error {
		_, err := k.b.Delete(k.ctx, g)
		return err
	}, reasons...)
}

func (k *kit) renewRefused(g fenced.Grant, reasons ...error) *fenced.ConflictError {
	k.t.Helper()
	return k.refused("renew", g.Record, func() error {
		_, err := k.b.Renew(k.ctx, g, k.ticks(2*long))
		return err
	}, reasons...)
}

func (k *kit) releaseRefused(g fenced.Grant, reasons ...error) *fenced.ConflictError {
	k.t.Helper()
	return k.refused("release", g.Record, func() error { return k.b.Release(k.ctx, g) }, reasons...)
}

func (k *kit) reclaimRefused(key string, seen fenced.Generation) {
	k.t.Helper()
	k.refused("reclaim", fenced.Record{Key: key, Generation: seen}, func() error {
		_, err := k.b.Reclaim(k.ctx, key, seen)
		return err
	}, stale)
}

func (k *kit) claimRefused(key, holder string) {
	k.t.Helper()
	k.refused("acquire", fenced.Record{Key: key, Holder: holder}, func() error {
		_, err := k.b.TryAcquire(k.ctx, key, holder, k.ticks(long))
		return err
	}, held)
}

func (k *kit) swapRefused(key string, version fenced.Version, reasons ...error) {
	k.t.Helper()
	k.refused("compare-and-swap", fenced.Record{Key: key, Version: version}, func() error {
		_, err := k.b.CompareAndSwap(k.ctx, key, version, []byte("swapped"))
		return err
	}, reasons...)
}

func (k *kit) removeRefused(key string, version fenced.Version, reasons ...error) {
	k.t.Helper()
	k.refused("compare-and-delete", fenced.Record{Key: key, Version: version}, func() error {
		_, err := k.b.CompareAndDelete(k.ctx, key, version)
		return err
	}, reasons...)
}

// stopped fails unless all four calls under g are refused because it has ended,
// for its version too where that has moved.
func (k *kit) stopped(g fenced.Grant) {
	k.t.Helper()
	k.told(g, fenced.EndingUnknown)
}

// told fails like stopped, and where a refusal says how g ended, unless it
// ended so.
func (k *kit) told(g fenced.Grant, how fenced.Ending) {
	k.t.Helper()
	writes := []error{stale}
	if k.read(g.Key).Version != g.Version {
		writes = []error{moved, stale}
	}
	for _, c := range []*fenced.ConflictError{
		k.commitRefused(g, writes...),
		k.deleteRefused(g, writes...),
		k.renewRefused(g, stale),
		k.releaseRefused(g, stale),
	} {
		if how != fenced.EndingUnknown && c.Ended != fenced.EndingUnknown && c.Ended != how {
			k.failf("%s: refusal says the grant was %v, it was %v", c.Op, c.Ended, how)
		}
	}
}

// closedTo fails unless all four calls under g are refused for that reason
// alone. Its numbers are those of the record.
func (k *kit) closedTo(g fenced.Grant, reason error) {
	k.t.Helper()
	k.commitRefused(g, reason)
	k.deleteRefused(g, reason)
	k.renewRefused(g, reason)
	k.releaseRefused(g, reason)
}

// calls are the four under a grant.
func (k *kit) calls(g fenced.Grant) map[string]func() error {
	return map[string]func() error{
		"commit":  func() error { _, err := k.b.Commit(k.ctx, g, []byte("zombie")); return err },
		"delete":  func() error { _, err := k.b.Delete(k.ctx, g); return err },
		"renew":   func() error { _, err := k.b.Renew(k.ctx, g, k.ticks(long)); return err },
		"release": func() error { return k.b.Release(k.ctx, g) },
	}
}
