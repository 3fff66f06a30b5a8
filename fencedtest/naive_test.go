package fencedtest_test

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencedgo/fenced"
)

// naive is a second store, written from the laws: a map under one mutex. With a
// flaw it is a broken one; each flaw is named where it changes what the store
// does, and in the list of mutants.
type naive struct {
	mu   sync.Mutex
	flaw string
	rows map[string]*row
}

type row struct {
	key        string
	value      []byte
	version    fenced.Version
	generation fenced.Generation
	held       bool
	holder     string
	nonce      uint64
	until      time.Time
	ended      fenced.Ending
	endedAt    time.Time

	line     []*ticket     // of those who wait
	renewed  chan struct{} // closed when until is moved
	watchers []func(error)

	// What only a flaw looks at.
	claimed time.Time // until, before renewals
	shown   []byte
	revived bool
	refused int
}

var nonces atomic.Uint64

func newNaive(flaw string) *naive { return &naive{flaw: flaw, rows: make(map[string]*row)} }

// reopen is a restart: what counts is kept.
func (n *naive) reopen() *naive {
	again := newNaive(n.flaw)
	for key, r := range n.rows {
		kept := row{
			key: key, value: r.value, version: r.version, generation: r.generation,
			held: r.held, holder: r.holder, nonce: r.nonce, until: r.until, renewed: make(chan struct{}),
		}
		switch {
		case n.flaw == "reopening forgets the deleted" && r.value == nil:
			continue
		case n.flaw == "reopening starts generations anew":
			kept.generation, kept.held = 1, false
		}
		again.rows[key] = &kept
	}
	return again
}

// enter begins a call. The caller unlocks.
func (n *naive) enter(ctx context.Context, key string) (*row, error) {
	if err := ctx.Err(); err != nil && n.flaw != "finished contexts go on" {
		return nil, err
	}
	if n.flaw == "over-long keys are cut" {
		key = key[:min(len(key), fenced.MaxKey)]
	}
	if err := fenced.CheckKey(key); err != nil {
		return nil, err
	}
	n.mu.Lock()
	r := n.rows[key]
	if r == nil {
		r = &row{key: key, generation: 1, renewed: make(chan struct{})}
		n.rows[key] = r
	}
	return r, nil
}

// yield lets all others run, in the middle of a step that should be one.
func (n *naive) yield(flaw string) {
	if n.flaw == flaw {
		n.mu.Unlock()
		time.Sleep(1)
		n.mu.Lock()
	}
}

func (n *naive) record(r *row) fenced.Record {
	v := fenced.Record{Key: r.key, Value: n.out(r.value), Version: r.version, Generation: r.generation}
	if r.held {
		v.Holder, v.Expires = r.holder, r.until
	}
	if n.flaw == "a claim shows no lease" {
		v.Expires = time.Time{}
	}
	return v
}

// out returns a copy for the caller, in one for the store.
func (n *naive) out(value []byte) []byte {
	if n.flaw == "slices out are the store's" {
		return value
	}
	return clone(value)
}

func (n *naive) in(value []byte) []byte {
	switch {
	case n.flaw == "nil deletes" && value == nil:
		return nil
	case n.flaw == "slices in are the store's" && value != nil:
		return value
	case value == nil:
		return []byte{}
	}
	return clone(value)
}

func clone(value []byte) []byte {
	if value == nil {
		return nil
	}
	return append([]byte{}, value...)
}

func (r *row) lapsed() bool { return !time.Now().Before(r.until) }

func (n *naive) refuse(op string, presented fenced.Record, r *row, reasons ...error) error {
	presented.Value = nil
	e := &fenced.ConflictError{Op: op, Key: r.key, Presented: presented, Current: n.record(r), Reasons: reasons}
	e.Current.Value = nil
	if presented.Generation+1 == r.generation && reasons[0] != fenced.ErrForeignGrant {
		e.Ended, e.EndedAt = r.ended, r.endedAt
	}
	r.refused++
	switch n.flaw {
	case "refusals move the version":
		r.version++
	case "refusals drop the holder":
		r.held = false
	case "refusals disturb the line":
		if len(r.line) > 1 {
			r.line = append(r.line[1:], r.line[0])
		}
	}
	return e
}

// against returns what speaks against g, if anything. It is the one question.
func (n *naive) against(r *row, g fenced.Grant) error {
	switch n.flaw {
	case "grants without a mark pass":
		if r.held && g.Generation == r.generation {
			return nil
		}
	case "later generations pass":
		if r.held && g.Generation >= r.generation {
			return nil
		}
	case "the label must match":
		if g.Holder != r.holder {
			return fenced.ErrStaleReadGeneration
		}
	case "a read revives", "a listing revives":
		if r.revived && g.Generation < r.generation {
			return nil
		}
	case "the third try passes":
		if r.refused > 5 {
			return nil
		}
	}
	switch {
	case r.held && g.Generation == r.generation && g.Nonce() == r.nonce:
		return nil
	case g.Generation >= r.generation:
		return fenced.ErrForeignGrant
	default:
		return fenced.ErrStaleReadGeneration
	}
}

// under begins a call under g. The caller unlocks, also after a refusal.
func (n *naive) under(ctx context.Context, g fenced.Grant) (*row, error, error) {
	var err error
	if g.Generation == 0 && n.flaw != "zero grants pass" || g.Key == "" {
		err = fenced.CheckGrant(g)
	}
	if ctx.Err() == nil && err != nil {
		return nil, nil, err
	}
	r, err := n.enter(ctx, g.Key)
	if err != nil {
		return nil, nil, err
	}
	if g.Generation == 0 {
		return r, nil, nil
	}
	return r, n.against(r, g), nil
}

func (n *naive) Read(ctx context.Context, key string) (fenced.Record, error) {
	r, err := n.enter(ctx, key)
	if err != nil {
		return fenced.Record{}, err
	}
	defer n.mu.Unlock()
	if n.flaw == "a read revives" {
		r.revived = r.refused > 0
	}
	v := n.record(r)
	if n.flaw == "a read gives the value of an earlier one" {
		v.Value, r.shown = r.shown, v.Value
	}
	return v, nil
}

func (n *naive) Commit(ctx context.Context, g fenced.Grant, value []byte) (fenced.Grant, error) {
	g, err := n.write(ctx, "commit", g, n.in(value))
	if err == nil {
		g.Value = n.out(n.in(value))
	}
	return g, err
}

func (n *naive) Delete(ctx context.Context, g fenced.Grant) (fenced.Grant, error) {
	g, err := n.write(ctx, "delete", g, nil)
	g.Value = nil
	return g, err
}

func (n *naive) write(ctx context.Context, op string, g fenced.Grant, value []byte) (fenced.Grant, error) {
	r, reason, err := n.under(ctx, g)
	if err != nil {
		return fenced.Grant{}, err
	}
	defer n.mu.Unlock()
	switch {
	case n.flaw == "no fence" && reason == fenced.ErrStaleReadGeneration,
		n.flaw == "no fence while nobody holds" && !r.held && reason == fenced.ErrStaleReadGeneration,
		n.flaw == "an unlapsed lease passes" && time.Now().Before(g.Expires):
		reason = nil
	case n.flaw == "commit asks the clock" && reason == nil && r.lapsed():
		reason = fenced.ErrStaleReadGeneration
	}
	n.yield("the fence is an earlier step")
	var reasons []error
	if r.version != g.Version && reason != fenced.ErrForeignGrant && !n.anyVersion(r, g) {
		reasons = append(reasons, fenced.ErrVersionConflict)
	}
	if reason != nil && (len(reasons) == 0 || n.flaw != "the version is told alone") {
		reasons = append(reasons, reason)
	}
	if len(reasons) > 0 {
		return fenced.Grant{}, n.refuse(op, g.Record, r, reasons...)
	}
	n.put(r, value)
	g.Version = r.version
	return g, nil
}

func (n *naive) anyVersion(r *row, g fenced.Grant) bool {
	return n.flaw == "no version check" || n.flaw == "later versions pass" && g.Version > r.version
}

func (n *naive) put(r *row, value []byte) {
	switch {
	case n.flaw == "equal bytes are no write" && value != nil && string(value) == string(r.value):
		return
	case n.flaw == "acknowledged and lost" && r.version%7 == 6 && value != nil:
		r.version++
		return
	case n.flaw == "a deleted record loses its version" && value == nil:
		r.value, r.version = nil, 0
		return
	case n.flaw == "a deleted record loses its generation" && value == nil && !r.held:
		r.generation = 1
	case n.flaw == "a record made anew starts anew" && r.value == nil && !r.held:
		r.generation = 1
	}
	r.value = value
	r.version++
}

func (n *naive) CompareAndSwap(ctx context.Context, key string, version fenced.Version, value []byte) (fenced.Record, error) {
	return n.swap(ctx, "compare-and-swap", key, version, n.in(value))
}

func (n *naive) CompareAndDelete(ctx context.Context, key string, version fenced.Version) (fenced.Record, error) {
	return n.swap(ctx, "compare-and-delete", key, version, nil)
}

func (n *naive) swap(ctx context.Context, op, key string, version fenced.Version, value []byte) (fenced.Record, error) {
	r, err := n.enter(ctx, key)
	if err != nil {
		return fenced.Record{}, err
	}
	defer n.mu.Unlock()
	var reasons []error
	if r.held && n.flaw != "a swap passes holders" && (n.flaw != "a swap passes the lapsed" || !r.lapsed()) {
		reasons = append(reasons, fenced.ErrGrantHeld)
	}
	fits := r.version == version
	if n.flaw == "a swap passes later versions" && version > r.version {
		fits = true
	}
	if version == 0 {
		fits = r.value == nil || n.flaw == "a swap from 0 always lands"
	}
	if !fits {
		reasons = append(reasons, fenced.ErrVersionConflict)
	}
	if len(reasons) > 0 {
		return fenced.Record{}, n.refuse(op, fenced.Record{Key: key, Version: version}, r, reasons...)
	}
	n.yield("a swap is two steps")
	n.put(r, value)
	n.collect()
	return n.record(r), nil
}

// collect forgets deleted records, as a store may that keeps a floor under
// their numbers; this one keeps none.
func (n *naive) collect() {
	if n.flaw != "collecting leaves no floor" || len(n.rows) < 1000 {
		return
	}
	maps.DeleteFunc(n.rows, func(_ string, r *row) bool { return r.value == nil && !r.held })
}
