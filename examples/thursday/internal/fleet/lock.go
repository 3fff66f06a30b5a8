package fleet

import (
	"sync"

	"github.com/fencedgo/fenced"
)

// lock does what none does under a lock of the order. Whoever finds it locked
// comes back later.
type lock struct {
	*table
	held    sync.Mutex // guards holders
	holders map[string]string
}

func newLock() *lock { return &lock{table: newTable(), holders: make(map[string]string)} }

func (l *lock) work(g fenced.Grant, decide decider) ([]byte, error) {
	if !l.tryLock(g.Key, g.Holder) {
		return nil, errBusy
	}
	defer l.unlock(g.Key)
	return none{l.table}.work(g, decide)
}

func (l *lock) tryLock(key, worker string) bool {
	l.held.Lock()
	defer l.held.Unlock()
	if l.holders[key] != "" {
		return false
	}
	l.holders[key] = worker
	return true
}

func (l *lock) unlock(key string) {
	l.held.Lock()
	defer l.held.Unlock()
	delete(l.holders, key)
}
