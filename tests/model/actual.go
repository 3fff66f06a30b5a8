package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fencedgo/fenced"
)

// Actual is a real store whose results are put in the words of the model.
type Actual struct {
	Store *fenced.Store
	Epoch time.Time // time zero of the model
}

// Do makes the call c, under the grant g where c has one, and returns what it
// came to and the grant it returned. It scribbles over every slice that went in
// or came out, so that a store that shares one is found out. The error says
// that a refusal was not of the right form.
func (a Actual) Do(ctx context.Context, c Call, g fenced.Grant) (Outcome, fenced.Grant, error) {
	var (
		s    = a.Store
		r    fenced.Record
		next fenced.Grant
		list []fenced.Grant
		err  error
	)
	value := slices.Clone(c.Value)
	switch c.Op {
	case Read:
		r, err = s.Read(ctx, c.Key)
	case TryAcquire:
		next, err = s.TryAcquire(ctx, c.Key, c.Holder, c.Lease)
		r = next.Record
	case Renew:
		next, err = s.Renew(ctx, g, c.Lease)
		r = next.Record
	case Commit:
		next, err = s.Commit(ctx, g, value)
		r = next.Record
	case Delete:
		next, err = s.Delete(ctx, g)
		r = next.Record
	case Release:
		err = s.Release(ctx, g)
	case Reclaim:
		r, err = s.Reclaim(ctx, c.Key, c.Seen)
	case Sweep:
		list, err = s.ReclaimExpired(ctx, 0)
	case CompareAndSwap:
		r, err = s.CompareAndSwap(ctx, c.Key, c.Version, value)
	case CompareAndDelete:
		r, err = s.CompareAndDelete(ctx, c.Key, c.Version)
	default:
		return Outcome{}, fenced.Grant{}, fmt.Errorf("no such call: %v", c)
	}
	o := Outcome{Refused: ReasonsOf(err)}
	if err == nil {
		o.View, o.Swept = a.View(r), a.Grants(list)
	} else if o.Refused&(Moved|Stale|Held|Foreign) != 0 {
		var refusal *fenced.ConflictError
		if !errors.As(err, &refusal) {
			return o, next, fmt.Errorf("%v: refused without a ConflictError: %w", c, err)
		}
		o.View, o.Ended = a.View(refusal.Current), refusal.Ended
		if err := form(c, g, refusal); err != nil {
			return o, next, err
		}
	}
	scribble(value)
	scribble(r.Value)
	next.Value = nil
	return o, next, nil
}

// form checks that a refusal says what was presented, and to which call.
func form(c Call, g fenced.Grant, refusal *fenced.ConflictError) error {
	want := fenced.Record{Key: c.Key}
	switch c.Op {
	case Renew, Commit, Delete, Release:
		want = g.Record
	case TryAcquire:
		want.Holder = c.Holder
	case Reclaim:
		want.Generation = c.Seen
	default:
		want.Version = c.Version
	}
	got := refusal.Presented
	if refusal.Op != string(c.Op) || refusal.Key != c.Key || got.Value != nil || refusal.Current.Value != nil ||
		got.Key != want.Key || got.Holder != want.Holder || got.Version != want.Version || got.Generation != want.Generation {
		return fmt.Errorf("%v: refusal tells of another call: %#v", c, refusal)
	}
	return nil
}

// View returns r in the words of the model.
func (a Actual) View(r fenced.Record) View {
	v := View{Key: r.Key, Exists: r.Exists(), Value: string(r.Value), Version: r.Version, Generation: r.Generation, Holder: r.Holder}
	if !r.Expires.IsZero() {
		v.Until = r.Expires.Sub(a.Epoch)
	}
	return v
}

// Grants returns what a sweep returned, by key.
func (a Actual) Grants(list []fenced.Grant) []View {
	var views []View
	for _, g := range list {
		views = append(views, a.View(g.Record))
		scribble(g.Value)
	}
	slices.SortFunc(views, func(x, y View) int { return cmp.Compare(x.Key, y.Key) })
	return views
}

// All returns every record that exists, by key.
func (a Actual) All() map[string]View {
	all := map[string]View{}
	for r := range a.Store.All() {
		all[r.Key] = a.View(r)
		scribble(r.Value)
	}
	return all
}

// Count returns the counters of the store, without the distribution of leases.
func (a Actual) Count() fenced.Stats {
	s := a.Store.Stats()
	s.Held = fenced.Distribution{}
	return s
}

func scribble(b []byte) {
	for i := range b[:cap(b)] {
		b[:cap(b)][i] = '!'
	}
}
