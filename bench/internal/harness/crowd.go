package harness

import (
	"runtime"
	"sync"
)

// Crowd is how many goroutines pass one record on.
const Crowd = 64

// PassOn calls turn n times from a crowd of goroutines, which first queue up and
// are then let go. Whoever has had its turn queues up again behind the others,
// so that every turn but the last ones is handed over.
func PassOn(n int, letGo, turn func()) {
	var ready, done sync.WaitGroup
	for i := range Crowd {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			for range (n + i) / Crowd {
				turn()
			}
		})
	}
	ready.Wait()
	for range Crowd {
		runtime.Gosched()
	}
	letGo()
	done.Wait()
}
