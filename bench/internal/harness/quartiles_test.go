package harness_test

import (
	"testing"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

func TestQuartiles(t *testing.T) {
	q1, median, q3 := harness.Quartiles([]float64{5, 1, 4, 2, 3})
	if q1 != 2 || median != 3 || q3 != 4 {
		t.Fatalf("quartiles %v, %v, %v, want 2, 3, 4", q1, median, q3)
	}
}
