// Package random_test makes random calls of a store and of the model and
// compares all that can be seen of the two after each.
package random_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/tests/effort"
	"github.com/fencedgo/fenced/tests/model"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// TestMain sets what rapid is to do unless the command line says otherwise, and
// prints the seed, which rapid itself does only after a failure.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"rapid.checks": strconv.Itoa(effort.Of(1000)),
		"rapid.steps":  "80",
		"rapid.seed":   strconv.FormatUint(rand.Uint64(), 10),
	} {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	flag.Parse()
	fmt.Printf("-rapid.seed=%v\n", flag.Lookup("rapid.seed").Value)
	goleak.VerifyTestMain(m)
}

// keys are too few for a store to collect any of them, all deleted.
var keys = []string{"a", "b", "c", "d", "e", "f"}

func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			p := newPair(t)
			defer p.actual.Store.Close()
			t.Repeat(map[string]func(*rapid.T){
				"claim":    p.claim,
				"acquire":  p.acquire,
				"leave":    p.leave,
				"commit":   p.under(model.Commit),
				"delete":   p.under(model.Delete),
				"renew":    p.under(model.Renew),
				"release":  p.under(model.Release),
				"watch":    p.watch,
				"reclaim":  p.reclaim,
				"sweep":    p.sweep,
				"cas":      p.swap(model.CompareAndSwap),
				"cad":      p.swap(model.CompareAndDelete),
				"time":     p.pass,
				"finished": p.finished,
				"":         p.compare,
			})
			p.close(t)
		})
	})
}

// issued is one copy of a grant, as the model and as the store know it.
type issued struct {
	model model.Grant
	real  fenced.Grant
}

// claimant is a goroutine in Acquire.
type claimant struct {
	key    string
	cancel context.CancelFunc
	result chan claimed // holds one
}

type claimed struct {
	grant fenced.Grant
	err   error
}

// watched is a context that is to end with its grant.
type watched struct {
	grant issued
	ctx   context.Context //nolint:containedctx // of a claimant that waits
}

// pair is a store and its model, side by side.
type pair struct {
	world     *model.World
	actual    model.Actual
	other     *fenced.Store
	grants    []issued // every copy ever had
	claimants map[int]claimant
	watched   []watched
	next      int // number of the next claimant or value
}

func newPair(t *rapid.T) *pair {
	opts := fenced.Options{ReportOnly: rapid.IntRange(0, 9).Draw(t, "report only at 9") == 9}
	if rapid.Bool().Draw(t, "observed") {
		opts.OnEvent = func(fenced.Event) {}
	}
	p := &pair{
		world:     model.New(),
		actual:    model.Actual{Store: fenced.NewStore(opts), Epoch: time.Now()},
		other:     fenced.NewStore(fenced.Options{}),
		claimants: map[int]claimant{},
	}
	p.world.ReportOnly = opts.ReportOnly
	return p
}

var (
	anyKey    = rapid.SampledFrom(keys)
	anyHolder = rapid.SampledFrom([]string{"A", "B", "C"})
	anyLease  = rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.IntRange(1, 6).Draw(t, "seconds")) * time.Second
	})
)

func (p *pair) claim(t *rapid.T) {
	p.do(t, model.Call{
		Op: model.TryAcquire, Key: anyKey.Draw(t, "key"), Holder: anyHolder.Draw(t, "holder"), Lease: anyLease.Draw(t, "lease"),
	}, fenced.Grant{})
}

func (p *pair) under(op model.Op) func(*rapid.T) {
	return func(t *rapid.T) {
		g := p.alter(t, p.some(t))
		c := model.Call{Op: op, Key: g.model.Key, Grant: g.model}
		switch op {
		case model.Renew:
			c.Lease = anyLease.Draw(t, "lease")
		case model.Commit:
			c.Value = p.value(t)
		}
		p.do(t, c, g.real)
	}
}

func (p *pair) reclaim(t *rapid.T) {
	key := anyKey.Draw(t, "key")
	back := rapid.IntRange(0, 3).Draw(t, "generations back")
	seen := p.world.Record(key).Generation - min(fenced.Generation(back), p.world.Record(key).Generation)
	p.do(t, model.Call{Op: model.Reclaim, Key: key, Seen: seen}, fenced.Grant{})
}

func (p *pair) swap(op model.Op) func(*rapid.T) {
	return func(t *rapid.T) {
		c := model.Call{Op: op, Key: anyKey.Draw(t, "key")}
		now := p.world.Record(c.Key).Version
		c.Version = rapid.SampledFrom([]fenced.Version{now, 0, now - min(1, now), now + 1}).Draw(t, "version")
		if op == model.CompareAndSwap {
			c.Value = p.value(t)
		}
		p.do(t, c, fenced.Grant{})
	}
}

// value is nil, empty or one that no other call carries.
func (p *pair) value(t *rapid.T) []byte {
	p.next++
	switch rapid.IntRange(0, 6).Draw(t, "nil at 5, empty at 6") {
	case 5:
		return nil
	case 6:
		return []byte{}
	default:
		return fmt.Appendf(nil, "value %d", p.next)
	}
}

// some draws a grant, rather a new one than an old one.
func (p *pair) some(t *rapid.T) issued {
	if len(p.grants) == 0 {
		t.Skip("no grants yet")
	}
	back := rapid.IntRange(0, len(p.grants)-1).Draw(t, "grants back")
	return p.grants[len(p.grants)-1-back]
}

// alter draws a copy of g that says the same or something else.
func (p *pair) alter(t *rapid.T, g issued) issued {
	how := rapid.SampledFrom([]string{
		"as it is", "as it is", "as it is", "through its token", "at the version as it is now", "at the version as it is now",
		"older", "next generation", "other key", "no mark", "wrong mark", "of another store", "no generation",
	}).Draw(t, "copy")
	m, r := &g.model, &g.real
	switch how {
	case "through its token":
		parsed, err := fenced.ParseToken(r.Token())
		if err != nil {
			t.Fatalf("token of %v: %v", m, err)
		}
		*r = parsed
		m.Holder, m.Until = "", 0
	case "at the version as it is now":
		m.Version = p.world.Record(m.Key).Version
		r.Version = m.Version
	case "older":
		m.Version -= min(1, m.Version)
		r.Version = m.Version
	case "next generation":
		m.Generation, r.Generation, m.Issued = m.Generation+1, r.Generation+1, false
	case "other key":
		m.Key += "'"
		r.Key, m.Issued = m.Key, false
	case "no mark":
		*r, m.Issued = fenced.Grant{Record: r.Record}, false
	case "wrong mark":
		*r, m.Issued = fenced.NewGrant(r.Record, r.Nonce()+1), false
	case "of another store":
		*r, m.Issued = p.foreign(t, r.Record), false
	case "no generation":
		m.Generation, r.Generation = 0, 0
	}
	return g
}

// foreign returns a grant that another store issued, with the numbers of r.
func (p *pair) foreign(t *rapid.T, r fenced.Record) fenced.Grant {
	for {
		g, err := p.other.TryAcquire(t.Context(), r.Key, r.Holder+"?", time.Hour)
		if err != nil {
			t.Fatalf("claim of another store: %v", err)
		}
		if err := p.other.Release(t.Context(), g); err != nil {
			t.Fatalf("release of another store: %v", err)
		}
		if g.Generation >= r.Generation {
			g.Record = r
			return g
		}
	}
}

// do makes the call of both and compares what it came to.
func (p *pair) do(t *rapid.T, c model.Call, g fenced.Grant) {
	want := p.world.Do(c)
	got, next, err := p.actual.Do(t.Context(), c, g)
	t.Logf("%v: %v: %v", p.world.Now, c, got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%v (-model +store):\n%s", c, diff)
	}
	if got.Refused == 0 && next.Generation != 0 {
		p.keep(next, c.Op == model.TryAcquire || c.Grant.Issued)
	}
}

func (p *pair) keep(g fenced.Grant, isIssued bool) {
	p.grants = append(p.grants, issued{model.Grant{View: p.actual.View(g.Record), Issued: isIssued}, g})
}

// sweep has a limit, so the model is told which grants ended, and checks the
// choice.
func (p *pair) sweep(t *rapid.T) {
	limit := rapid.IntRange(0, 2).Draw(t, "limit")
	lapsed := p.world.Lapsed()
	list, err := p.actual.Store.ReclaimExpired(t.Context(), limit)
	if err != nil {
		t.Fatalf("sweep: %v", err)
	}
	got := p.actual.Grants(list)
	t.Logf("%v: sweep of %d, limit %d: %v", p.world.Now, len(lapsed), limit, got)
	due := len(lapsed)
	if limit > 0 {
		due = min(due, limit)
	}
	var swept []string
	for _, v := range got {
		if !slices.Contains(lapsed, v.Key) || slices.Contains(swept, v.Key) {
			t.Fatalf("swept %v, which had not lapsed", v)
		}
		swept = append(swept, v.Key)
	}
	if len(swept) != due {
		t.Fatalf("swept %d, due were %d", len(swept), due)
	}
	if diff := cmp.Diff(p.world.SweepOf(swept), got); diff != "" {
		t.Fatalf("sweep (-model +store):\n%s", diff)
	}
}

// acquire starts a claimant that waits its turn, perhaps not for ever. Contexts
// end at half seconds and leases at whole ones, so that the two never coincide.
func (p *pair) acquire(t *rapid.T) {
	p.next++
	c := model.Waiter{ID: p.next, Holder: anyHolder.Draw(t, "holder"), Lease: anyLease.Draw(t, "lease")}
	key := anyKey.Draw(t, "key")
	ctx, cancel := context.WithCancel(context.Background())
	if patience := rapid.IntRange(0, 9).Draw(t, "patience"); patience > 0 {
		d := time.Duration(patience)*time.Second - time.Second/2
		ctx, cancel = context.WithTimeout(context.Background(), d)
		c.Deadline = p.world.Now + d
	}
	t.Logf("%v: claimant %d for %s: %s for %v, deadline %v", p.world.Now, c.ID, key, c.Holder, c.Lease, c.Deadline)
	result := make(chan claimed, 1)
	p.claimants[c.ID] = claimant{key, cancel, result}
	go func() {
		g, err := p.actual.Store.Acquire(ctx, key, c.Holder, c.Lease)
		result <- claimed{g, err}
	}()
	p.world.Acquire(key, c)
}

// leave ends the context of a claimant, perhaps just before its turn comes: it
// is not to be served, though it has had no time to leave the queue.
func (p *pair) leave(t *rapid.T) {
	var ids []int
	for id := range p.claimants {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		t.Skip("nobody waits")
	}
	slices.Sort(ids)
	id := rapid.SampledFrom(ids).Draw(t, "claimant")
	t.Logf("%v: claimant %d leaves", p.world.Now, id)
	p.claimants[id].cancel()
	p.world.Leave(id)
	if rapid.Bool().Draw(t, "as the grant ends") {
		key := p.claimants[id].key
		p.do(t, model.Call{Op: model.Reclaim, Key: key, Seen: p.world.Record(key).Generation}, fenced.Grant{})
	}
}

func (p *pair) pass(t *rapid.T) {
	d := anyLease.Draw(t, "time")
	t.Logf("%v: %v pass", p.world.Now, d)
	time.Sleep(d)
	p.world.Advance(d)
}

func (p *pair) watch(t *rapid.T) {
	g := p.alter(t, p.some(t))
	t.Logf("%v: watch %s %v", p.world.Now, g.model.Key, g.model)
	ctx, cancel := p.actual.Store.Context(context.Background(), g.real)
	if rapid.IntRange(0, 4).Draw(t, "cancelled at 4") == 4 {
		cancel()
		if ctx.Err() == nil {
			t.Fatal("a cancelled context goes on")
		}
		return
	}
	t.Cleanup(cancel)
	p.watched = append(p.watched, watched{g, ctx})
}

// finished makes each call under a context that has ended.
func (p *pair) finished(t *rapid.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g := p.some(t)
	key := g.model.Key
	for _, op := range []model.Op{
		model.Read, model.TryAcquire, model.Renew, model.Commit, model.Delete, model.Release,
		model.Reclaim, model.Sweep, model.CompareAndSwap, model.CompareAndDelete,
	} {
		r := p.world.Record(key)
		c := model.Call{Op: op, Key: key, Holder: "A", Lease: time.Second, Grant: g.model, Seen: r.Generation, Version: r.Version}
		got, _, err := p.actual.Do(ctx, c, g.real)
		if err != nil || got.Refused != model.Other {
			t.Fatalf("%v under a finished context: %v, %v", c, got, err)
		}
	}
	if _, err := p.actual.Store.Acquire(ctx, key, "A", time.Second); !errors.Is(err, context.Canceled) {
		t.Fatalf("acquire under a finished context: %v", err)
	}
}

// compare compares all that can be seen of both.
func (p *pair) compare(t *rapid.T) {
	synctest.Wait()
	p.compareServed(t)
	all := map[string]model.View{}
	for _, key := range keys {
		want := p.world.Record(key).View(key)
		r, err := p.actual.Store.Read(t.Context(), key)
		if err != nil {
			t.Fatalf("read %s: %v", key, err)
		}
		if diff := cmp.Diff(want, p.actual.View(r)); diff != "" {
			t.Fatalf("record %s (-model +store):\n%s", key, diff)
		}
		if want.Exists {
			all[key] = want
		}
	}
	if diff := cmp.Diff(all, p.actual.All()); diff != "" {
		t.Fatalf("all records (-model +store):\n%s", diff)
	}
	if diff := cmp.Diff(p.world.Count(), p.actual.Count()); diff != "" {
		t.Fatalf("counters (-model +store):\n%s", diff)
	}
	for _, w := range p.watched {
		p.compareWatched(t, w)
	}
}

func (p *pair) compareWatched(t *rapid.T, w watched) {
	isCurrent := p.world.Current(w.grant.model)
	if isCurrent != (w.ctx.Err() == nil) {
		t.Fatalf("context of %s %v: current is %v, context says %v", w.grant.model.Key, w.grant.model, isCurrent, context.Cause(w.ctx))
	}
	var refusal *fenced.ConflictError
	cause := context.Cause(w.ctx)
	switch want := w.grant.model; {
	case isCurrent:
	case want.Generation == 0:
		if model.ReasonsOf(cause) != model.Invalid {
			t.Fatalf("context of an invalid grant: %v", cause)
		}
	case !want.Issued:
		if model.ReasonsOf(cause) != model.Foreign {
			t.Fatalf("context of a foreign grant: %v", cause)
		}
	case model.ReasonsOf(cause) != model.Stale || !errors.As(cause, &refusal) || refusal.Presented.Generation != want.Generation:
		t.Fatalf("context of %v: %v", want, cause)
	}
}

// compareServed compares which claimants have returned, and with what.
func (p *pair) compareServed(t *rapid.T) {
	for _, want := range p.world.Served {
		c := p.claimants[want.ID]
		delete(p.claimants, want.ID)
		defer c.cancel()
		select {
		case got := <-c.result:
			t.Logf("%v: claimant %d: %v, %v", p.world.Now, want.ID, p.actual.View(got.grant.Record), got.err)
			switch {
			case want.TimeOut:
				if !errors.Is(got.err, context.Canceled) && !errors.Is(got.err, context.DeadlineExceeded) {
					t.Fatalf("claimant %d, whose context has ended: %v", want.ID, got.err)
				}
			case got.err != nil:
				t.Fatalf("claimant %d: %v", want.ID, got.err)
			default:
				if diff := cmp.Diff(want.Grant, p.actual.View(got.grant.Record)); diff != "" {
					t.Fatalf("claimant %d (-model +store):\n%s", want.ID, diff)
				}
				got.grant.Value = nil
				p.keep(got.grant, true)
			}
		default:
			t.Fatalf("claimant %d still waits; due: %+v", want.ID, want)
		}
	}
	p.world.Served = nil
	for id, c := range p.claimants {
		if len(c.result) > 0 {
			got := <-c.result
			t.Fatalf("claimant %d returned out of turn: %v, %v", id, got.grant.Record, got.err)
		}
	}
}

// close closes the store and looks at what is left.
func (p *pair) close(t *rapid.T) {
	current := func(w watched) bool { return p.world.Current(w.grant.model) }
	count := p.actual.Count()
	if err := p.actual.Store.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	synctest.Wait()
	for id, c := range p.claimants {
		select {
		case got := <-c.result:
			if !errors.Is(got.err, fenced.ErrClosed) || got.grant.Generation != 0 {
				t.Fatalf("claimant %d of a closed store: %v, %v", id, got.grant, got.err)
			}
		default:
			t.Fatalf("claimant %d waits for a closed store", id)
		}
		c.cancel()
	}
	for _, w := range p.watched {
		if w.ctx.Err() == nil || current(w) && !errors.Is(context.Cause(w.ctx), fenced.ErrClosed) {
			t.Fatalf("context of %v after close: %v", w.grant.model, context.Cause(w.ctx))
		}
	}
	if len(p.grants) > 0 {
		g := p.grants[len(p.grants)-1]
		if _, err := p.actual.Store.Commit(t.Context(), g.real, nil); model.ReasonsOf(err) != model.Closed {
			t.Fatalf("commit to a closed store: %v", err)
		}
	}
	if diff := cmp.Diff(count, p.actual.Count()); diff != "" {
		t.Fatalf("counters moved by close (-before +after):\n%s", diff)
	}
}
