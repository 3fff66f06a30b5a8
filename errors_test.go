package fenced_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

func TestSentinelsAreDistinctAndPrefixed(t *testing.T) {
	for i, a := range sentinels[:7] {
		require.Regexp(t, "^fenced: [a-z]", a.Error())
		for _, b := range sentinels[:i] {
			require.NotErrorIs(t, a, b)
		}
	}
}

// Every refusal is a ConflictError that names the call, with both sides
// without their values; nothing else is one.
func TestConflictErrorIsWhatRefusalsAre(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := commit(t, s, claim(t, s, "k", "A"), "v")
		time.Sleep(lease)
		b := commit(t, s, claim(t, s, "k", "B"), "w")
		expires := b.Expires
		time.Sleep(time.Second)
		current := fenced.Record{Key: "k", Version: 2, Generation: 2, Holder: "B", Expires: expires}
		taken := time.Now().Add(-time.Second)
		presented := a.Record
		presented.Value = nil

		refusals := map[string]func() error{
			"commit":  func() error { return fenceCalls[0].do(s, a) },
			"delete":  func() error { return fenceCalls[1].do(s, a) },
			"renew":   func() error { return fenceCalls[2].do(s, a) },
			"release": func() error { return fenceCalls[3].do(s, a) },
		}
		for op, do := range refusals {
			got := *conflict(t, do())
			got.Reasons = nil
			equal(t, fenced.ConflictError{
				Op: op, Key: "k", Presented: presented, Current: current, Ended: fenced.TakenOver, EndedAt: taken,
			}, got)
		}
		others := map[string]struct {
			do        func() error
			presented fenced.Record
			ended     fenced.Ending
		}{
			"acquire": {func() error {
				_, err := s.TryAcquire(bg, "k", "C", lease)
				return err
			}, fenced.Record{Key: "k", Holder: "C"}, fenced.EndingUnknown},
			"reclaim": {func() error {
				_, err := s.Reclaim(bg, "k", 1)
				return err
			}, fenced.Record{Key: "k", Generation: 1}, fenced.TakenOver},
			"compare-and-swap": {func() error {
				_, err := s.CompareAndSwap(bg, "k", 7, []byte("x"))
				return err
			}, fenced.Record{Key: "k", Version: 7}, fenced.EndingUnknown},
			"compare-and-delete": {func() error {
				_, err := s.CompareAndDelete(bg, "k", 7)
				return err
			}, fenced.Record{Key: "k", Version: 7}, fenced.EndingUnknown},
		}
		for op, other := range others {
			got := *conflict(t, other.do())
			got.Reasons = nil
			want := fenced.ConflictError{Op: op, Key: "k", Presented: other.presented, Current: current, Ended: other.ended}
			if other.ended != fenced.EndingUnknown {
				want.EndedAt = taken
			}
			equal(t, want, got)
		}

		var c *fenced.ConflictError
		_, err := s.Commit(bg, fenced.Grant{}, nil)
		require.NotErrorAs(t, err, &c, "an invalid call is no refusal")
		require.NoError(t, s.Close())
		_, err = s.Commit(bg, b, nil)
		require.NotErrorAs(t, err, &c, "nor is one on a closed store")
	})
}

// The store knows how the last grant ended, and says nothing of earlier ones.
func TestEndingAsFarAsKnown(t *testing.T) {
	for _, ending := range endings[:3] {
		bubble(t, func(t *testing.T, s *fenced.Store) {
			a := claim(t, s, "k", "A")
			ending.do(t, s, a)
			at := time.Now()
			time.Sleep(time.Minute)
			claim(t, s, "k", "B")
			_, err := s.Commit(bg, a, nil)
			c := conflict(t, err)
			require.Equal(t, ending.how, c.Ended)
			require.True(t, at.Equal(c.EndedAt))

			time.Sleep(lease)
			claim(t, s, "k", "C")
			_, err = s.Commit(bg, a, nil)
			c = conflict(t, err)
			require.Equal(t, fenced.EndingUnknown, c.Ended)
			require.True(t, c.EndedAt.IsZero())
		})
	}
}

func TestConflictErrorUnwraps(t *testing.T) {
	c := &fenced.ConflictError{Reasons: []error{fenced.ErrVersionConflict, fenced.ErrStaleReadGeneration}}
	exactly(t, c, fenced.ErrVersionConflict, fenced.ErrStaleReadGeneration)
	exactly(t, fmt.Errorf("orders: %w", c), fenced.ErrVersionConflict, fenced.ErrStaleReadGeneration)
	require.Len(t, c.Unwrap(), 2)
}

// An error reads well in a log line: who, what, which numbers against which,
// how the grant ended and how long ago.
func TestConflictErrorReads(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "orders/4412", "A")
		time.Sleep(lease)
		reclaim(t, s, a)
		time.Sleep(1500 * time.Millisecond)
		_, err := s.Commit(bg, a, nil)
		require.EqualError(t, err, `fenced: commit of "orders/4412" by "A" refused: stale generation `+
			`(presented version 0 generation 1, current version 0 generation 2, held by nobody); grant was reclaimed 1.5s ago`)

		b := commit(t, s, claim(t, s, "orders/4412", "B"), "v")
		_, err = s.Delete(bg, a)
		require.EqualError(t, err, `fenced: delete of "orders/4412" by "A" refused: version conflict and stale generation `+
			`(presented version 0 generation 1, current version 1 generation 2, held by "B"); grant was reclaimed 1.5s ago`)

		_, err = s.CompareAndSwap(bg, "orders/4412", 1, nil)
		require.EqualError(t, err, `fenced: compare-and-swap of "orders/4412" refused: grant held `+
			`(presented version 1 generation 0, current version 1 generation 2, held by "B")`)

		release(t, s, b)
		c := claim(t, s, "orders/4412", "C")
		_, err = s.Renew(bg, b, lease)
		require.ErrorContains(t, err, "; grant was released 0s ago")
		time.Sleep(lease)
		claim(t, s, "orders/4412", "D")
		time.Sleep(time.Millisecond)
		require.ErrorContains(t, s.Release(bg, c), "; grant was taken over 1ms ago")
	})
}

// A key or label cannot break out of its line.
func TestConflictErrorQuotes(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		claim(t, s, "a\nb", "c\"\n")
		_, err := s.TryAcquire(bg, "a\nb", "d\n", lease)
		require.NotContains(t, err.Error(), "\n")
	})
}

func TestEndingReads(t *testing.T) {
	for ending, want := range map[fenced.Ending]string{
		fenced.EndingUnknown: "unknown", fenced.Released: "released", fenced.Reclaimed: "reclaimed", fenced.TakenOver: "taken over", 99: "unknown",
	} {
		require.Equal(t, want, ending.String())
	}
	require.Zero(t, fenced.EndingUnknown)
}

// What a caller does to the reasons of one refusal is not seen in another.
func TestIsolationOfReasons(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		claim(t, s, "k", "A")
		_, err := s.TryAcquire(bg, "k", "B", lease)
		var refused *fenced.ConflictError
		require.ErrorAs(t, err, &refused)
		refused.Unwrap()[0] = context.Canceled
		refused.Reasons = append(refused.Reasons, context.Canceled)
		_, err = s.TryAcquire(bg, "k", "C", lease)
		exactly(t, err, fenced.ErrGrantHeld)
	})
}
