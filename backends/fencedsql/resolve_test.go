package fencedsql_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// TestResolveAfterEveryEnding ends a grant in every way, and asks after writes
// under it and under the grant that follows.
func TestResolveAfterEveryEnding(t *testing.T) {
	const u, y, n = fencedsql.Unknown, fencedsql.Landed, fencedsql.NotLanded
	onEach(t, func(t *testing.T, d database) {
		claim := func(t *testing.T, s *fencedsql.Store, holder string) fenced.Grant {
			g, err := s.TryAcquire(t.Context(), "k", holder, time.Hour)
			require.NoError(t, err)
			return g
		}
		for name, end := range map[string]func(t *testing.T, p *tap, s *fencedsql.Store, a fenced.Grant) (b fenced.Grant){
			"release": func(t *testing.T, _ *tap, s *fencedsql.Store, a fenced.Grant) fenced.Grant {
				require.NoError(t, s.Release(t.Context(), a))
				return claim(t, s, "B")
			},
			"reclaim": func(t *testing.T, _ *tap, s *fencedsql.Store, a fenced.Grant) fenced.Grant {
				_, err := s.Reclaim(t.Context(), "k", a.Generation)
				require.NoError(t, err)
				return claim(t, s, "B")
			},
			"sweep": func(t *testing.T, p *tap, s *fencedsql.Store, _ fenced.Grant) fenced.Grant {
				d.lapse(t, openDB(t, d.driver, p.dsn))
				ended, err := s.ReclaimExpired(t.Context(), 0)
				require.NoError(t, err)
				require.Len(t, ended, 1)
				return claim(t, s, "B")
			},
			"take-over": func(t *testing.T, p *tap, s *fencedsql.Store, _ fenced.Grant) fenced.Grant {
				d.lapse(t, openDB(t, d.driver, p.dsn))
				return claim(t, s, "B")
			},
			"hand-over": func(t *testing.T, p *tap, s *fencedsql.Store, a fenced.Grant) fenced.Grant {
				before := p.sent.Load()
				got := acquire(t.Context(), s, "B")
				require.Eventually(t, func() bool { return p.sent.Load() > before }, 10*time.Second, time.Millisecond) // B waits
				require.NoError(t, s.Release(t.Context(), a))
				return <-got
			},
		} {
			t.Run(name, func(t *testing.T) {
				p, db := d.tapped(t)
				s := d.storeIn(t, db, fencedsql.Options{Poll: never})
				r, err := s.CompareAndSwap(t.Context(), "k", 0, nil)
				require.NoError(t, err)
				_, err = s.CompareAndSwap(t.Context(), "k", r.Version, nil)
				require.NoError(t, err)
				a := claim(t, s, "A")
				_, err = s.Commit(t.Context(), a, nil)
				require.NoError(t, err)
				b := end(t, p, s, a)
				require.Equal(t, fenced.Version(3), b.Version)
				for version, want := range map[fenced.Version]fencedsql.Outcome{1: n, 2: y, 3: n} {
					a.Version = version
					d.resolves(t, s, a, want)
				}
				for version, want := range map[fenced.Version]fencedsql.Outcome{2: n, 3: u} {
					b.Version = version
					d.resolves(t, s, b, want)
				}
			})
		}
	})
}

// TestResolveOfAnotherStep asks after a step that a write without a grant made,
// when the grant is no longer known but as the one that wrote before.
func TestResolveOfAnotherStep(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		s, _ := d.store(t, fencedsql.Options{})
		a, err := s.TryAcquire(t.Context(), "k", "A", time.Hour)
		require.NoError(t, err)
		a, err = s.Commit(t.Context(), a, nil)
		require.NoError(t, err)
		require.NoError(t, s.Release(t.Context(), a))
		_, err = s.CompareAndSwap(t.Context(), "k", a.Version, nil)
		require.NoError(t, err)
		b, err := s.TryAcquire(t.Context(), "k", "B", time.Hour)
		require.NoError(t, err)
		require.NoError(t, s.Release(t.Context(), b))
		d.resolves(t, s, a, fencedsql.NotLanded)
		a.Version--
		d.resolves(t, s, a, fencedsql.Unknown)
	})
}
