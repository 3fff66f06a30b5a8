package fleet

import (
	"sync"
	"time"

	"github.com/fencedgo/fenced"
)

// decision is what the owner of an order made of the vendor's answer: the state
// to write, or, where no write applies, the state it saw and leaves alone.
type decision struct {
	state string
	leave bool
	by    claim
}

// claim is one worker's turn at one order.
type claim struct {
	key        string
	generation fenced.Generation
}

func claimOf(g fenced.Grant) claim { return claim{g.Key, g.Generation} }

// ledger is what the system decided, order by order: the decision of whoever
// owned the order last. It knows of owners and their decisions and of nothing
// else, and so is the same yardstick for every mechanism.
type ledger struct {
	mu       sync.Mutex
	decided  map[string]decision // of the last owner that decided
	first    map[string]string   // the first owner's name
	at       map[string]claim    // claims whose worker is at the order
	lost     map[claim]time.Time // when a claim was taken from its worker
	settled  map[string]bool     // orders that their owner is done with
	waiting  map[string]bool     // orders that the mechanism kept their owner away from
	progress time.Time           // when an order was settled last
}

func newLedger() *ledger {
	return &ledger{
		decided:  make(map[string]decision),
		first:    make(map[string]string),
		at:       make(map[string]claim),
		lost:     make(map[claim]time.Time),
		settled:  make(map[string]bool),
		waiting:  make(map[string]bool),
		progress: time.Now(),
	}
}

// claim takes down that g was issued. A claim whose worker is still at the order
// has been taken over with that.
func (l *ledger) claim(g fenced.Grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first[g.Key] == "" {
		l.first[g.Key] = g.Holder
	}
	if before, ok := l.at[g.Key]; ok {
		l.note(before)
	}
	l.at[g.Key] = claimOf(g)
}

// leave takes down that the worker with claim c is no longer at the order.
func (l *ledger) leave(c claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at[c.key] == c {
		delete(l.at, c.key)
	}
}

// lose takes down that c was taken from its worker.
func (l *ledger) lose(c claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(c)
}

// note does so once.
func (l *ledger) note(lost claim) {
	if _, ok := l.lost[lost]; !ok {
		l.lost[lost] = time.Now()
	}
}

// decide takes down a decision, unless a later owner has decided already.
func (l *ledger) decide(d decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.by.generation >= l.decided[d.by.key].by.generation {
		l.decided[d.by.key] = d
	}
	delete(l.waiting, d.by.key)
}

// settle takes down that the worker with claim c is done. One that has lost the
// order has no say in it.
func (l *ledger) settle(c claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, lost := l.lost[c]; !lost && !l.settled[c.key] {
		l.settled[c.key] = true
		l.progress = time.Now()
	}
}

// wait takes down that the owner of an order was kept away from it.
func (l *ledger) wait(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting[key] = true
}

func (l *ledger) isSettled(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settled[key]
}

// lostAt returns when c was taken from its worker, if it was.
func (l *ledger) lostAt(c claim) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, lost := l.lost[c]
	return at, lost
}

// tally is where the orders stand.
type tally struct {
	settled, waiting int
	lost             int // claims
	idle             time.Duration
}

func (l *ledger) tally() tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := tally{settled: len(l.settled), lost: len(l.lost), idle: time.Since(l.progress)}
	for key := range l.waiting {
		if !l.settled[key] {
			t.waiting++
		}
	}
	return t
}
