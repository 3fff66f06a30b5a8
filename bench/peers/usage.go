//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime returns what this process has used so far, of its own and in the
// kernel, on all processors.
func processorTime() time.Duration {
	var used syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
