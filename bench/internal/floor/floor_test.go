package floor_test

import (
	"testing"

	"github.com/fencedgo/fenced/bench/internal/floor"
)

// The floor is a versioned compare-and-swap, or every ratio to it is wrong.
func TestSwaps(t *testing.T) {
	f := floor.New()
	in := []byte("one")
	for _, step := range []struct {
		version uint64 // presented
		value   string
		at      uint64 // then
		ok      bool
	}{
		{1, "of nothing", 0, false},
		{0, "one", 1, true},
		{0, "again", 1, false},
		{1, "two, which is longer", 2, true},
		{1, "stale", 2, false},
		{2, "3", 3, true},
	} {
		in = append(in[:0], step.value...)
		at, ok := f.Swap("k", step.version, in)
		if at != step.at || ok != step.ok {
			t.Fatalf("swap of %q from %d: at %d, %v; want at %d, %v", step.value, step.version, at, ok, step.at, step.ok)
		}
		clear(in) // the floor keeps a copy
		got, version := f.Read("k")
		if version != step.at || ok && string(got) != step.value {
			t.Fatalf("after %q: read %q at %d", step.value, got, version)
		}
		clear(got) // and hands out another
	}
	if got, version := f.Read("k"); string(got) != "3" || version != 3 {
		t.Fatalf("read %q at %d, want the last value written", got, version)
	}
	if got, version := f.Read("another"); got != nil || version != 0 {
		t.Fatalf("read %q at %d of a key never written", got, version)
	}
}

// A write reuses the space of the value, as those of the store do.
func TestWritesInPlace(t *testing.T) {
	f, at := floor.New(), uint64(0)
	write := func() {
		var ok bool
		if at, ok = f.Swap("k", at, []byte("value")); !ok {
			t.Fatal("refused")
		}
	}
	write()
	if n := testing.AllocsPerRun(100, write); n != 0 {
		t.Fatalf("%v allocations a write, want none", n)
	}
}
