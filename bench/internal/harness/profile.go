package harness

import (
	"errors"
	"os"
	"runtime/pprof"
)

// Profile does work, and writes a CPU profile of it to file unless that is "".
func Profile(file string, work func() error) error {
	if file == "" {
		return work()
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	err = work()
	pprof.StopCPUProfile()
	return errors.Join(err, f.Close())
}
