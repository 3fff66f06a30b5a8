package main

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// opened returns the empty store of a peer.
func opened(t *testing.T, p peer) store {
	t.Helper()
	s, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// inProcess returns the peers that need no other program.
func inProcess() []peer {
	var found []peer
	for _, p := range all() {
		if p.module != coherence {
			found = append(found, p)
		}
	}
	return found
}

// Every contender does a versioned compare-and-swap, and keeps its own copy of
// what it is given and gives out, or it is no contender.
func TestPeersSwap(t *testing.T) {
	for _, p := range inProcess() {
		t.Run(p.name, func(t *testing.T) {
			s := opened(t, p).(versioned)
			in := []byte("one")
			for _, step := range []struct {
				version uint64 // presented
				value   string
				at      uint64 // then
				landed  bool
			}{
				{1, "of nothing", 0, false},
				{0, "one", 1, true},
				{0, "again", 1, false},
				{1, "two, which is longer", 2, true},
				{1, "stale", 2, false},
				{3, "of the future", 2, false},
				{2, "3", 3, true},
			} {
				in = append(in[:0], step.value...)
				if landed := s.swap("k", step.version, in); landed != step.landed {
					t.Fatalf("swap of %q from %d landed: %v, want %v", step.value, step.version, landed, step.landed)
				}
				clear(in) // the store keeps a copy
				got, version := s.read("k")
				if version != step.at || step.landed && string(got) != step.value {
					t.Fatalf("after %q: read %q at %d", step.value, got, version)
				}
				clear(got) // and hands out another
			}
			if got, version := s.read("k"); string(got) != "3" || version != 3 {
				t.Fatalf("read %q at %d, want the last value written", got, version)
			}
			if got, version := s.read("another"); len(got) != 0 || version != 0 {
				t.Fatalf("read %q at %d of a key never written", got, version)
			}
		})
	}
}

// What is measured has been loaded.
func TestPeersLoad(t *testing.T) {
	const n = 300
	value := make([]byte, 21)
	for _, p := range inProcess() {
		t.Run(p.name, func(t *testing.T) {
			s := opened(t, p).(versioned)
			s.load(n, len(value))
			for i := range n {
				fill(value, i)
				if got, version := s.read(harness.Key(i)); !bytes.Equal(got, value) || version != 1 {
					t.Fatalf("record %d: read %q at %d", i, got, version)
				}
			}
			if _, version := s.read(harness.Key(n)); version != 0 {
				t.Fatalf("there is a record %d", n)
			}
		})
	}
}

// An update moves the version of each record that it is done to, once, and derives
// the new value from the old one, also where two goroutines want the same record.
func TestUpdatesLand(t *testing.T) {
	on := setting{N: 4, Size: 16, Procs: 2}
	order := make([]int32, 100)
	for i := range order {
		order[i] = int32(i % on.N)
	}
	for _, p := range inProcess() {
		t.Run(p.name, func(t *testing.T) {
			s := opened(t, p).(versioned)
			s.load(on.N, on.Size)
			do := p.loops[update](s, on)
			want := uint64(1 + len(order)/on.N)
			do(order)
			if p.limit == nil { // several may write to one record
				side := side{do, []lane{{order, order, order, order}, {order, order, order, order}}, len(order)}
				side.round(len(order))()
				want += 2 * uint64(len(order)/on.N)
			}
			for i := range on.N {
				value := make([]byte, on.Size)
				fill(value, i)
				binary.LittleEndian.PutUint64(value, binary.LittleEndian.Uint64(value)+want-1)
				if got, version := s.read(harness.Key(i)); version != want || !bytes.Equal(got, value) {
					t.Errorf("record %d is %x at version %d, want %x at %d", i, got, version, value, want)
				}
			}
		})
	}
}
