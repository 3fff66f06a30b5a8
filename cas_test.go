package fenced_test

import (
	"sync"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
)

// swaps are the calls of a writer that took no grant.
var swaps = []struct {
	name string
	do   func(s *fenced.Store, key string, version fenced.Version) (fenced.Record, error)
}{
	{"compare-and-swap", func(s *fenced.Store, key string, version fenced.Version) (fenced.Record, error) {
		return s.CompareAndSwap(bg, key, version, []byte("w"))
	}},
	{"compare-and-delete", func(s *fenced.Store, key string, version fenced.Version) (fenced.Record, error) {
		return s.CompareAndDelete(bg, key, version)
	}},
}

func TestSwapReturnsTheRecordAsWritten(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		release(t, s, claim(t, s, "k", "A"))
		r := swap(t, s, "k", 0, "v")
		equal(t, fenced.Record{Key: "k", Value: []byte("v"), Version: 1, Generation: 2}, r)
		equal(t, r, read(t, s, "k"))
		r, err := s.CompareAndDelete(bg, "k", 1)
		require.NoError(t, err)
		equal(t, fenced.Record{Key: "k", Version: 2, Generation: 2}, r)
		equal(t, r, read(t, s, "k"))
	})
}

func TestSwapIsRefusedWhileHeld(t *testing.T) {
	for _, call := range swaps {
		t.Run(call.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				a := commit(t, s, claim(t, s, "k", "A"), "v")
				refused := func() {
					t.Helper()
					unmoved(t, s, []string{"k"}, func() {
						before := s.Stats()
						_, err := call.do(s, "k", 1)
						exactly(t, err, fenced.ErrGrantHeld)
						require.Equal(t, call.name, conflict(t, err).Op)
						_, err = call.do(s, "k", 2)
						exactly(t, err, fenced.ErrGrantHeld, fenced.ErrVersionConflict)
						_, err = call.do(s, "k", 0)
						exactly(t, err, fenced.ErrGrantHeld, fenced.ErrVersionConflict)
						before.RefusedHeld += 3
						equal(t, before, s.Stats())
					})
				}
				refused()
				time.Sleep(2 * lease)
				refused() // lapsed, but current
				release(t, s, a)
				_, err := call.do(s, "k", 1)
				exactly(t, err)
			})
		})
	}
	t.Run("of an absent record", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			claim(t, s, "k", "A")
			for _, call := range swaps {
				_, err := call.do(s, "k", 0)
				exactly(t, err, fenced.ErrGrantHeld)
			}
		})
	})
}

func TestSwapFromVersionZeroMustNotExist(t *testing.T) {
	for _, call := range swaps {
		t.Run(call.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				r, err := call.do(s, "unseen", 0)
				require.NoError(t, err)
				require.EqualValues(t, 1, r.Version)

				swap(t, s, "k", 0, "v")
				unmoved(t, s, []string{"k"}, func() {
					_, err := call.do(s, "k", 0)
					exactly(t, err, fenced.ErrVersionConflict)
				})
				_, err = s.CompareAndDelete(bg, "k", 1)
				require.NoError(t, err)
				r, err = call.do(s, "k", 0) // came and went, which is not noticed
				require.NoError(t, err)
				require.EqualValues(t, 3, r.Version)

				swap(t, s, "empty", 0, "")
				_, err = call.do(s, "empty", 0)
				exactly(t, err, fenced.ErrVersionConflict)
			})
		})
	}
}

func TestSwapFromAVersionMustBeAtIt(t *testing.T) {
	for _, call := range swaps {
		t.Run(call.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				_, err := call.do(s, "unseen", 1)
				exactly(t, err, fenced.ErrVersionConflict)
				require.Zero(t, fenced.Kept(s))

				swap(t, s, "k", 0, "v")
				swap(t, s, "k", 1, "v")
				unmoved(t, s, []string{"k"}, func() {
					for _, version := range []fenced.Version{1, 3, 1 << 63} {
						_, err = call.do(s, "k", version)
						exactly(t, err, fenced.ErrVersionConflict)
					}
				})
				r, err := call.do(s, "k", 2)
				require.NoError(t, err)
				require.EqualValues(t, 3, r.Version)
			})
		})
		t.Run(call.name+"/deleted", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				swap(t, s, "k", 0, "v")
				_, err := s.CompareAndDelete(bg, "k", 1)
				require.NoError(t, err)
				unmoved(t, s, []string{"k"}, func() {
					for _, version := range []fenced.Version{1, 3} {
						_, err := call.do(s, "k", version)
						exactly(t, err, fenced.ErrVersionConflict)
					}
				})
				r, err := call.do(s, "k", 2)
				require.NoError(t, err)
				require.EqualValues(t, 3, r.Version)
			})
		})
	}
}

// A record that was deleted and made anew is another one.
func TestNoLostUpdateOverReCreation(t *testing.T) {
	for _, call := range swaps {
		t.Run(call.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				r := swap(t, s, "k", 0, "v")
				gone, err := s.CompareAndDelete(bg, "k", r.Version)
				require.NoError(t, err)
				swap(t, s, "k", 0, "v")
				for _, version := range []fenced.Version{r.Version, gone.Version} {
					_, err = call.do(s, "k", version)
					exactly(t, err, fenced.ErrVersionConflict)
				}
			})
		})
	}
}

func TestSwapOfManyAtOnce(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	swap(t, s, "k", 0, "v")
	var won, lost atomic.Int64
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			switch _, err := s.CompareAndSwap(bg, "k", 1, []byte("w")); {
			case err == nil:
				won.Inc()
			case conflictOf(err, fenced.ErrVersionConflict):
				lost.Inc()
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, won.Load())
	require.EqualValues(t, 39, lost.Load())
	require.EqualValues(t, 2, read(t, s, "k").Version)
}
