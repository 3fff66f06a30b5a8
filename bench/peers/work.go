package main

import (
	"encoding/binary"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// The works. All but the last three are set against the floor's.
const (
	update   = "update"   // read, derive, write if unchanged
	write    = "write"    // write if unchanged since it was read, earlier
	read     = "read"     // a value, to be the caller's own, and its version
	refused  = "refused"  // a write at an old version
	ended    = "ended"    // a write at the current version, under a grant that has ended
	cycle    = "cycle"    // claim, commit, release
	sweep    = "sweep"    // of expired grants
	handOver = "handover" // of one record among goroutines that wait for it
	memory   = "memory"   // of a record beyond key and value, and what collecting garbage costs
)

// against is the floor's work that a work is set against, where it is not the
// same one.
var against = map[string]string{ended: refused, cycle: write}

// loop does a work once for each of the records, by number. Several goroutines
// may run it at once, on records of their own unless the work is update.
type loop func(order []int32)

// maker prepares a loop on a store that has been loaded.
type maker func(s store, on setting) loop

// versionedLoops is what any versioned store can do. There is one loop for all
// of them, so that the work is the same. All are called through an interface, the
// floor and fenced with its grants too, so that this costs them the same.
var versionedLoops = map[string]maker{
	update:  onVersioned(updating),
	write:   onVersioned(writing),
	read:    onVersioned(reading),
	refused: onVersioned(refusing),
}

func onVersioned(of func(versioned, setting) loop) maker {
	return func(s store, on setting) loop { return of(s.(versioned), on) }
}

// stamp derives a new value from an old one, in place: it counts the first
// eight bytes up.
func stamp(value []byte) {
	binary.LittleEndian.PutUint64(value, binary.LittleEndian.Uint64(value)+1)
}

// ownKeys returns the keys as their writers carry them: not the strings that a
// store keeps, as in life, where a key arrives in a request or a row.
func ownKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = harness.Key(i)
	}
	return keys
}

// create adds a record.
func create(s versioned, key string, value []byte) {
	if !s.swap(key, 0, value) {
		panic("there is a " + key)
	}
}

// updating reads, derives and writes if unchanged; where somebody else wrote in
// between, it begins again. The value is its own copy: a store that can own it
// gets it.
func updating(s versioned, on setting) loop {
	keys := ownKeys(on.N)
	owner, owns := s.(owning)
	return func(order []int32) {
		for _, i := range order {
			for landed := false; !landed; {
				value, version := s.read(keys[i])
				stamp(value)
				if owns {
					landed = owner.swapOwned(keys[i], version, value)
				} else {
					landed = s.swap(keys[i], version, value)
				}
			}
		}
	}
}

// writing is the second half of it alone: the writer carries what it has read.
func writing(s versioned, on setting) loop {
	keys, versions, value := ownKeys(on.N), make([]uint64, on.N), make([]byte, on.Size)
	for i, k := range keys {
		_, versions[i] = s.read(k)
	}
	return func(order []int32) {
		for _, i := range order {
			stamp(value)
			if !s.swap(keys[i], versions[i], value) {
				panic("refused")
			}
			versions[i]++
		}
	}
}

func reading(s versioned, on setting) loop {
	keys := ownKeys(on.N)
	return func(order []int32) {
		for _, i := range order {
			if value, version := s.read(keys[i]); len(value) != on.Size || version == 0 {
				panic("wrong value")
			}
		}
	}
}

// refusing writes at the version before the current one.
func refusing(s versioned, on setting) loop {
	keys, versions, value := ownKeys(on.N), make([]uint64, on.N), make([]byte, on.Size)
	for i, k := range keys {
		_, versions[i] = s.read(k)
		if !s.swap(k, versions[i], value) {
			panic("refused")
		}
	}
	return func(order []int32) {
		for _, i := range order {
			if s.swap(keys[i], versions[i], value) {
				panic("not refused")
			}
		}
	}
}
