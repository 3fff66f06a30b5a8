package harness

import "slices"

// Quartiles returns the quartiles of values, by the nearest rank.
func Quartiles(values []float64) (q1, median, q3 float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	v := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 { return v[int(q*float64(len(v)-1)+0.5)] }
	return at(0.25), at(0.5), at(0.75)
}
