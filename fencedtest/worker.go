package fencedtest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fencedgo/fenced"
)

// The scenarios of a worker's loop, over any store.

// worker returns one over b. Its leases are ten ticks.
func (k *kit) worker(b fenced.Backend) *fenced.Worker {
	return &fenced.Worker{Backend: b, Name: "A", Lease: k.ticks(10)}
}

// faulty is a store to which some renewals do not get through.
type faulty struct {
	fenced.Backend
	calls atomic.Int64
	fault func(ctx context.Context, call int64) error // nil: it gets through
}

func (f *faulty) Renew(ctx context.Context, g fenced.Grant, lease time.Duration) (fenced.Grant, error) {
	if err := f.fault(ctx, f.calls.Add(1)); err != nil {
		return fenced.Grant{}, err
	}
	return f.Backend.Renew(ctx, g, lease)
}

func harness1878(k *kit) {
	a := k.claimOf(key, "A", 10)
	k.pause(12)
	k.release(k.commit(a, "late"))
	if c, ok := k.b.(counter); ok {
		k.that(c.Stats().Overruns == 1, "%d overruns, want 1", c.Stats().Overruns)
	}
	k.stands(key, 1, 2, "late")

	var back []fenced.Refusal
	w := k.worker(k.b)
	w.Refused = func(_ context.Context, r fenced.Refusal) { back = append(back, r) }
	var b fenced.Grant
	_, err := w.Do(k.ctx, key, func(_ context.Context, g fenced.Grant) ([]byte, error) {
		k.reclaim(g)
		b = k.claim("B")
		return []byte("finished"), nil
	})
	k.that(errors.Is(err, stale), "a superseded worker's commit gave %v", err)
	if len(back) != 1 {
		k.failf("%d refused results were handed back, want 1", len(back))
	}
	r := back[0]
	k.that(string(r.Value) == "finished" && errors.Is(r.Err, stale) && r.Grant.Generation == b.Generation-1 && r.Grant.Key == key,
		"handed back %+v", r)
	k.stands(key, 1, 3, "late")
	k.commit(b, "B")
}

func cozyStack4911(k *kit) {
	a := k.claimOf(key, "A", 10)
	k.pause(11)
	b := k.claim("B")
	k.untouched(key, func() { k.renewRefused(a, stale) })
	k.release(b)

	lost := errors.New("connection reset")
	f := &faulty{Backend: k.b, fault: func(_ context.Context, call int64) error {
		if call == 1 {
			return lost
		}
		return nil
	}}
	_, err := k.worker(f).Do(k.ctx, key, func(context.Context, fenced.Grant) ([]byte, error) {
		k.pause(12)
		return []byte("done"), nil
	})
	k.must(err, "work during which one renewal failed")
	k.that(f.calls.Load() > 1, "one renewal failed, and none followed")
	k.stands(key, 1, 4, "done")
}

func consul18271(k *kit) {
	f := &faulty{Backend: k.b, fault: func(ctx context.Context, _ int64) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-k.ctx.Done(): // much later
			return k.ctx.Err()
		}
	}}
	_, err := k.worker(f).Do(k.ctx, key, func(ctx context.Context, _ fenced.Grant) ([]byte, error) {
		<-ctx.Done()
		k.must(k.ctx.Err(), "wait for the context of work whose renewals hang")
		return nil, context.Cause(ctx)
	})
	k.that(err != nil, "work whose renewals hang succeeded")
	k.that(k.read(key).Holder == "", "%q holds the record", k.read(key).Holder)
}

func durableExtension3375(k *kit) {
	w := k.worker(k.b)
	runs := 0
	work := func(_ context.Context, g fenced.Grant) ([]byte, error) {
		if runs++; runs == 1 {
			k.reclaim(g)
		}
		return []byte("done"), nil
	}
	_, err := w.Do(k.ctx, key, work)
	k.that(errors.Is(err, stale), "a refused completion gave %v", err)
	k.stands(key, 0, 2, "")
	_, err = w.Do(k.ctx, key, work)
	k.must(err, "the same work once more")
	k.stands(key, 1, 3, "done")
}
