// Package effort says how hard the tests of this module try.
package effort

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Long reports whether FENCED_LONG is set: the tests then take minutes.
func Long() bool { return os.Getenv("FENCED_LONG") != "" }

// Of returns how much to do where a plain run does n: an eighth under the race
// detector, ten times as much in a long run, at least one.
func Of(n int) int {
	if race {
		n /= 8
	}
	if Long() {
		n *= 10
	}
	return max(n, 1)
}

// Seed returns the seed of a run, from FENCED_SEED or else a new one, and logs
// it.
func Seed(tb testing.TB) uint64 {
	tb.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("FENCED_SEED"); s != "" {
		given, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			tb.Fatalf("FENCED_SEED: %v", err)
		}
		seed = given
	}
	tb.Logf("FENCED_SEED=%d", seed)
	return seed
}

// Deeper returns how deep to go where a plain run goes to depth: one level less
// under the race detector, one more in a long run.
func Deeper(depth int) int {
	if race {
		depth--
	}
	if Long() {
		depth++
	}
	return depth
}
