package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fencedgo/fenced"
)

// mechanism guards the records while a worker is at an order. All runs share
// the queue, the claims and the vendor; the mechanism is all that differs.
type mechanism interface {
	// work sees the record, decides, and writes. What it returns is what
	// fenced.Work returns.
	work(g fenced.Grant, decide decider) ([]byte, error)
	// load writes the state that the order has before the run.
	load(ctx context.Context, key, state string) error
	// read returns the record.
	read(ctx context.Context, key string) (row, error)
	// refused returns how many writes were refused, by which check.
	refused() refusals
}

// decider asks the vendor about the order whose record was seen in this state,
// and decides.
type decider func(seen string) (decision, error)

type refusals struct {
	version, fence int // by this check alone
	both           int
}

func (r refusals) sum() int { return r.version + r.fence + r.both }

// mechanisms are all there are, from nothing to a fence.
var mechanisms = []struct {
	name string
	open func(*observed) mechanism
}{
	{"none", func(*observed) mechanism { return none{newTable()} }},
	{"lock", func(*observed) mechanism { return newLock() }},
	{"lease", func(*observed) mechanism { return newLeases() }},
	{"version", func(*observed) mechanism { return version{newTable()} }},
	{"fence", func(s *observed) mechanism { return fence{s} }},
}

// names returns those of the mechanisms.
func names() []string {
	var all []string
	for _, m := range mechanisms {
		all = append(all, m.name)
	}
	return all
}

// openMechanism returns a new mechanism of that name, nil if there is none.
func openMechanism(name string, store *observed) mechanism {
	for _, m := range mechanisms {
		if m.name == name {
			return m.open(store)
		}
	}
	return nil
}

// Why a mechanism did not let a worker do its work.
var (
	errBusy  = errors.New("someone else is at the order")
	errMoved = errors.New("the record has moved since it was read")
)

// table is the shared records of the mechanisms that know no fence: a table as
// in any database, with columns for who wrote last and when.
type table struct {
	mu      sync.Mutex
	rows    map[string]row
	refusal refusals
}

type row struct {
	state   string
	version int
	by      claim
	worker  string
	at      time.Time
}

func newTable() *table { return &table{rows: make(map[string]row)} }

func (t *table) load(_ context.Context, key, state string) error { //nolint:unparam // of a mechanism
	t.rows[key] = row{state: state, version: 1}
	return nil
}

func (t *table) read(_ context.Context, key string) (row, error) { //nolint:unparam // of a mechanism
	return t.row(key), nil
}

func (t *table) row(key string) row {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows[key]
}

func (t *table) refused() refusals {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refusal
}

// write puts state into the row of g's order.
func (t *table) write(g fenced.Grant, state string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(g, state)
}

// writeAt does so if the row is at version.
func (t *table) writeAt(g fenced.Grant, version int, state string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows[g.Key].version != version {
		t.refusal.version++
		return errMoved
	}
	t.put(g, state)
	return nil
}

func (t *table) put(g fenced.Grant, state string) {
	t.rows[g.Key] = row{state, t.rows[g.Key].version + 1, claimOf(g), g.Holder, time.Now()}
}
