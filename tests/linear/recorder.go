package linear

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/tests/model"
)

// Store is what histories are recorded of.
type Store interface {
	fenced.Backend
	fenced.Waiter
}

// Load is who calls what while a history is recorded.
type Load struct {
	Stores         []Store // of one database; the clients share them out
	Clients, Calls int     // of each client
	Keys           int
	Prefix         string // of the keys, which nobody has used yet
	// Waits is how long some claims wait their turn; 0: none does. They are not to
	// be where replies are lost: a release that hands over, and whose reply is lost,
	// claims for another.
	Waits time.Duration
	// Fate says what an error leaves of a call. Nil: everything is told, and a
	// claim that waited in vain never happened.
	Fate func(model.Call, error) Fate
}

// Fate is what an error leaves of a call. The zero Fate is Told.
type Fate uint8

// The fates.
const (
	Told   Fate = iota // the error is the result
	Undone             // the call never happened
	Lost               // the call may have happened, or may yet
)

// Record lets clients loose and returns the history of their calls. The clock is
// a counter, so the intervals are as tight as they can be: closed, and no two ends
// alike.
func (l Load) Record(seed uint64) ([]porcupine.Operation, error) {
	r := &recorder{Load: l}
	errs := make([]error, l.Clients)
	var clients sync.WaitGroup
	for id := range l.Clients {
		clients.Go(func() {
			c := client{recorder: r, id: id, s: l.Stores[id%len(l.Stores)], random: rand.New(rand.NewPCG(seed, uint64(id)))}
			for range l.Calls {
				if errs[id] == nil {
					errs[id] = c.call()
				}
			}
		})
	}
	clients.Wait()
	c := client{recorder: r, id: l.Clients, s: l.Stores[0]}
	for key := range l.Keys {
		_, err := c.read(r.key(key))
		errs = append(errs, err)
	}
	return r.history, errors.Join(errs...)
}

// recorder is what the clients share: the history, and every grant that any of
// them ever had.
type recorder struct {
	Load
	clock  atomic.Int64
	claims atomic.Int64

	mu      sync.Mutex
	history []porcupine.Operation
	grants  []fenced.Grant
}

func (r *recorder) key(i int) string { return fmt.Sprint(r.Prefix, i) }

// fate is what became of a call that came to err.
func (r *recorder) fate(call model.Call, err error) Fate {
	switch {
	case err == nil:
		return Told
	case r.Fate != nil:
		return r.Fate(call, err)
	case call.Op == Acquire && errors.Is(err, context.DeadlineExceeded):
		return Undone // its trace would show in the results of others
	default:
		return Told
	}
}

// client makes calls.
type client struct {
	*recorder
	id     int
	s      Store
	random *rand.Rand
	writes int
}

// call makes one call at random.
func (c *client) call() error {
	key := c.key(c.random.IntN(c.Keys))
	switch n := c.random.IntN(10); {
	case n < 3:
		return c.claim(key, c.Waits > 0 && n == 0)
	case n < 7:
		return c.use()
	case n == 7:
		return c.sweep()
	case n == 8:
		seen, err := c.read(key)
		if err != nil {
			return err
		}
		_, err = c.do(model.Call{Op: model.Reclaim, Key: key, Seen: seen.Generation}, fenced.Grant{})
		return err
	default:
		return c.swap(key)
	}
}

// value is one that no other call writes, so that a read says which write it
// saw.
func (c *client) value() []byte {
	c.writes++
	return fmt.Appendf(nil, "%d/%d", c.id, c.writes)
}

func (c *client) claim(key string, wait bool) error {
	call := model.Call{Op: model.TryAcquire, Key: key, Holder: c.holder(), Lease: Long}
	if wait {
		call.Op = Acquire
	}
	if c.random.IntN(3) == 0 {
		call.Lease = Short
	}
	_, err := c.do(call, fenced.Grant{})
	return err
}

// holder is a label that is always the same, as one that tells nothing should be,
// but for Drop to go by where claims get lost.
func (c *client) holder() string {
	if c.Fate == nil {
		return fmt.Sprint("c", c.id)
	}
	return fmt.Sprintf("c%d/%d", c.id, c.claims.Add(1))
}

// use makes a call under a grant of any client, of late or of old, as it was or
// with the version of now.
func (c *client) use() error {
	c.mu.Lock()
	if len(c.grants) == 0 {
		c.mu.Unlock()
		return nil
	}
	back := min(c.random.IntN(6), c.random.IntN(len(c.grants)))
	g := c.grants[len(c.grants)-1-back]
	c.mu.Unlock()
	if c.random.IntN(3) == 0 {
		seen, err := c.read(g.Key)
		if err != nil {
			return err
		}
		g.Version = max(seen.Version, g.Version) // a read that failed has none
	}
	call := model.Call{Key: g.Key, Grant: model.Grant{View: viewOf(g.Record), Issued: true}}
	switch c.random.IntN(6) {
	case 0:
		call.Op = model.Delete
	case 1:
		call.Op, call.Lease = model.Renew, Long
	case 2, 3:
		call.Op = model.Release
	default:
		call.Op, call.Value = model.Commit, c.value()
	}
	_, err := c.do(call, g)
	return err
}

// viewOf is r as the model can know it.
func viewOf(r fenced.Record) model.View { return timeless(model.ViewOf(r, time.Time{})) }

// swap swaps or deletes at a version it read, or at 0.
func (c *client) swap(key string) error {
	seen, err := c.read(key)
	if err != nil {
		return err
	}
	call := model.Call{Op: model.CompareAndSwap, Key: key, Version: seen.Version}
	switch c.random.IntN(4) {
	case 0:
		call.Version = 0
	case 1:
		call.Op = model.CompareAndDelete
	}
	if call.Op == model.CompareAndSwap {
		call.Value = c.value()
	}
	_, err = c.do(call, fenced.Grant{})
	return err
}

func (c *client) read(key string) (model.View, error) {
	return c.do(model.Call{Op: model.Read, Key: key}, fenced.Grant{})
}

// timeout is for a call that does not wait its turn.
const timeout = 10 * time.Second

// sweep is recorded as one call for each record of this history that it took: it
// looks at records one by one. One that is lost may have taken any.
func (c *client) sweep() error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	call := model.Call{Op: model.Sweep}
	called := c.clock.Add(1)
	answer := model.Make(ctx, c.s, call, fenced.Grant{})
	returned := c.clock.Add(1)
	got, err := answer.Outcome(time.Time{})
	if err != nil {
		return err
	}
	for _, v := range got.Swept {
		if strings.HasPrefix(v.Key, c.Prefix) { // not left over from a history before
			call.Key = v.Key
			c.note(called, call, Outcome{Outcome: model.Outcome{View: timeless(v)}}, returned)
		}
	}
	switch c.fate(call, answer.Err) {
	case Lost:
		for i := range c.Keys {
			call.Key = c.key(i)
			c.note(called, call, Outcome{Lost: true}, Open)
		}
	case Told:
		return answer.Err // none, or one that no sweep may come to
	case Undone:
	}
	return nil
}

// do makes a call and records it, and returns what it returned.
func (c *client) do(call model.Call, g fenced.Grant) (model.View, error) {
	called := c.clock.Add(1)
	answer := c.make(call, g)
	returned := c.clock.Add(1)
	switch c.fate(call, answer.Err) {
	case Undone:
		return model.View{}, nil
	case Lost:
		c.lose(called, call)
		return model.View{}, nil
	case Told:
	}
	got, err := answer.Outcome(time.Time{})
	if err != nil {
		return got.View, err
	}
	got.View = timeless(got.View)
	c.note(called, call, Outcome{Outcome: got}, returned)
	if got.Refused == 0 && answer.Grant.Generation != 0 {
		c.mu.Lock()
		c.grants = append(c.grants, answer.Grant)
		c.mu.Unlock()
	}
	return got.View, nil
}

func (c *client) make(call model.Call, g fenced.Grant) model.Answer {
	limit := timeout
	if call.Op == Acquire {
		limit = c.Waits
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if call.Op == Acquire {
		return model.Await(ctx, c.s, call)
	}
	return model.Make(ctx, c.s, call, g)
}

// lose records a call of which nobody knows what became of it. A claim that is
// granted after all is released.
func (c *client) lose(called int64, call model.Call) {
	c.note(called, call, Outcome{Lost: true}, Open)
	if call.Op == Acquire || call.Op == model.TryAcquire {
		c.note(called, model.Call{Op: Drop, Key: call.Key, Holder: call.Holder}, Outcome{Lost: true}, Open)
	}
}

func (c *client) note(called int64, call model.Call, got Outcome, returned int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, porcupine.Operation{ClientId: c.id, Input: call, Call: called, Output: got, Return: returned})
}
