//go:build race || invariants

package invariants

// Enabled reports whether invariants are checked after every mutation.
const Enabled = true
