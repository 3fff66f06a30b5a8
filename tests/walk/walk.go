// Package walk makes every possible history of a small world on a real store:
// one record, two workers, a supervisor and an optimistic writer, whose messages
// are delayed, lost and delivered twice. Each step is made on the model too, and
// what it came to and the record after it are compared.
//
// There is no list of messages under way, because it would say nothing: a call
// under any grant that a worker ever had may have been sent when it had it, and
// so may arrive at any later step, once, often or never. In the same way the
// supervisor may have noted any generation that ever was, and the optimistic
// writer may have read any version. So the steps of a world are all of these
// calls, at any time.
package walk

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/tests/model"
	"github.com/fencedgo/fenced/tests/trace"
	"github.com/google/go-cmp/cmp"
)

const lease = 10 * time.Second

// Step is one step of a world: a call, or the lapse of all leases.
type Step struct {
	model.Call
	real fenced.Grant
}

// lapse is a step in which nothing happens but that time passes.
const lapse model.Op = "lapse"

// copied is a grant as a worker had it at some time.
type copied struct {
	model model.Grant
	real  fenced.Grant
}

// World is one history: a record of its own in a store shared with other
// histories, which cost less than a store for each. By the laws records have
// nothing in common. What they do share is the counters, which are compared when
// the store is done with.
type World struct {
	*Store
	key       string
	claims    []copied       // the grants as claimed
	copies    []copied       // these, and as they were after each write under them
	destroyed fenced.Version // the version at which the record was last deleted
	history   []Step
}

// Store is a real store and its model.
type Store struct {
	actual model.Actual
	model  *model.World
	done   uint64 // histories
	steps  []Step // for reuse
	Seen   map[Sight]int

	isTraced  bool
	predicted []trace.Line
}

// NewStore returns a store for histories.
func NewStore(opts fenced.Options) *Store {
	return &Store{
		actual: model.Actual{Store: fenced.NewStore(opts), Epoch: time.Now()},
		model:  model.New(),
		Seen:   map[Sight]int{},
	}
}

// Begin begins a history.
func (s *Store) Begin() *World {
	return &World{Store: s, key: fmt.Sprint("r", s.done)}
}

// End ends a history such that nothing is left to lapse and no dead record to
// collect, so that all histories begin with the same numbers.
func (w *World) End() error {
	r := w.model.Record(w.key)
	if r.Held {
		if err := w.Take(Step{Call: model.Call{Op: model.Reclaim, Key: w.key, Seen: r.Generation}}, false); err != nil {
			return err
		}
	}
	if !r.Exists {
		if err := w.Take(Step{Call: model.Call{Op: model.CompareAndSwap, Key: w.key, Version: r.Version}}, false); err != nil {
			return err
		}
	}
	delete(w.model.Records, w.key)
	w.done++
	return nil
}

// Close compares the counters and closes the store.
func (s *Store) Close() error {
	want := s.model.Count()
	want.Records += s.done
	if diff := cmp.Diff(want, s.actual.Count()); diff != "" {
		return fmt.Errorf("counters (-model +store):\n%s", diff)
	}
	return s.actual.Store.Close()
}

// Steps returns every step that can be taken, in a slice that is good until
// the next call. The first claim is A's: labels mean nothing to a store, so a
// history in which A and B change places is the same one.
func (w *World) Steps() []Step {
	r := w.model.Record(w.key)
	steps := w.steps[:0]
	add := func(c model.Call, real fenced.Grant) {
		c.Key = w.key
		steps = append(steps, Step{c, real})
	}
	if r.Held && !r.Lapsed(w.model.Now) {
		add(model.Call{Op: lapse}, fenced.Grant{})
	}
	add(model.Call{Op: model.TryAcquire, Holder: "A", Lease: lease}, fenced.Grant{})
	if len(w.claims) > 0 {
		add(model.Call{Op: model.TryAcquire, Holder: "B", Lease: lease}, fenced.Grant{})
	}
	add(model.Call{Op: model.Sweep}, fenced.Grant{})
	for n := fenced.Generation(1); n <= r.Generation; n++ {
		add(model.Call{Op: model.Reclaim, Seen: n}, fenced.Grant{})
	}
	value := values[len(w.history)%len(values):][:1]
	for v := fenced.Version(0); v <= r.Version; v++ {
		add(model.Call{Op: model.CompareAndSwap, Version: v, Value: value}, fenced.Grant{})
		add(model.Call{Op: model.CompareAndDelete, Version: v}, fenced.Grant{})
	}
	for _, g := range w.claims {
		add(model.Call{Op: model.Renew, Grant: g.model, Lease: lease}, g.real)
		add(model.Call{Op: model.Release, Grant: g.model}, g.real)
		if g, isNew := w.reread(g, r.Version); isNew { // the worker looked at the record again
			add(model.Call{Op: model.Commit, Grant: g.model, Value: value}, g.real)
			add(model.Call{Op: model.Delete, Grant: g.model}, g.real)
		}
	}
	for _, g := range w.copies {
		add(model.Call{Op: model.Commit, Grant: g.model, Value: value}, g.real)
		add(model.Call{Op: model.Delete, Grant: g.model}, g.real)
	}
	w.steps = steps
	return steps
}

// values has a value of one byte for each step.
var values = []byte("abcdefghijklmnopqrstuvwxyz")

// reread returns g at version, and whether no copy of g is.
func (w *World) reread(g copied, version fenced.Version) (copied, bool) {
	for _, c := range w.copies {
		if c.model.Generation == g.model.Generation && c.model.Version == version {
			return g, false
		}
	}
	g.model.Version, g.real.Version = version, version
	return g, true
}

// Take takes a step on store and model and, where the step was not compared
// before, compares what it came to and the record as it then is.
func (w *World) Take(s Step, compare bool) error {
	was := w.model.Record(w.key)
	w.history = append(w.history, s)
	if s.Op == lapse {
		time.Sleep(lease)
		w.model.Advance(lease)
		return nil
	}
	want := w.model.Do(s.Call)
	got, next, err := w.actual.Do(context.Background(), s.Call, s.real)
	if err != nil {
		return err
	}
	if !equal(want, got) {
		return w.differs("what it came to", cmp.Diff(want, got))
	}
	if got.Refused == 0 && next.Generation != 0 && s.Op != model.Renew {
		g := copied{model.Grant{View: got.View.Bare(), Issued: true}, next}
		w.copies = append(w.copies, g)
		if s.Op == model.TryAcquire {
			w.claims = append(w.claims, g)
		}
	}
	if got.Refused == 0 && (s.Op == model.Delete || s.Op == model.CompareAndDelete) {
		w.destroyed = w.model.Record(w.key).Version
	}
	if !compare {
		return nil
	}
	w.see(was, s, want)
	w.predict(was, s, want)
	got, _, err = w.actual.Do(context.Background(), model.Call{Op: model.Read, Key: w.key}, fenced.Grant{})
	if err != nil {
		return err
	}
	if want := w.model.Record(w.key).View(w.key); want != got.View {
		return w.differs("the record after it", cmp.Diff(want, got.View))
	}
	return nil
}

func equal(a, b model.Outcome) bool {
	if a.Refused != b.Refused || a.View != b.View || a.Ended != b.Ended || len(a.Swept) != len(b.Swept) {
		return false
	}
	for i := range a.Swept {
		if a.Swept[i] != b.Swept[i] {
			return false
		}
	}
	return true
}

func (w *World) differs(what, diff string) error {
	var b strings.Builder
	for i, s := range w.history {
		fmt.Fprintf(&b, "%3d %v\n", i+1, s.Call)
	}
	return fmt.Errorf("after\n%s%s differs (-model +store):\n%s", b.String(), what, diff)
}

// State is all of the world that the model knows and a later step depends on:
// the record, but for the length of its lease, and the copies of grants.
func (w *World) State() string {
	r := w.model.Record(w.key)
	isLapsed := r.Lapsed(w.model.Now)
	r.Until, r.Value = 0, ""
	var b strings.Builder
	fmt.Fprint(&b, r, isLapsed)
	for _, g := range w.copies {
		fmt.Fprint(&b, " ", g.model.Holder, g.model.Version, g.model.Generation)
	}
	return b.String()
}
