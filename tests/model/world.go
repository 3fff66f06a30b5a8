package model

import (
	"maps"
	"slices"
	"time"

	"github.com/fencedgo/fenced"
)

// World is a whole store: its records, who waits for them, its clock and its
// counters. It keeps the numbers of deleted records for ever: the tests delete
// fewer than a store collects.
type World struct {
	Now        time.Duration
	Records    map[string]Record
	Queues     map[string][]Waiter
	Stats      fenced.Stats // but for Records and Live, which are counted
	ReportOnly bool

	Served []Service // since the caller last emptied it, in order
}

// Waiter is a claimant whose turn has not come.
type Waiter struct {
	ID       int
	Holder   string
	Lease    time.Duration
	Deadline time.Duration // of its context, 0: none
}

// Service is how the waiting of a claimant ended: with the grant, or without
// because its context had ended.
type Service struct {
	ID      int
	TimeOut bool
	Grant   View
}

// New returns an empty world at time zero.
func New() *World {
	return &World{Records: map[string]Record{}, Queues: map[string][]Waiter{}}
}

// Clone returns a copy that shares nothing with w.
func (w *World) Clone() *World {
	c := *w
	c.Records = maps.Clone(w.Records)
	c.Queues = map[string][]Waiter{}
	for key, queue := range w.Queues {
		c.Queues[key] = slices.Clone(queue)
	}
	c.Served = slices.Clone(w.Served)
	return &c
}

// Record returns the record of key, seen or not.
func (w *World) Record(key string) Record {
	if r, ok := w.Records[key]; ok {
		return r
	}
	return Unseen
}

// Current reports whether g is the current grant of its record.
func (w *World) Current(g Grant) bool {
	r := w.Record(g.Key)
	return g.Issued && r.Held && r.Generation == g.Generation
}

// Count returns the counters of the store, without the distribution of leases.
func (w *World) Count() fenced.Stats {
	s := w.Stats
	for _, r := range w.Records {
		if r.Exists {
			s.Records++
		}
		if r.Held {
			s.Live++
		}
	}
	return s
}

// Do makes the call c.
func (w *World) Do(c Call) Outcome {
	if c.Op == Sweep {
		var o Outcome
		for _, key := range w.Lapsed() {
			o.Swept = append(o.Swept, w.reclaim(key))
		}
		return o
	}
	was := w.Record(c.Key)
	r, o := was.Do(c, w.Now, w.ReportOnly)
	if r != was {
		w.Records[c.Key] = r
	}
	w.count(c, was, o)
	if was.Held && !r.Held {
		w.serve(c.Key)
		if c.Op == Reclaim {
			o.View = w.Record(c.Key).View(c.Key) // may have gone to a waiter
		}
	}
	return o
}

// count counts a call that found the record as it was.
func (w *World) count(c Call, was Record, o Outcome) {
	s := &w.Stats
	if o.Refused != 0 {
		writes := c.Op == Commit || c.Op == Delete || c.Op == CompareAndSwap || c.Op == CompareAndDelete
		switch {
		case o.Refused&Held != 0:
			s.RefusedHeld++
		case !writes:
		case o.Refused == Moved:
			s.RefusedVersion++
		case o.Refused == Stale:
			s.RefusedGeneration++
		case o.Refused == Moved|Stale:
			s.RefusedBoth++
		}
		return
	}
	switch c.Op {
	case TryAcquire:
		s.Grants++
		if was.Held {
			s.TakenOver++
		}
	case Renew:
		s.Renewals++
	case Release:
		s.Released++
		if was.Lapsed(w.Now) {
			s.Overruns++
		}
	case Reclaim:
		s.Reclaimed++
	case CompareAndSwap:
		s.Swaps++
	case CompareAndDelete:
		s.Deletes++
	case Commit:
		s.Commits++
	case Delete:
		s.Deletes++
	}
	if (c.Op == Commit || c.Op == Delete) && was.judge(c.Grant) != 0 {
		s.WouldRefuse++
	}
}

// Acquire claims for a claimant that waits its turn.
func (w *World) Acquire(key string, claimant Waiter) {
	if r := w.Record(key); r.Held && !r.Lapsed(w.Now) {
		w.Queues[key] = append(w.Queues[key], claimant)
		return
	}
	w.grant(key, claimant)
}

// Leave ends the waiting of a claimant, if it still waits.
func (w *World) Leave(id int) {
	for key, queue := range w.Queues {
		w.Queues[key] = slices.DeleteFunc(queue, func(c Waiter) bool { return c.ID == id })
		if len(w.Queues[key]) < len(queue) {
			w.Served = append(w.Served, Service{ID: id, TimeOut: true})
		}
	}
}

// Lapsed returns the keys of the records whose lease has ended, in order.
func (w *World) Lapsed() []string {
	var keys []string
	for key, r := range w.Records {
		if r.Lapsed(w.Now) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// SweepOf makes a sweep that ended the grants of keys, and no others.
func (w *World) SweepOf(keys []string) []View {
	var swept []View
	for _, key := range keys {
		swept = append(swept, w.reclaim(key))
	}
	return swept
}

// reclaim ends the current grant of key and returns it as it was.
func (w *World) reclaim(key string) View {
	was := w.Records[key].View(key)
	w.Do(Call{Op: Reclaim, Key: key, Seen: was.Generation})
	return was
}

// Advance lets time pass, and with it leases lapse that someone waits for, and
// contexts of waiters end.
func (w *World) Advance(d time.Duration) {
	for until := w.Now + d; ; {
		at, happen := until, func() {}
		for key, queue := range w.Queues {
			if len(queue) == 0 {
				continue
			}
			if end := w.Records[key].Until; end <= at {
				at, happen = end, func() { w.serve(key) }
			}
			for _, c := range queue {
				if c.Deadline != 0 && c.Deadline <= at {
					at, happen = c.Deadline, func() { w.Leave(c.ID) }
				}
			}
		}
		served := len(w.Served)
		w.Now = at
		happen()
		if len(w.Served) == served {
			return
		}
	}
}

// serve hands the record of key to whoever has waited longest.
func (w *World) serve(key string) {
	queue := w.Queues[key]
	if len(queue) == 0 {
		return
	}
	w.Queues[key] = queue[1:]
	w.grant(key, queue[0])
}

// grant makes the claim of a claimant whose turn has come.
func (w *World) grant(key string, claimant Waiter) {
	o := w.Do(Call{Op: TryAcquire, Key: key, Holder: claimant.Holder, Lease: claimant.Lease})
	w.Served = append(w.Served, Service{ID: claimant.ID, Grant: o.View})
}
