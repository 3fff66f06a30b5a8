// Package harness is what the commands of this module share: records, quartiles,
// a crowd of goroutines, and what the machine is.
package harness

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Processor returns the model and number of the processors.
func Processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return fmt.Sprintf("%s × %d (%s)", strings.TrimSpace(model), runtime.NumCPU(), runtime.GOARCH)
		}
	}
	return fmt.Sprintf("%d × %s", runtime.NumCPU(), runtime.GOARCH)
}

// Revision returns the commit that is checked out.
func Revision() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// EffectiveCores returns how many goroutines' worth of work two of them get
// done: two on a quiet machine, one where somebody else has the other core.
func EffectiveCores() float64 {
	one := spin(1)
	return 2 * float64(one) / float64(spin(2))
}

// spin returns how long the given number of goroutines take to spin, each as
// far.
func spin(goroutines int) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			x := uint64(start.UnixNano()) | 1
			for range 100_000_000 {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
			}
			if x == 0 {
				panic("xorshift does not reach 0")
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}
