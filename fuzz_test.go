package fenced_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// model is the contract said naively: a map, no locks, no heap, no pointers
// from grants to records.
type model struct {
	records map[string]*modelRecord
	issued  map[modelGrant]bool
	stats   fenced.Stats
}

type modelRecord struct {
	exists     bool
	value      string
	version    uint64
	generation uint64
	holder     string // "": nobody
	until      time.Time
}

// modelGrant is what a grant is: a generation of a record.
type modelGrant struct {
	key        string
	generation uint64
}

func newModel() *model {
	return &model{records: map[string]*modelRecord{}, issued: map[modelGrant]bool{}}
}

func (m *model) at(key string) *modelRecord {
	r := m.records[key]
	if r == nil {
		r = &modelRecord{generation: 1}
		m.records[key] = r
	}
	return r
}

func (m *model) read(key string) fenced.Record {
	r := m.at(key)
	v := fenced.Record{Key: key, Version: fenced.Version(r.version), Generation: fenced.Generation(r.generation), Holder: r.holder}
	if r.exists {
		v.Value = []byte(r.value)
	}
	if r.holder != "" {
		v.Expires = r.until
	}
	return v
}

func (m *model) claim(key, holder string, lease time.Duration) []error {
	r := m.at(key)
	if r.holder != "" && time.Now().Before(r.until) {
		m.stats.RefusedHeld++
		return []error{fenced.ErrGrantHeld}
	}
	if r.holder != "" {
		r.generation++
		m.stats.TakenOver++
		m.stats.Live--
	}
	r.holder, r.until = holder, time.Now().Add(lease)
	m.issued[modelGrant{key, r.generation}] = true
	m.stats.Grants++
	m.stats.Live++
	return nil
}

// judge is the one rule, and the checks of the arguments before it.
func (m *model) judge(g presented) []error {
	r := m.at(g.Key)
	switch {
	case g.Key == "" || g.Generation == 0:
		return []error{fenced.ErrInvalid}
	case !g.genuine || !m.issued[modelGrant{g.Key, uint64(g.Generation)}]:
		return []error{fenced.ErrForeignGrant}
	case r.holder == "" || r.generation != uint64(g.Generation):
		return []error{fenced.ErrStaleReadGeneration}
	}
	return nil
}

func (m *model) write(g presented, value *string) []error {
	refused := m.judge(g)
	if slices.Contains(refused, fenced.ErrInvalid) || slices.Contains(refused, fenced.ErrForeignGrant) {
		return refused
	}
	r := m.at(g.Key)
	if r.version != uint64(g.Version) {
		refused = append(refused, fenced.ErrVersionConflict)
	}
	switch {
	case len(refused) == 2:
		m.stats.RefusedBoth++
	case slices.Contains(refused, fenced.ErrVersionConflict):
		m.stats.RefusedVersion++
	case slices.Contains(refused, fenced.ErrStaleReadGeneration):
		m.stats.RefusedGeneration++
	default:
		m.put(r, value)
		if value != nil {
			m.stats.Commits++
		}
	}
	return refused
}

func (m *model) put(r *modelRecord, value *string) {
	r.version++
	r.exists = value != nil
	if value == nil {
		r.value = ""
		m.stats.Deletes++
		return
	}
	r.value = *value
}

func (m *model) renew(g presented, lease time.Duration) []error {
	refused := m.judge(g)
	if refused == nil {
		m.at(g.Key).until = time.Now().Add(lease)
		m.stats.Renewals++
	}
	return refused
}

func (m *model) release(g presented) []error {
	refused := m.judge(g)
	if refused == nil {
		r := m.at(g.Key)
		if !time.Now().Before(r.until) {
			m.stats.Overruns++
		}
		m.end(r, &m.stats.Released)
	}
	return refused
}

func (m *model) end(r *modelRecord, count *uint64) {
	r.generation++
	r.holder = ""
	m.stats.Live--
	*count++
}

func (m *model) reclaim(key string, seen fenced.Generation) []error {
	r := m.at(key)
	if r.holder == "" || r.generation != uint64(seen) {
		return []error{fenced.ErrStaleReadGeneration}
	}
	m.end(r, &m.stats.Reclaimed)
	return nil
}

// sweep returns the keys whose leases have lapsed, sorted.
func (m *model) sweep() []string {
	var keys []string
	for key, r := range m.records {
		if r.holder != "" && !time.Now().Before(r.until) {
			m.end(r, &m.stats.Reclaimed)
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (m *model) swap(key string, version fenced.Version, value *string) []error {
	r := m.at(key)
	var refused []error
	if r.holder != "" {
		refused = append(refused, fenced.ErrGrantHeld)
	}
	if version == 0 && r.exists || version != 0 && uint64(version) != r.version {
		refused = append(refused, fenced.ErrVersionConflict)
	}
	switch {
	case slices.Contains(refused, fenced.ErrGrantHeld):
		m.stats.RefusedHeld++
	case refused != nil:
		m.stats.RefusedVersion++
	default:
		m.put(r, value)
		if value != nil {
			m.stats.Swaps++
		}
	}
	return refused
}

// presented is a grant, and whether its mark is the one it was issued with.
type presented struct {
	fenced.Grant
	genuine bool
}

// script is a byte string read as a sequence of choices. At its end all choices
// are the first.
type script struct{ bytes []byte }

func (s *script) of(n int) int {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return int(b) % n
}

// run is a script played to a store and to the model.
type run struct {
	t      *testing.T
	script script
	store  *fenced.Store
	other  *fenced.Store
	model  *model
	grants []fenced.Grant // issued by store, in order, at all their versions
}

var (
	fuzzKeys    = []string{"a", "b", "c"}
	fuzzWorkers = []string{"A", "B", "A"} // two of one label
)

func (r *run) key() string { return fuzzKeys[r.script.of(len(fuzzKeys))] }

func (r *run) worker() string { return fuzzWorkers[r.script.of(len(fuzzWorkers))] }

func (r *run) lease() time.Duration { return time.Duration(1+r.script.of(8)) * time.Second }

func (r *run) value() []byte {
	return [][]byte{nil, {}, []byte("v"), []byte("something longer")}[r.script.of(4)]
}

// grant chooses a grant to present: mostly one that was issued, sometimes
// through its text, sometimes altered, foreign or zero.
func (r *run) grant() presented {
	how := r.script.of(16)
	if len(r.grants) == 0 || how == 15 {
		return presented{}
	}
	back := r.script.of(min(len(r.grants), 8)) // mostly a recent one
	g := presented{Grant: r.grants[len(r.grants)-1-back], genuine: true}
	switch how {
	case 8, 9:
		parsed, err := fenced.ParseToken(g.Token())
		require.NoError(r.t, err)
		g.Grant = parsed
	case 10: // brought up to date, which is allowed
		g.Version = r.model.read(g.Key).Version
	case 11:
		g.Version += fenced.Version(r.script.of(3)) - 1
	case 12:
		key := r.key()
		g.genuine = key == g.Key
		g.Key = key
	case 13:
		if d := fenced.Generation(r.script.of(5)) - 2; d != 0 {
			g.Generation += d
			g.genuine = false
		}
	case 14:
		foreign, err := r.other.TryAcquire(bg, g.Key, g.Holder+"'", time.Second)
		if err != nil {
			foreign = fenced.NewGrant(g.Record, g.Nonce()+1)
		}
		foreign.Version, foreign.Generation = g.Version, g.Generation
		g = presented{Grant: foreign}
	}
	return g
}

// same requires that err is what the model says.
func (r *run) same(call string, err error, want []error) {
	r.t.Helper()
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) != slices.Contains(want, sentinel) {
			r.t.Fatalf("%s: got %v, want %v", call, err, want)
		}
	}
	if err != nil && want == nil {
		r.t.Fatalf("%s: got %v", call, err)
	}
}

// issued checks a grant that was issued against the model, and remembers it.
func (r *run) issued(call string, g fenced.Grant) {
	r.t.Helper()
	if diff := cmp.Diff(r.model.read(g.Key), g.Record); diff != "" {
		r.t.Fatalf("%s: -want +got:\n%s", call, diff)
	}
	r.grants = append(r.grants, g)
}

func (r *run) step() {
	s, m := r.store, r.model
	switch r.script.of(13) {
	case 0:
		time.Sleep(time.Duration(r.script.of(6)) * time.Second)
	case 1:
		key, who, d := r.key(), r.worker(), r.lease()
		g, err := s.TryAcquire(bg, key, who, d)
		r.same("TryAcquire", err, m.claim(key, who, d))
		if err == nil {
			r.issued("TryAcquire", g)
		}
	case 2:
		r.acquire()
	case 3, 4:
		g, value := r.grant(), r.value()
		text := string(value)
		next, err := s.Commit(bg, g.Grant, value)
		r.same("Commit", err, m.write(g, &text))
		r.written("Commit", g, next, err, text)
	case 5:
		g := r.grant()
		next, err := s.Delete(bg, g.Grant)
		r.same("Delete", err, m.write(g, nil))
		r.written("Delete", g, next, err, "")
	case 6:
		g, d := r.grant(), r.lease()
		renewed, err := s.Renew(bg, g.Grant, d)
		r.same("Renew", err, m.renew(g, d))
		if err == nil {
			want := g.Grant
			want.Expires = time.Now().Add(d)
			equal(r.t, want, renewed)
		}
	case 7:
		g := r.grant()
		r.same("Release", s.Release(bg, g.Grant), m.release(g))
	case 8:
		key := r.key()
		seen := m.read(key).Generation + fenced.Generation(r.script.of(3)) - 1
		got, err := s.Reclaim(bg, key, seen)
		r.same("Reclaim", err, m.reclaim(key, seen))
		if err == nil {
			equal(r.t, m.read(key), got)
		}
	case 9:
		r.sweep()
	case 10:
		key, value := r.key(), r.value()
		version, text := r.version(key), string(value)
		got, err := s.CompareAndSwap(bg, key, version, value)
		r.same("CompareAndSwap", err, m.swap(key, version, &text))
		if err == nil {
			equal(r.t, m.read(key), got)
		}
	case 11:
		key := r.key()
		version := r.version(key)
		got, err := s.CompareAndDelete(bg, key, version)
		r.same("CompareAndDelete", err, m.swap(key, version, nil))
		if err == nil {
			equal(r.t, m.read(key), got)
		}
	case 12:
		r.watch()
	}
}

// version is one that a writer might come with.
func (r *run) version(key string) fenced.Version {
	if r.script.of(4) == 3 {
		return 0
	}
	return r.model.read(key).Version + fenced.Version(r.script.of(3)) - 1
}

// written checks the grant that a write returned, and remembers it.
func (r *run) written(call string, g presented, next fenced.Grant, err error, text string) {
	r.t.Helper()
	if err != nil {
		equal(r.t, fenced.Grant{}, next)
		return
	}
	want := g.Grant
	want.Version++
	want.Value = nil
	if call == "Commit" {
		want.Value = []byte(text)
	}
	equal(r.t, want, next)
	r.grants = append(r.grants, next)
}

// acquire waits with a deadline that no lease shares, so that it is decided who
// comes first.
func (r *run) acquire() {
	key, who, d := r.key(), r.worker(), r.lease()
	ctx, cancel := context.WithTimeout(bg, time.Duration(r.script.of(4))*time.Second+time.Second/2)
	defer cancel()
	deadline, _ := ctx.Deadline()
	now := r.model.read(key)
	start := time.Now()
	if now.Holder != "" && now.Expires.Equal(deadline) {
		return
	}
	g, err := r.store.Acquire(ctx, key, who, d)
	if now.Holder != "" && now.Expires.After(deadline) {
		r.same("Acquire", err, []error{context.DeadlineExceeded})
		require.True(r.t, time.Now().Equal(deadline))
		return
	}
	r.same("Acquire", err, r.model.claim(key, who, d)) // at the time of the take-over
	if now.Holder != "" && now.Expires.After(start) {
		start = now.Expires
	}
	require.True(r.t, time.Now().Equal(start))
	r.issued("Acquire", g)
}

func (r *run) sweep() {
	limit := r.script.of(3)
	lapsed := 0
	for _, key := range fuzzKeys {
		if v := r.model.read(key); v.Holder != "" && !v.Expires.After(time.Now()) {
			lapsed++
		}
	}
	if limit > 0 && lapsed > limit {
		return // which ones is for the store to choose
	}
	before := map[string]fenced.Record{}
	for _, key := range fuzzKeys {
		before[key] = r.model.read(key)
	}
	ended, err := r.store.ReclaimExpired(bg, limit)
	r.same("ReclaimExpired", err, nil)
	var keys []string
	for _, g := range ended {
		equal(r.t, before[g.Key], g.Record)
		keys = append(keys, g.Key)
	}
	slices.Sort(keys)
	equal(r.t, r.model.sweep(), keys)
}

// watch opens a context and closes it again: it has ended if the grant has.
func (r *run) watch() {
	g := r.grant()
	ctx, cancel := r.store.Context(bg, g.Grant)
	defer cancel()
	r.same("Context", context.Cause(ctx), r.model.judge(g))
}

// agree requires that the store reads like the model.
func (r *run) agree() {
	r.t.Helper()
	stats := r.model.stats
	for _, key := range fuzzKeys {
		want := r.model.read(key)
		r.alike(want, read(r.t, r.store, key))
		if want.Exists() {
			stats.Records++
		}
	}
	listed := uint64(0)
	for v := range r.store.All() {
		require.True(r.t, v.Exists())
		r.alike(r.model.read(v.Key), v)
		listed++
	}
	require.Equal(r.t, stats.Records, listed)
	got := r.store.Stats()
	got.Held = fenced.Distribution{}
	if got != stats {
		equal(r.t, stats, got)
	}
}

// alike requires that two records are equal. It is asked often, and cmp is slow.
func (r *run) alike(want, got fenced.Record) {
	r.t.Helper()
	if want.Key != got.Key || want.Exists() != got.Exists() || string(want.Value) != string(got.Value) ||
		want.Version != got.Version || want.Generation != got.Generation ||
		want.Holder != got.Holder || !want.Expires.Equal(got.Expires) {
		r.t.Fatalf("-want +got:\n%s", cmp.Diff(want, got))
	}
}

// FuzzCalls plays a byte string, read as a sequence of calls over three records
// and three workers, to the store and to a naive model of the contract.
func FuzzCalls(f *testing.F) {
	f.Add([]byte{})
	// claim, commit, release
	f.Add([]byte{1, 0, 0, 7, 3, 0, 0, 2, 7, 0, 0})
	// ending one: A claims, the lease lapses, B takes over and commits, A commits
	f.Add([]byte{1, 0, 0, 0, 0, 2, 1, 0, 1, 7, 3, 0, 0, 2, 3, 0, 2, 2})
	// ending two: B never writes
	f.Add([]byte{1, 0, 0, 0, 0, 2, 1, 0, 1, 7, 3, 0, 1, 2, 3, 10, 1, 2})
	// a sweep, then all of a dead grant's calls, directly and by token
	f.Add([]byte{1, 0, 0, 0, 0, 2, 9, 0, 3, 0, 0, 2, 5, 0, 0, 6, 0, 0, 1, 7, 0, 0, 3, 8, 0, 2, 5, 9, 0, 6, 8, 0, 1, 7, 9, 0})
	// swaps and deletes of a free record, re-creation
	f.Add([]byte{10, 0, 2, 0, 1, 10, 0, 2, 0, 1, 11, 0, 0, 1, 10, 0, 2, 3, 11, 0, 3})
	// a waiter served at the lapse, one that gives up
	f.Add([]byte{1, 0, 0, 0, 2, 0, 1, 5, 3, 2, 0, 2, 1, 0, 7, 0, 0, 2, 0, 2, 3, 1})
	// zero, foreign and altered grants
	f.Add([]byte{1, 0, 0, 7, 1, 1, 1, 7, 3, 15, 3, 14, 0, 2, 3, 12, 0, 0, 2, 3, 13, 0, 3, 2, 5, 14, 0, 7, 12, 1, 1, 12, 13, 0, 1})
	for seed := range 30 { // and some of everything
		bytes := make([]byte, 400)
		x := uint32(seed*2654435761 + 1)
		for i := range bytes {
			x ^= x << 13
			x ^= x >> 17
			x ^= x << 5
			bytes[i] = byte(x >> 8)
		}
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if len(bytes) > 2000 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			r := &run{
				t: t, script: script{bytes}, model: newModel(),
				store: fenced.NewStore(fenced.Options{}), other: fenced.NewStore(fenced.Options{}),
			}
			for len(r.script.bytes) > 0 {
				r.step()
				r.agree()
			}
		})
	})
}

// The model is only worth something if the calls of the corpus mostly matter.
func TestFuzzCallsModel(t *testing.T) {
	m := newModel()
	require.Nil(t, m.claim("a", "A", lease))
	g := presented{fenced.Grant{Record: m.read("a")}, true}
	text := "v"
	require.Nil(t, m.write(g, &text))
	require.Equal(t, []error{fenced.ErrVersionConflict}, m.write(g, &text))
	require.Nil(t, m.reclaim("a", 1))
	require.Equal(t, "[fenced: stale generation fenced: version conflict]", fmt.Sprint(m.write(g, &text)))
	require.Equal(t, []error{fenced.ErrForeignGrant}, m.write(presented{Grant: g.Grant}, &text))
}
