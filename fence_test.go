package fenced_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

// fenceCalls are the calls that ask whether a grant is the current one.
var fenceCalls = []struct {
	name  string
	write bool
	do    func(s *fenced.Store, g fenced.Grant) error
}{
	{"commit", true, func(s *fenced.Store, g fenced.Grant) error {
		_, err := s.Commit(bg, g, []byte("stale"))
		return err
	}},
	{"delete", true, func(s *fenced.Store, g fenced.Grant) error {
		_, err := s.Delete(bg, g)
		return err
	}},
	{"renew", false, func(s *fenced.Store, g fenced.Grant) error {
		_, err := s.Renew(bg, g, 5*lease)
		return err
	}},
	{"release", false, func(s *fenced.Store, g fenced.Grant) error {
		return s.Release(bg, g)
	}},
}

// endings are the ways in which a grant ends, each with what follows it.
var endings = []struct {
	name string
	do   func(t *testing.T, s *fenced.Store, g fenced.Grant)
	how  fenced.Ending
}{
	{"released", func(t *testing.T, s *fenced.Store, g fenced.Grant) { release(t, s, g) }, fenced.Released},
	{"reclaimed", func(t *testing.T, s *fenced.Store, g fenced.Grant) { reclaim(t, s, g) }, fenced.Reclaimed},
	{"swept", func(t *testing.T, s *fenced.Store, _ fenced.Grant) {
		time.Sleep(lease)
		_, err := s.ReclaimExpired(bg, 0)
		require.NoError(t, err)
	}, fenced.Reclaimed},
	{"taken over", func(t *testing.T, s *fenced.Store, g fenced.Grant) {
		time.Sleep(lease)
		claim(t, s, g.Key, "B")
	}, fenced.TakenOver},
	{"taken over by a waiter", func(t *testing.T, s *fenced.Store, g fenced.Grant) {
		b := acquire(bg, s, g.Key, "B", lease)
		time.Sleep(lease)
		served(t, b)
	}, fenced.TakenOver},
	{"handed over", func(t *testing.T, s *fenced.Store, g fenced.Grant) {
		b := acquire(bg, s, g.Key, "B", lease)
		release(t, s, g)
		served(t, b)
	}, fenced.Released},
	{"released, then claimed", func(t *testing.T, s *fenced.Store, g fenced.Grant) {
		release(t, s, g)
		claim(t, s, g.Key, g.Holder)
	}, fenced.Released},
}

// Each call under each grant that has ended is refused for that, and leaves no
// trace.
func TestNoStaleApply(t *testing.T) {
	for _, ending := range endings {
		for _, call := range fenceCalls {
			t.Run(ending.name+"/"+call.name, func(t *testing.T) {
				bubble(t, func(t *testing.T, s *fenced.Store) {
					a := commit(t, s, claim(t, s, "k", "A"), "v")
					ending.do(t, s, a)
					unmoved(t, s, []string{"k"}, func() {
						err := call.do(s, a)
						exactly(t, err, fenced.ErrStaleReadGeneration)
						c := conflict(t, err)
						require.Equal(t, ending.how, c.Ended)
						require.Equal(t, call.name, c.Op)
					})
				})
			})
		}
	}
}

// Told only "version conflict", a zombie would re-read and try again.
func TestBothChecksAreNamed(t *testing.T) {
	for _, call := range fenceCalls {
		t.Run(call.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				a := claim(t, s, "k", "A")
				reclaim(t, s, a)
				commit(t, s, claim(t, s, "k", "B"), "v")
				unmoved(t, s, []string{"k"}, func() {
					err := call.do(s, a)
					if call.write {
						exactly(t, err, fenced.ErrVersionConflict, fenced.ErrStaleReadGeneration)
					} else {
						exactly(t, err, fenced.ErrStaleReadGeneration)
					}
				})
			})
		})
	}
}

// Commit, delete, renew and release ask one question. Neither a label nor a
// lease nor a version that is right answers it, nor do they get in the way.
func TestOneRule(t *testing.T) {
	for _, call := range fenceCalls {
		t.Run(call.name+"/the same label does not help", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				a := claim(t, s, "k", "w1")
				time.Sleep(lease)
				next := claim(t, s, "k", "w1")
				unmoved(t, s, []string{"k"}, func() { exactly(t, call.do(s, a), fenced.ErrStaleReadGeneration) })
				exactly(t, call.do(s, next))
			})
		})
		t.Run(call.name+"/another label does no harm", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				a := claim(t, s, "k", "A")
				a.Holder = "someone else"
				exactly(t, call.do(s, a))
			})
		})
		t.Run(call.name+"/another lease does no harm", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				a := claim(t, s, "k", "A")
				a.Expires = time.Time{}
				exactly(t, call.do(s, a))
			})
		})
		t.Run(call.name+"/a lapsed lease does no harm", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				a := claim(t, s, "k", "A")
				time.Sleep(100 * lease)
				exactly(t, call.do(s, a))
			})
		})
	}
	for _, call := range fenceCalls {
		if call.write {
			continue
		}
		t.Run(call.name+"/reads no version", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				a := claim(t, s, "k", "A")
				commit(t, s, a, "v")
				exactly(t, call.do(s, a))
			})
		})
	}
}

// A grant that has ended stays so, whatever anyone does and however often it
// is tried.
func TestSticky(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := commit(t, s, claim(t, s, "k", "A"), "v")
		dead := func() {
			t.Helper()
			for _, call := range fenceCalls {
				g := a
				g.Version = read(t, s, "k").Version // as it stands
				unmoved(t, s, []string{"k"}, func() { exactly(t, call.do(s, g), fenced.ErrStaleReadGeneration) })
				parsed, err := fenced.ParseToken(g.Token())
				require.NoError(t, err)
				unmoved(t, s, []string{"k"}, func() { exactly(t, call.do(s, parsed), fenced.ErrStaleReadGeneration) })
			}
			ctx, cancel := s.Context(bg, a)
			require.Error(t, ctx.Err())
			cancel()
		}
		reclaim(t, s, a)
		dead()
		read(t, s, "k")
		for range s.All() {
		}
		dead()
		b := claim(t, s, "k", "A")
		dead()
		b = commit(t, s, b, "w")
		dead()
		b, err := s.Renew(bg, b, lease)
		require.NoError(t, err)
		dead()
		_, err = s.Commit(bg, a, nil)
		require.Error(t, err)
		dead()
		waits := acquire(bg, s, "k", "A", lease)
		dead()
		release(t, s, b)
		c := served(t, waits)
		dead()
		time.Sleep(lease)
		dead()
		_, err = s.ReclaimExpired(bg, 0)
		require.NoError(t, err)
		dead()
		exactly(t, s.Release(bg, c), fenced.ErrStaleReadGeneration)
		swap(t, s, "k", read(t, s, "k").Version, "x")
		dead()
		release(t, s, remove(t, s, claim(t, s, "k", "A")))
		dead()
	})
}

// A refused call changes nothing, the queue and the contexts included.
func TestNoTrace(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		old := claim(t, s, "k", "old")
		release(t, s, old)
		a := claim(t, s, "k", "A")
		moved := a
		a = commit(t, s, a, "v")
		other := claim(t, s, "other", "O")
		foreign := claim(t, fenced.NewStore(fenced.Options{}), "k", "A")
		ctx, cancel := s.Context(bg, a)
		defer cancel()
		b := acquire(bg, s, "k", "B", lease)
		c := acquire(bg, s, "k", "C", lease)
		crossed := other
		crossed.Key = "k"

		unmoved(t, s, []string{"k", "other"}, func() {
			for _, call := range fenceCalls {
				for _, g := range []fenced.Grant{old, foreign, crossed, {}} {
					require.Error(t, call.do(s, g))
				}
				if call.write {
					require.Error(t, call.do(s, moved))
				}
			}
			_, err := s.TryAcquire(bg, "k", "D", lease)
			require.Error(t, err)
			_, err = s.Reclaim(bg, "k", old.Generation)
			require.Error(t, err)
			for version := range fenced.Version(4) {
				_, err = s.CompareAndSwap(bg, "k", version, []byte("w"))
				require.Error(t, err)
				_, err = s.CompareAndDelete(bg, "k", version)
				require.Error(t, err)
			}
			_, err = s.CompareAndSwap(bg, "unseen", 1, nil)
			require.Error(t, err)
			_, err = s.CompareAndDelete(bg, "unseen", 1)
			require.Error(t, err)
		})
		require.NoError(t, ctx.Err())
		waiting(t, b)
		waiting(t, c)
		a = commit(t, s, a, "w")
		release(t, s, a)
		release(t, s, served(t, b))
		release(t, s, served(t, c))
	})
}

func TestNoLostUpdate(t *testing.T) {
	for _, call := range fenceCalls {
		if !call.write {
			continue
		}
		t.Run(call.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				a := claim(t, s, "k", "A")
				b := commit(t, s, a, "v")
				unmoved(t, s, []string{"k"}, func() {
					err := call.do(s, a) // the old value of the grant
					exactly(t, err, fenced.ErrVersionConflict)
					require.Equal(t, fenced.EndingUnknown, conflict(t, err).Ended)
				})
				b.Version++ // not reached yet
				unmoved(t, s, []string{"k"}, func() { exactly(t, call.do(s, b), fenced.ErrVersionConflict) })
				b.Version = 0 // no wildcard
				unmoved(t, s, []string{"k"}, func() { exactly(t, call.do(s, b), fenced.ErrVersionConflict) })
			})
		})
	}
	t.Run("a delayed copy of a commit", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			commit(t, s, a, "v")
			_, err := s.Commit(bg, a, []byte("v"))
			exactly(t, err, fenced.ErrVersionConflict)
			require.EqualValues(t, 1, read(t, s, "k").Version)
		})
	})
	t.Run("a version read since", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			commit(t, s, a, "v")
			a.Version = read(t, s, "k").Version
			commit(t, s, a, "w")
			require.Equal(t, "w", string(read(t, s, "k").Value))
		})
	})
}

func TestMonotonicVersion(t *testing.T) {
	t.Run("by one with every data write", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			want := fenced.Version(0)
			moved := func(got fenced.Version) {
				t.Helper()
				want++
				require.Equal(t, want, got, "as returned")
				require.Equal(t, want, read(t, s, "k").Version)
			}
			g := commit(t, s, claim(t, s, "k", "A"), "v")
			moved(g.Version)
			g = commit(t, s, g, "v") // the same value is a write all the same
			moved(g.Version)
			g = remove(t, s, g)
			moved(g.Version)
			require.False(t, read(t, s, "k").Exists())
			require.Nil(t, g.Value)
			g = remove(t, s, g) // nothing was there
			moved(g.Version)
			g = commit(t, s, g, "w")
			moved(g.Version)
			release(t, s, g)
			moved(swap(t, s, "k", want, "x").Version)
			r, err := s.CompareAndDelete(bg, "k", want)
			require.NoError(t, err)
			moved(r.Version)
			r, err = s.CompareAndDelete(bg, "k", want)
			require.NoError(t, err)
			moved(r.Version)
			moved(swap(t, s, "k", 0, "y").Version)
		})
	})
	t.Run("with nothing else", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			still := func() { t.Helper(); require.EqualValues(t, 1, read(t, s, "k").Version) }
			g := commit(t, s, claim(t, s, "k", "A"), "v")
			still()
			g, err := s.Renew(bg, g, lease)
			require.NoError(t, err)
			still()
			next := acquire(bg, s, "k", "B", lease)
			release(t, s, g)
			still()
			time.Sleep(lease)
			still()
			claim(t, s, "k", "C")
			still()
			served(t, next)
			reclaim(t, s, fenced.Grant{Record: read(t, s, "k")})
			still()
			claim(t, s, "k", "D")
			time.Sleep(lease)
			_, err = s.ReclaimExpired(bg, 0)
			require.NoError(t, err)
			still()
			swap(t, s, "other", 0, "v")
			still()
		})
	})
}

func TestCommitsChain(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		g := claim(t, s, "k", "A")
		for i := range 5 {
			want := g
			g = commit(t, s, g, fmt.Sprint(i))
			want.Version, want.Value = fenced.Version(i+1), fmt.Append(nil, i)
			equal(t, want, g)
			require.Equal(t, fmt.Sprint(i), string(read(t, s, "k").Value))
		}
	})
}

// No clock decides whether a write is safe: a grant whose lease has lapsed, but
// which nobody has reclaimed, is current.
func TestNoClock(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "k", "A")
		time.Sleep(24 * time.Hour)
		a = commit(t, s, a, "v")
		a = remove(t, s, a)
		a = commit(t, s, a, "w")
		stats := s.Stats()
		require.EqualValues(t, 1, stats.Live)
		require.Zero(t, stats.Overruns)
		release(t, s, a)
		stats = s.Stats()
		require.EqualValues(t, 1, stats.Overruns, "a near miss")
		require.EqualValues(t, 1, stats.Released)
		require.Equal(t, "w", string(read(t, s, "k").Value))
	})
}

// The space of a value is kept for later ones, but not a large one for a small
// value; in either case what is read is what was written.
func TestValuesOfAllSizes(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		g := claim(t, s, "k", "A")
		for _, n := range []int{1, 1 << 20, 3, 5000, 4096, 0, 100, 99, 101, 1 << 14, 1 << 12, 1<<12 - 1, 1} {
			value := strings.Repeat(string(rune('a'+n%26)), n)
			g = commit(t, s, g, value)
			require.Equal(t, value, string(read(t, s, "k").Value))
		}
	})
}

func TestLargeSpaceIsNotKeptForSmallValues(t *testing.T) {
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	s := fenced.NewStore(fenced.Options{})
	large := make([]byte, 1<<20)
	before := inUse()
	for i := range 50 {
		g := claim(t, s, fmt.Sprint(i), "A")
		g, err := s.Commit(bg, g, large)
		require.NoError(t, err)
		commit(t, s, g, "small")
	}
	require.Less(t, inUse(), before+10<<20)
	runtime.KeepAlive(s)
}

// A missing or foreign field never opens the fence, also where the numbers
// match those of the record.
func TestFailClosed(t *testing.T) {
	tests := []struct {
		name  string
		grant func(t *testing.T, s *fenced.Store, a, other fenced.Grant) fenced.Grant
		want  error
	}{
		{"zero grant", func(*testing.T, *fenced.Store, fenced.Grant, fenced.Grant) fenced.Grant {
			return fenced.Grant{}
		}, fenced.ErrInvalid},
		{"only a key", func(*testing.T, *fenced.Store, fenced.Grant, fenced.Grant) fenced.Grant {
			return fenced.Grant{Record: fenced.Record{Key: "k"}}
		}, fenced.ErrInvalid},
		{"no key", func(_ *testing.T, _ *fenced.Store, a, _ fenced.Grant) fenced.Grant {
			a.Key = ""
			return a
		}, fenced.ErrInvalid},
		{"no generation", func(_ *testing.T, _ *fenced.Store, a, _ fenced.Grant) fenced.Grant {
			a.Generation = 0
			return a
		}, fenced.ErrInvalid},
		{"built by hand from what is read", func(t *testing.T, s *fenced.Store, _, _ fenced.Grant) fenced.Grant {
			return fenced.Grant{Record: read(t, s, "k")}
		}, fenced.ErrForeignGrant},
		{"built by hand with a nonce", func(t *testing.T, s *fenced.Store, _, _ fenced.Grant) fenced.Grant {
			return fenced.NewGrant(read(t, s, "k"), 1)
		}, fenced.ErrForeignGrant},
		{"of another store with equal numbers", func(t *testing.T, _ *fenced.Store, _, _ fenced.Grant) fenced.Grant {
			twin := fenced.NewStore(fenced.Options{})
			return commit(t, twin, claim(t, twin, "k", "A"), "v")
		}, fenced.ErrForeignGrant},
		{"of another store with numbers that have ended here", func(t *testing.T, s *fenced.Store, a, _ fenced.Grant) fenced.Grant {
			release(t, s, a)
			twin := fenced.NewStore(fenced.Options{})
			return commit(t, twin, claim(t, twin, "k", "A"), "v")
		}, fenced.ErrForeignGrant},
		{"copy with another key where the numbers match", func(_ *testing.T, _ *fenced.Store, _, other fenced.Grant) fenced.Grant {
			other.Key = "k"
			return other
		}, fenced.ErrForeignGrant},
		{"copy with an unseen key", func(_ *testing.T, _ *fenced.Store, a, _ fenced.Grant) fenced.Grant {
			a.Key, a.Version = "unseen", 0
			return a
		}, fenced.ErrForeignGrant},
		{"copy with the generation to come", func(_ *testing.T, _ *fenced.Store, a, _ fenced.Grant) fenced.Grant {
			a.Generation++
			return a
		}, fenced.ErrForeignGrant},
		{"copy with an old generation", func(t *testing.T, s *fenced.Store, a, _ fenced.Grant) fenced.Grant {
			release(t, s, a)
			a.Generation = claim(t, s, "k", "A").Generation
			return a
		}, fenced.ErrForeignGrant},
	}
	for _, test := range tests {
		for _, call := range fenceCalls {
			t.Run(test.name+"/"+call.name, func(t *testing.T) {
				bubble(t, func(t *testing.T, s *fenced.Store) {
					a := commit(t, s, claim(t, s, "k", "A"), "v")
					other := commit(t, s, claim(t, s, "other", "A"), "v")
					require.Equal(t, a.Version, other.Version)
					require.Equal(t, a.Generation, other.Generation)
					g := test.grant(t, s, a, other)
					unmoved(t, s, []string{"k", "other", "unseen"}, func() {
						err := call.do(s, g)
						exactly(t, err, test.want)
						if test.want == fenced.ErrForeignGrant {
							require.Equal(t, fenced.EndingUnknown, conflict(t, err).Ended)
						}
					})
					before := s.Stats()
					_ = call.do(s, g)
					equal(t, before, s.Stats()) // no check of version or generation was asked
				})
			})
		}
	}
	t.Run("a free record", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			swap(t, s, "k", 0, "v")
			g := fenced.NewGrant(read(t, s, "k"), 7)
			for _, call := range fenceCalls {
				unmoved(t, s, []string{"k"}, func() { exactly(t, call.do(s, g), fenced.ErrForeignGrant) })
			}
		})
	})
}
