package faults_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/database"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/proxy"
)

// lease is that of the claims under test: short, so that one that nobody knows
// of can be seen to end.
const lease = 20 * time.Millisecond

// call is a call under test. It is made on a record that A holds, or that is
// free where it is a claim.
type call struct {
	name string
	call func(ctx context.Context, s *fencedsql.Store, g fenced.Grant) (fenced.Grant, error)
	// done reports whether the record is now as the call, once, leaves it.
	done   func(was, is truth) bool
	claims bool
	writes bool // a version: Resolve knows what became of it
}

func ended(was, is truth) bool {
	return is.version == was.version && is.generation == was.generation+1 && !is.nonce.Valid
}

var calls = []call{
	{
		name: "commit", writes: true,
		call: func(ctx context.Context, s *fencedsql.Store, g fenced.Grant) (fenced.Grant, error) {
			return s.Commit(ctx, g, []byte("new"))
		},
		done: func(was, is truth) bool {
			was.version++
			was.value.String, was.value.Valid = "new", true
			return is == was
		},
	},
	{
		name: "delete", writes: true,
		call: func(ctx context.Context, s *fencedsql.Store, g fenced.Grant) (fenced.Grant, error) {
			return s.Delete(ctx, g)
		},
		done: func(was, is truth) bool {
			was.version++
			was.value.String, was.value.Valid = "", false
			return is == was
		},
	},
	{
		name: "claim", claims: true,
		call: func(ctx context.Context, s *fencedsql.Store, g fenced.Grant) (fenced.Grant, error) {
			return s.TryAcquire(ctx, g.Key, "C", lease)
		},
		done: func(was, is truth) bool {
			again := is.generation == was.generation+1 // the lease had lapsed when it was sent again
			return is.version == was.version && (is.generation == was.generation || again) && is.holder.String == "C"
		},
	},
	{
		name: "renew",
		call: func(ctx context.Context, s *fencedsql.Store, g fenced.Grant) (fenced.Grant, error) {
			return s.Renew(ctx, g, 2*time.Hour)
		},
		done: func(was, is truth) bool {
			longer := is.expires.Time.After(was.expires.Time)
			was.expires = is.expires
			return longer && is == was
		},
	},
	{
		name: "release",
		call: func(ctx context.Context, s *fencedsql.Store, g fenced.Grant) (fenced.Grant, error) {
			return g, s.Release(ctx, g)
		},
		done: ended,
	},
	{
		name: "reclaim",
		call: func(ctx context.Context, s *fencedsql.Store, g fenced.Grant) (fenced.Grant, error) {
			_, err := s.Reclaim(ctx, g.Key, g.Generation)
			return g, err
		},
		done: ended,
	},
}

// plan is how often a call meets which fault.
type plan struct {
	fault    proxy.Fault
	cold     bool          // the call makes its connection, which so is part of it
	patience time.Duration // of the call
}

// every calls f with each act at each message of either side, until there is
// none so late.
func every(cold bool, f func(p plan) (hit bool)) {
	acts := []proxy.Act{proxy.Cut}
	if !cold { // to lose a message of the beginning is to wait for nothing
		acts = append(acts, proxy.Swallow)
	}
	for _, side := range []proxy.Side{proxy.Requests, proxy.Replies} {
		for _, act := range acts {
			for at := 0; f(plan{proxy.Fault{Side: side, At: at, Act: act}, cold, patience[act]}); at++ {
			}
		}
	}
}

// patience is the deadline of a call that meets an act.
var patience = map[proxy.Act]time.Duration{proxy.Cut: 10 * time.Second, proxy.Swallow: 50 * time.Millisecond, proxy.Hold: 50 * time.Millisecond}

// suffer makes c under g through a proxy that does what p says, and returns what
// it returned once the server has done with it.
func (b *bench) suffer(p plan, c call, g fenced.Grant) (got fenced.Grant, hit bool, err error) {
	b.t.Helper()
	v := b.victim()
	v.pool.SetMaxOpenConns(1)
	if p.cold {
		v.pool.SetMaxIdleConns(0)
	} else {
		// Prepared before, and so one message less that is not of the call.
		warm(b.t.Context(), v.s, c)
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), p.patience)
	defer cancel()
	b.proxy.Arm(p.fault)
	got, err = c.call(ctx, v.s, g)
	hit = b.proxy.Disarm()
	b.proxy.Leave() // pgx would wait for the server to end what it has given up
	v.settle()
	return got, hit, err
}

// warm makes c in vain.
func warm(ctx context.Context, s *fencedsql.Store, c call) {
	_, _ = c.call(ctx, s, fenced.NewGrant(fenced.Record{Key: "warm", Generation: 1}, 1))
}

// manners are how a call gets at its connection.
var manners = []struct {
	name string
	kind database.Kind
	cold bool
}{
	{"warm", database.PostgreSQL, false},
	{"cold", database.PostgreSQL, true},
	{"cold by pq", database.PQ, true}, // a swallowed message it would wait for for ever
}

// TestEveryMessage cuts the connection at every message of every call that is
// to succeed, and loses every message from there on. What the call returns is
// true of the database.
func TestEveryMessage(t *testing.T) {
	for _, m := range manners {
		for _, c := range calls {
			t.Run(fmt.Sprintf("%s, %s", c.name, m.name), func(t *testing.T) {
				t.Parallel() // it waits more than it works
				b := newBench(t)
				b.kind = m.kind
				var count struct{ landed, uncertain, failed int }
				runs := 0
				every(m.cold, func(p plan) bool {
					runs++
					key := fmt.Sprintf("r%d", runs)
					what := fmt.Sprintf("%v of %v %d", p.fault.Act, p.fault.Side, p.fault.At)
					_, err := b.s.CompareAndSwap(t.Context(), key, 0, []byte("old"))
					require.NoError(t, err)
					g := fenced.Grant{Record: fenced.Record{Key: key}}
					if !c.claims {
						g = b.claim(key, "A")
					}
					was := b.truth(key)
					got, hit, err := b.suffer(p, c, g)
					is := b.truth(key)
					done := c.done(was, is)

					require.False(t, refused(err), "%s: nothing spoke against it: %v", what, err)
					switch {
					case err == nil:
						count.landed++
						require.True(t, done, "%s: acknowledged: %+v, was %+v", what, is, was)
					case !uncertain(err):
						count.failed++
						require.Equal(t, was, is, "%s: said not to have happened: %v", what, err)
					default:
						count.uncertain++
						require.True(t, done || is == was, "%s: %+v, was %+v: %v", what, is, was, err)
						require.True(t, caused(err), "%s: %v", what, err)
					}
					if c.claims {
						b.comesFree(key, got, err)
					}
					if c.writes {
						b.resolves(key, g, done)
					}
					return hit
				})
				t.Logf("%d runs: %+v", runs, count)
				require.NotZero(t, count.landed)
				require.NotZero(t, count.uncertain)
			})
		}
	}
}

// comesFree has another claim a record once the lease of a claim has ended that
// returned got and err.
func (b *bench) comesFree(key string, got fenced.Grant, err error) {
	b.t.Helper()
	if err == nil {
		require.True(b.t, b.truth(key).lives(got))
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
	defer cancel()
	_, err = b.s.Acquire(ctx, key, "D", time.Hour)
	require.NoError(b.t, err)
}

// resolves asks what became of a write under g, which the database has or has
// not, before and after g ends.
func (b *bench) resolves(key string, g fenced.Grant, landed bool) {
	b.t.Helper()
	want := map[bool]fencedsql.Outcome{true: fencedsql.Landed, false: fencedsql.Unknown}
	require.Equal(b.t, want[landed], b.outcome(g))
	require.NoError(b.t, b.s.Release(b.t.Context(), g))
	want[false] = fencedsql.NotLanded
	require.Equal(b.t, want[landed], b.outcome(g))
	_, err := b.s.Commit(b.t.Context(), b.claim(key, "D"), []byte("newer"))
	require.NoError(b.t, err)
	require.Equal(b.t, want[landed], b.outcome(g))
}

func (b *bench) outcome(g fenced.Grant) fencedsql.Outcome {
	b.t.Helper()
	got, err := b.s.Resolve(b.t.Context(), g)
	require.NoError(b.t, err)
	return got
}

// TestEveryMessageOfZombie does the same to calls that are to be refused. They
// are, or nobody knows; nothing changes.
func TestEveryMessageOfZombie(t *testing.T) {
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var count struct{ refused, uncertain, failed int }
			a := b.claim("r", "A")
			_, err := b.s.Reclaim(t.Context(), "r", a.Generation)
			require.NoError(t, err)
			b.claim("r", "B")
			was := b.truth("r")
			every(false, func(p plan) bool {
				what := fmt.Sprintf("%v of %v %d", p.fault.Act, p.fault.Side, p.fault.At)
				_, hit, err := b.suffer(p, c, a)
				require.Error(t, err, what)
				require.Equal(t, was, b.truth("r"), what)
				switch {
				case refused(err):
					count.refused++
					require.False(t, uncertain(err))
					want := fenced.ErrStaleReadGeneration
					if c.claims {
						want = fenced.ErrGrantHeld
					}
					require.ErrorIs(t, err, want)
				case uncertain(err):
					count.uncertain++
					require.True(t, caused(err))
				default:
					count.failed++
				}
				return hit
			})
			t.Logf("%+v", count)
			require.NotZero(t, count.refused)
			require.NotZero(t, count.uncertain)
		})
	}
}

// half is the message of a commit that ends it: without, the server has done all
// and keeps the row locked, but for how long is up to its connection.
const half = 2

// abandon commits under g, whose request stops on its way at a message, until
// the sender gives it up. The driver then asks the server to cancel it, which
// finds nothing to cancel.
func (b *bench) abandon(g fenced.Grant, at int) *victim {
	b.t.Helper()
	v := b.victim()
	v.pool.SetMaxOpenConns(1)
	warm(b.t.Context(), v.s, calls[0])
	ctx, cancel := context.WithTimeout(b.t.Context(), patience[proxy.Hold])
	defer cancel()
	cancels := b.proxy.Cancels()
	b.proxy.Arm(proxy.Fault{Side: proxy.Requests, At: at, Act: proxy.Hold})
	_, err := calls[0].call(ctx, v.s, g)
	require.True(b.t, b.proxy.Disarm())
	require.Eventually(b.t, func() bool { return b.proxy.Cancels() > cancels }, 30*time.Second, time.Millisecond)
	require.ErrorIs(b.t, err, fenced.ErrUncertain)
	require.ErrorIs(b.t, err, context.DeadlineExceeded)
	require.Equal(b.t, fencedsql.Unknown, b.outcome(g)) // a look proves nothing
	return v
}

// TestLateCommit has a commit arrive when its sender has long given it up, and
// the grant is still current.
func TestLateCommit(t *testing.T) {
	b := newBench(t)
	for at := range half + 1 {
		key := fmt.Sprint("r", at)
		g := b.claim(key, "A")
		v := b.abandon(g, at)
		b.proxy.Release()
		v.settle()
		require.True(t, b.truth(key).value.Valid)
		require.Equal(t, fencedsql.Landed, b.outcome(g))
	}
}

// TestTooLateCommit has it arrive when the grant has ended, and the record been
// decided otherwise.
func TestTooLateCommit(t *testing.T) {
	b := newBench(t)
	for at := range half {
		key := fmt.Sprint("r", at)
		g := b.claim(key, "A")
		v := b.abandon(g, at)
		_, err := b.s.Reclaim(t.Context(), key, g.Generation)
		require.NoError(t, err)
		require.Equal(t, fencedsql.NotLanded, b.outcome(g))
		_, err = b.s.Commit(t.Context(), b.claim(key, "B"), []byte("by B"))
		require.NoError(t, err)
		was := b.truth(key)
		b.proxy.Release()
		v.settle()
		require.Equal(t, was, b.truth(key))
		require.Equal(t, fencedsql.NotLanded, b.outcome(g))
	}
}

// TestHalfCommit has all of a commit arrive but its last message. It has the row
// locked, so a reclaim waits, and is not told that it was refused.
func TestHalfCommit(t *testing.T) {
	b := newBench(t)
	g := b.claim("r", "A")
	v := b.abandon(g, half)
	ctx, cancel := context.WithTimeout(t.Context(), patience[proxy.Hold])
	defer cancel()
	_, err := b.s.Reclaim(ctx, "r", g.Generation)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, fenced.ErrUncertain)
	b.proxy.Release()
	v.settle()
	require.Equal(t, fencedsql.Landed, b.outcome(g))
}

// TestDelayed has every message of either side late, and no harm done.
func TestDelayed(t *testing.T) {
	b := newBench(t)
	v := b.victim()
	for _, c := range calls {
		for _, side := range []proxy.Side{proxy.Requests, proxy.Replies} {
			key := fmt.Sprint(c.name, side)
			g := fenced.Grant{Record: fenced.Record{Key: key}}
			if !c.claims {
				g = b.claim(key, "A")
			}
			b.proxy.Arm(proxy.Fault{Side: side, Act: proxy.Hold})
			errs := make(chan error, 1)
			go func() {
				_, err := c.call(t.Context(), v.s, g)
				errs <- err
			}()
			<-b.proxy.Hit()
			b.proxy.Release()
			require.NoError(t, <-errs, c.name)
		}
	}
	v.settle()
}
