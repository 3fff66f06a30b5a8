package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// machine says what the figures were measured on; without it they say nothing.
func machine() string {
	return fmt.Sprintf("%s, %s, GOMAXPROCS %d, effective cores %.2f, commit %s\n64-byte values; one goroutine where nothing else is said; F: compare-and-swap of the floor, a striped mutex and map without grants\n",
		runtime.Version(), processor(), runtime.GOMAXPROCS(0), effectiveCores(), revision())
}

func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return fmt.Sprintf("%s × %d (%s)", strings.TrimSpace(model), runtime.NumCPU(), runtime.GOARCH)
		}
	}
	return fmt.Sprintf("%d × %s", runtime.NumCPU(), runtime.GOARCH)
}

func revision() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// effectiveCores returns how many goroutines' worth of work two of them get
// done: two on a quiet machine, one where somebody else has the other core.
func effectiveCores() float64 {
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
