package main

import (
	"encoding/binary"
	"iter"
	"math/rand/v2"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// fill writes what record i is loaded with: each has another value, of bytes that
// do not compress, the same in every store.
func fill(value []byte, i int) {
	source := rand.NewPCG(uint64(i), 0)
	for rest := value; len(rest) > 0; {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], source.Uint64())
		rest = rest[copy(rest, word[:]):]
	}
}

// rows yields the records from the first up to and without the last one: key,
// and a value of size bytes, which the next one overwrites.
func rows(first, last, size int) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		value := make([]byte, size)
		for i := first; i < last; i++ {
			fill(value, i)
			if !yield(harness.Key(i), value) {
				return
			}
		}
	}
}
