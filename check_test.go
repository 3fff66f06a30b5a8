package fenced_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

// input is what the calls of a store take, each its part.
type input struct {
	key, holder string
	lease       time.Duration
	grant       fenced.Grant
}

// calls are all calls of a store that return an error, and what they take.
var calls = []struct {
	name                      string
	key, holder, lease, grant bool
	do                        func(context.Context, *fenced.Store, input) error
}{
	{name: "Read", key: true, do: func(ctx context.Context, s *fenced.Store, in input) error {
		_, err := s.Read(ctx, in.key)
		return err
	}},
	{name: "Acquire", key: true, holder: true, lease: true, do: func(ctx context.Context, s *fenced.Store, in input) error {
		_, err := s.Acquire(ctx, in.key, in.holder, in.lease)
		return err
	}},
	{name: "TryAcquire", key: true, holder: true, lease: true, do: func(ctx context.Context, s *fenced.Store, in input) error {
		_, err := s.TryAcquire(ctx, in.key, in.holder, in.lease)
		return err
	}},
	{name: "Renew", grant: true, lease: true, do: func(ctx context.Context, s *fenced.Store, in input) error {
		_, err := s.Renew(ctx, in.grant, in.lease)
		return err
	}},
	{name: "Commit", grant: true, do: func(ctx context.Context, s *fenced.Store, in input) error {
		_, err := s.Commit(ctx, in.grant, []byte("written"))
		return err
	}},
	{name: "Delete", grant: true, do: func(ctx context.Context, s *fenced.Store, in input) error {
		_, err := s.Delete(ctx, in.grant)
		return err
	}},
	{name: "Release", grant: true, do: func(ctx context.Context, s *fenced.Store, in input) error {
		return s.Release(ctx, in.grant)
	}},
	{name: "Reclaim", key: true, do: func(ctx context.Context, s *fenced.Store, in input) error {
		_, err := s.Reclaim(ctx, in.key, 1)
		return err
	}},
	{name: "ReclaimExpired", do: func(ctx context.Context, s *fenced.Store, _ input) error {
		_, err := s.ReclaimExpired(ctx, 0)
		return err
	}},
	{name: "CompareAndSwap", key: true, do: func(ctx context.Context, s *fenced.Store, in input) error {
		_, err := s.CompareAndSwap(ctx, in.key, 0, []byte("written"))
		return err
	}},
	{name: "CompareAndDelete", key: true, do: func(ctx context.Context, s *fenced.Store, in input) error {
		_, err := s.CompareAndDelete(ctx, in.key, 0)
		return err
	}},
}

// setting is a store with a held record and a lapsed one, and an input that all
// calls would take but for what a test makes of it.
func setting(t *testing.T, s *fenced.Store) input {
	t.Helper()
	_, err := s.TryAcquire(bg, "lapsed", "B", time.Nanosecond)
	require.NoError(t, err)
	g := commit(t, s, claim(t, s, "k", "A"), "v")
	time.Sleep(time.Second)
	return input{key: "free", holder: "A", lease: lease, grant: g}
}

var settingKeys = []string{"free", "k", "lapsed"}

func TestBadInput(t *testing.T) {
	long := strings.Repeat("x", 1025)
	tests := []struct {
		name  string
		spoil func(*input)
		hits  func(key, holder, lease, grant bool) bool
		says  string
	}{
		{"empty key", func(in *input) { in.key, in.grant.Key = "", "" }, hitsKey, "empty key"},
		{"over-long key", func(in *input) { in.key, in.grant.Key = long, long }, hitsKey, "key of 1025 bytes"},
		{"key not UTF-8", func(in *input) { in.key, in.grant.Key = "k\xff", "k\xff" }, hitsKey, "UTF-8"},
		{"empty holder", func(in *input) { in.holder = "" }, hitsHolder, "empty holder"},
		{"over-long holder", func(in *input) { in.holder = long[:257] }, hitsHolder, "holder of 257 bytes"},
		{"holder not UTF-8", func(in *input) { in.holder = "\xc3\x28" }, hitsHolder, "UTF-8"},
		{"no lease", func(in *input) { in.lease = 0 }, hitsLease, "lease 0s"},
		{"negative lease", func(in *input) { in.lease = -1 }, hitsLease, "lease -1ns"},
		{"lease just over 100 years", func(in *input) { in.lease = fenced.MaxLease + 1 }, hitsLease, "lease"},
		{"overflowing lease", func(in *input) { in.lease = 1<<63 - 1 }, hitsLease, "lease"},
		{"zero grant", func(in *input) { in.grant = fenced.Grant{} }, hitsGrant, "generation"},
		{"grant with only a key", func(in *input) { in.grant = fenced.Grant{Record: fenced.Record{Key: "k"}} }, hitsGrant, "generation"},
		{"grant without a generation", func(in *input) { in.grant.Generation = 0 }, hitsGrant, "generation"},
	}
	for _, test := range tests {
		for _, call := range calls {
			if !test.hits(call.key, call.holder, call.lease, call.grant) {
				continue
			}
			t.Run(test.name+"/"+call.name, func(t *testing.T) {
				bubble(t, func(t *testing.T, s *fenced.Store) {
					in := setting(t, s)
					test.spoil(&in)
					unmoved(t, s, settingKeys, func() {
						err := call.do(bg, s, in)
						exactly(t, err, fenced.ErrInvalid)
						require.ErrorContains(t, err, test.says, "names what is wrong")
					})
				})
			})
		}
	}
}

func hitsKey(key, _, _, grant bool) bool   { return key || grant }
func hitsHolder(_, holder, _, _ bool) bool { return holder }
func hitsLease(_, _, lease, _ bool) bool   { return lease }
func hitsGrant(_, _, _, grant bool) bool   { return grant }

func TestGoodInputAtTheLimits(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for _, key := range []string{"k", strings.Repeat("x", 1024), strings.Repeat("é", 512), "\x00", "a b/c"} {
			g, err := s.Acquire(bg, key, strings.Repeat("y", 256), fenced.MaxLease)
			require.NoError(t, err)
			require.Equal(t, 36525*24*time.Hour, time.Until(g.Expires), "a hundred years")
			g, err = s.Renew(bg, g, 1)
			require.NoError(t, err)
			g, err = s.Renew(bg, g, fenced.MaxLease)
			require.NoError(t, err)
			release(t, s, commit(t, s, g, "v"))
			_, err = s.CompareAndDelete(bg, key, 1)
			require.NoError(t, err)
		}
	})
}

// What every store applies is there for other stores to apply.
func TestChecks(t *testing.T) {
	require.NoError(t, fenced.CheckKey("k"))
	exactly(t, fenced.CheckKey(""), fenced.ErrInvalid)
	require.NoError(t, fenced.CheckHolder("A"))
	exactly(t, fenced.CheckHolder("\xff"), fenced.ErrInvalid)
	require.NoError(t, fenced.CheckLease(1))
	exactly(t, fenced.CheckLease(0), fenced.ErrInvalid)
	require.NoError(t, fenced.CheckGrant(fenced.NewGrant(fenced.Record{Key: "k", Generation: 1}, 1)))
	exactly(t, fenced.CheckGrant(fenced.Grant{}), fenced.ErrInvalid)
}

func TestLimitsAreTheContracts(t *testing.T) {
	require.Equal(t, 1024, fenced.MaxKey)
	require.Equal(t, 256, fenced.MaxHolder)
	require.Equal(t, 36525*24*time.Hour, fenced.MaxLease)
}

func TestFinishedContextHasNoEffect(t *testing.T) {
	cancelled, cancel := context.WithCancel(bg)
	cancel()
	for _, call := range calls {
		t.Run(call.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				late, cancel := context.WithDeadline(bg, time.Now())
				defer cancel()
				in := setting(t, s)
				unmoved(t, s, settingKeys, func() {
					exactly(t, call.do(cancelled, s, in), context.Canceled)
					exactly(t, call.do(late, s, in), context.DeadlineExceeded)
				})
				exactly(t, call.do(bg, s, in), fitting(call.name)...)
			})
		})
	}
}

// fitting is what the call of that name gets in the setting with nothing
// spoilt: the proof that it was the spoilt part which mattered.
func fitting(name string) []error {
	if name == "Reclaim" { // of a free record
		return []error{fenced.ErrStaleReadGeneration}
	}
	return nil
}

func TestNilContext(t *testing.T) {
	for _, call := range calls {
		t.Run(call.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				in := setting(t, s)
				unmoved(t, s, settingKeys, func() {
					exactly(t, call.do(nil, s, in), fenced.ErrInvalid)
				})
			})
		})
	}
}

func TestClosedStore(t *testing.T) {
	for _, call := range calls {
		t.Run(call.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fenced.Store) {
				in := setting(t, s)
				require.NoError(t, s.Close())
				before := s.Stats()
				exactly(t, call.do(bg, s, in), fenced.ErrClosed)
				in.grant.Version = 99 // nor does any other check answer
				exactly(t, call.do(bg, s, in), fenced.ErrClosed)
				in.grant, _ = fenced.ParseToken(in.grant.Token()) // nor what a grant remembers
				exactly(t, call.do(bg, s, in), fenced.ErrClosed)
				equal(t, before, s.Stats())
			})
		})
	}
}
