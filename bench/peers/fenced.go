package main

import (
	"context"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/bench/internal/harness"
)

const lease = time.Hour

var ctx = context.Background()

// swapPeer is fenced without grants, like for like with the others.
var swapPeer = peer{
	name:  "fenced: read, compare-and-swap",
	how:   "the optimistic path: `Read`, then `CompareAndSwap`",
	open:  func() (store, error) { return &fencedStore{fenced.NewStore(fenced.Options{})}, nil },
	loops: versionedLoops,
}

// grantPeer is fenced as it is meant. The claim has read the record, so an update
// needs no read.
var grantPeer = peer{
	name: "fenced: commit under a grant",
	how:  "`Commit`; the grant carries value and version from the claim or from the commit before, so nothing is read",
	open: func() (store, error) {
		s := fenced.NewStore(fenced.Options{})
		return &grantStore{fencedStore: fencedStore{s}, backend: s}, nil
	},
	loops: map[string]maker{update: updatingGranted, write: committing, refused: refusingMoved, cycle: cycling, ended: refusingEnded},
	limit: func(s setting) string {
		if s.Hot && s.Procs > 1 {
			return "one record has one holder; what others cost it is the hand-over"
		}
		return ""
	},
}

type fencedStore struct{ s *fenced.Store }

func (s *fencedStore) load(n, size int) {
	for key, value := range rows(0, n, size) {
		create(s, key, value)
	}
}

func (s *fencedStore) read(key string) ([]byte, uint64) {
	r, err := s.s.Read(ctx, key)
	must(err)
	return r.Value, uint64(r.Version)
}

func (s *fencedStore) swap(key string, version uint64, value []byte) bool {
	_, err := s.s.CompareAndSwap(ctx, key, fenced.Version(version), value)
	return err == nil
}

func (s *fencedStore) close() error { return s.s.Close() }

// grantStore carries the grants of the holders as well. Its loops go through an
// interface, as those of the others do.
type grantStore struct {
	fencedStore
	backend fenced.Backend
	grants  []fenced.Grant // of all records, or of none
}

// claim claims all records, unless they are.
func (s *grantStore) claim(n int) []fenced.Grant {
	if s.grants == nil {
		s.grants = make([]fenced.Grant, n)
		for i := range s.grants {
			s.grants[i] = harness.Must(s.s.TryAcquire(ctx, harness.Key(i), "worker-1", lease))
		}
	}
	return s.grants
}

// hold claims all records, and leaves the store alone with what it keeps of that.
func (s *grantStore) hold(n int) {
	s.claim(n)
	s.grants = nil
}

// updatingGranted derives from what the grant carries, which is the holder's own:
// the claim has read the record, or it is what was committed last.
func updatingGranted(s store, on setting) loop {
	fs := s.(*grantStore)
	grants := fs.claim(on.N)
	return func(order []int32) {
		for _, i := range order {
			value := grants[i].Value
			stamp(value)
			g, err := fs.backend.Commit(ctx, grants[i], value)
			must(err)
			grants[i] = g
		}
	}
}

// committing writes one value over and over, as writing does. The grants carry
// that one then.
func committing(s store, on setting) loop {
	fs := s.(*grantStore)
	grants := fs.claim(on.N)
	return func(order []int32) {
		value := make([]byte, on.Size)
		for _, i := range order {
			stamp(value)
			g, err := fs.backend.Commit(ctx, grants[i], value)
			must(err)
			grants[i] = g
		}
	}
}

// refusingMoved commits at the version before the current one, under the current
// grant.
func refusingMoved(s store, on setting) loop {
	fs := s.(*grantStore)
	grants := fs.claim(on.N)
	old, value := make([]fenced.Grant, on.N), make([]byte, on.Size)
	for i, g := range grants {
		old[i] = g
		grants[i] = harness.Must(fs.s.Commit(ctx, g, value))
	}
	return rejected(fs, old, value)
}

// refusingEnded commits as a zombie: nobody has written since, but another holds
// the record.
func refusingEnded(s store, on setting) loop {
	fs := s.(*grantStore)
	old := fs.claim(on.N)
	for _, g := range old {
		harness.Must(fs.s.Reclaim(ctx, g.Key, g.Generation))
		harness.Must(fs.s.TryAcquire(ctx, g.Key, "worker-2", lease))
	}
	return rejected(fs, old, make([]byte, on.Size))
}

func rejected(fs *grantStore, grants []fenced.Grant, value []byte) loop {
	return func(order []int32) {
		for _, i := range order {
			if _, err := fs.backend.Commit(ctx, grants[i], value); err == nil {
				panic("not refused")
			}
		}
	}
}

func cycling(s store, on setting) loop {
	fs, keys := s.(*grantStore), ownKeys(on.N)
	for _, g := range fs.grants {
		must(fs.s.Release(ctx, g))
	}
	fs.grants = nil
	return func(order []int32) {
		for _, i := range order {
			g, err := fs.backend.TryAcquire(ctx, keys[i], "worker-1", lease)
			must(err)
			stamp(g.Value)
			g, err = fs.backend.Commit(ctx, g, g.Value)
			must(err)
			must(fs.backend.Release(ctx, g))
		}
	}
}
