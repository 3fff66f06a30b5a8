package fenced

import (
	"math"
	"math/bits"
)

// shares is a histogram of the shares of their leases that grants were held
// for: even steps of 1/64 up to twice the lease, where the leeway is decided,
// then eight steps to a power of two.
type shares struct {
	n     uint64
	max   float64
	count [evenShares + 8*octaves]uint64
}

const (
	shareStep  = 1.0 / 64
	evenShares = 128
	octaves    = 24
)

// shareBucket returns the place of share in the histogram.
func shareBucket(share float64) int {
	if share < evenShares*shareStep {
		return int(share / shareStep)
	}
	steps := uint64(share / shareStep) // at least 128
	octave := bits.Len64(steps) - 8    // 128..255 is 0
	if octave >= octaves {
		return evenShares + 8*octaves - 1
	}
	return evenShares + 8*octave + int(steps>>(octave+4))&7
}

// shareOf returns the lower bound of the bucket at i.
func shareOf(i int) float64 {
	if i < evenShares {
		return float64(i) * shareStep
	}
	octave, eighth := (i-evenShares)/8, (i-evenShares)%8
	return float64(uint64(evenShares+16*eighth)<<octave) * shareStep
}

func (h *shares) record(share float64) {
	h.n++
	h.max = max(h.max, share)
	h.count[shareBucket(share)]++
}

func (h *shares) add(other *shares) {
	if other == nil {
		return
	}
	h.n += other.n
	h.max = max(h.max, other.max)
	for i, n := range other.count {
		h.count[i] += n
	}
}

func (h *shares) distribution() Distribution {
	return Distribution{P50: h.quantile(0.50), P99: h.quantile(0.99), Max: h.max}
}

// quantile returns the share that q of all grants did not exceed, by the
// nearest rank.
func (h *shares) quantile(q float64) float64 {
	if h.n == 0 {
		return 0
	}
	rank := uint64(math.Ceil(q*float64(h.n))) - 1
	for i, n := range h.count {
		if rank < n {
			return min(shareOf(i), h.max)
		}
		rank -= n
	}
	return h.max
}
