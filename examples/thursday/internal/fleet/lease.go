package fleet

import (
	"sync"
	"time"

	"github.com/fencedgo/fenced"
)

// leases does what none does under a lock that ends by itself, the way of SET NX
// PX: taken with a token, let go only by whoever has the token. The holder
// checks it when it takes it. To look again before the write would narrow the
// gap and not close it: the next pause comes after the look.
type leases struct {
	*table
	held   sync.Mutex // guards leases
	leases map[string]leased
}

type leased struct {
	token claim
	until time.Time
}

func newLeases() *leases { return &leases{table: newTable(), leases: make(map[string]leased)} }

func (l *leases) work(g fenced.Grant, decide decider) ([]byte, error) {
	if !l.take(claimOf(g)) {
		return nil, errBusy
	}
	defer l.letGo(claimOf(g))
	return none{l.table}.work(g, decide)
}

func (l *leases) take(token claim) bool {
	l.held.Lock()
	defer l.held.Unlock()
	now := time.Now()
	if now.Before(l.leases[token.key].until) {
		return false
	}
	l.leases[token.key] = leased{token, now.Add(lease)}
	return true
}

func (l *leases) letGo(token claim) {
	l.held.Lock()
	defer l.held.Unlock()
	if l.leases[token.key].token == token {
		delete(l.leases, token.key)
	}
}
