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

// Answer is what a store returned to a call.
type Answer struct {
	Grant fenced.Grant // without value
	Err   error

	call      Call
	presented fenced.Grant
	record    fenced.Record
	swept     []fenced.Grant
	value     []byte // that went in
}

// Make makes the call c of s, under the grant g where c has one.
func Make(ctx context.Context, s fenced.Backend, c Call, g fenced.Grant) Answer {
	a := Answer{call: c, presented: g, value: slices.Clone(c.Value)}
	switch c.Op {
	case Read:
		a.record, a.Err = s.Read(ctx, c.Key)
	case TryAcquire:
		a.granted(s.TryAcquire(ctx, c.Key, c.Holder, c.Lease))
	case Renew:
		a.granted(s.Renew(ctx, g, c.Lease))
	case Commit:
		a.granted(s.Commit(ctx, g, a.value))
	case Delete:
		a.granted(s.Delete(ctx, g))
	case Release:
		a.Err = s.Release(ctx, g)
	case Reclaim:
		a.record, a.Err = s.Reclaim(ctx, c.Key, c.Seen)
	case Sweep:
		a.swept, a.Err = s.ReclaimExpired(ctx, 0)
	case CompareAndSwap:
		a.record, a.Err = s.CompareAndSwap(ctx, c.Key, c.Version, a.value)
	case CompareAndDelete:
		a.record, a.Err = s.CompareAndDelete(ctx, c.Key, c.Version)
	default:
		panic(fmt.Sprintf("no such call: %v", c))
	}
	return a
}

// Await makes c, a claim, wait its turn.
func Await(ctx context.Context, s fenced.Waiter, c Call) Answer {
	a := Answer{call: c}
	a.granted(s.Acquire(ctx, c.Key, c.Holder, c.Lease))
	return a
}

func (a *Answer) granted(g fenced.Grant, err error) {
	a.record, a.Grant, a.Err = g.Record, g, err
	a.Grant.Value = nil
}

// Outcome returns what the call came to, where time zero of the model is epoch.
// It scribbles over every slice that went in or came out, so that a store that
// shares one is found out. The error says that a refusal was not of the right
// form.
func (a Answer) Outcome(epoch time.Time) (Outcome, error) {
	defer scribble(a.value)
	defer scribble(a.record.Value)
	o := Outcome{Refused: ReasonsOf(a.Err), Swept: viewsOf(a.swept, epoch)}
	if a.Err == nil {
		o.View = ViewOf(a.record, epoch)
	} else if o.Refused&(Moved|Stale|Held|Foreign) != 0 {
		var refusal *fenced.ConflictError
		if !errors.As(a.Err, &refusal) {
			return o, fmt.Errorf("%v: refused without a ConflictError: %w", a.call, a.Err)
		}
		o.View, o.Ended = ViewOf(refusal.Current, epoch), refusal.Ended
		return o, a.form(refusal)
	}
	return o, nil
}

// form checks that a refusal says what was presented, and to which call.
func (a Answer) form(refusal *fenced.ConflictError) error {
	c := a.call
	want := fenced.Record{Key: c.Key}
	switch c.Op {
	case Renew, Commit, Delete, Release:
		want = a.presented.Record
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

// ViewOf returns r in the words of the model, where time zero is epoch.
func ViewOf(r fenced.Record, epoch time.Time) View {
	v := View{Key: r.Key, Exists: r.Exists(), Value: string(r.Value), Version: r.Version, Generation: r.Generation, Holder: r.Holder}
	if !r.Expires.IsZero() {
		v.Until = r.Expires.Sub(epoch)
	}
	return v
}

// viewsOf returns what a sweep returned, by key.
func viewsOf(list []fenced.Grant, epoch time.Time) []View {
	var views []View
	for _, g := range list {
		views = append(views, ViewOf(g.Record, epoch))
		scribble(g.Value)
	}
	slices.SortFunc(views, func(x, y View) int { return cmp.Compare(x.Key, y.Key) })
	return views
}

func scribble(b []byte) {
	for i := range b[:cap(b)] {
		b[:cap(b)][i] = '!'
	}
}
