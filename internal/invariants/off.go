//go:build !race && !invariants

// Package invariants says whether the store checks itself: it does under the
// race detector and under the build tag invariants, and costs nothing
// elsewhere.
package invariants

// Enabled reports whether invariants are checked after every mutation.
const Enabled = false
