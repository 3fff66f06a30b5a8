package linear

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/tests/model"
)

// Load is who calls what while a history is recorded.
type Load struct {
	Clients, Calls int // of each client
	Keys           int
}

// Record lets clients loose on a new store and returns the history of their
// calls. The clock is a counter, so the intervals are as tight as they can be:
// closed, and no two ends alike.
func (l Load) Record(seed uint64) ([]porcupine.Operation, error) {
	// An observer that yields puts other calls between an event and the return
	// of the call that it reports.
	store := fenced.NewStore(fenced.Options{OnEvent: func(fenced.Event) { runtime.Gosched() }})
	defer store.Close()
	r := &recorder{actual: model.Actual{Store: store, Epoch: time.Now()}, keys: l.Keys}
	errs := make([]error, l.Clients)
	var clients sync.WaitGroup
	for id := range l.Clients {
		clients.Go(func() {
			c := client{recorder: r, id: id, random: rand.New(rand.NewPCG(seed, uint64(id)))}
			for range l.Calls {
				if errs[id] == nil {
					errs[id] = c.call()
				}
			}
		})
	}
	clients.Wait()
	c := client{recorder: r, id: l.Clients}
	for key := range l.Keys {
		_, err := c.read(name(key))
		errs = append(errs, err)
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return r.history, nil
}

func name(key int) string { return fmt.Sprint("r", key) }

// recorder is what the clients share: the store, the history, and every grant
// that any of them ever had.
type recorder struct {
	actual model.Actual
	keys   int
	clock  atomic.Int64

	mu      sync.Mutex
	history []porcupine.Operation
	grants  []fenced.Grant
}

// client makes calls.
type client struct {
	*recorder
	id     int
	random *rand.Rand
	writes int
}

// call makes one call at random.
func (c *client) call() error {
	key := name(c.random.IntN(c.keys))
	switch c.random.IntN(10) {
	case 0, 1:
		return c.claim(model.Call{Op: model.TryAcquire, Key: key})
	case 2:
		return c.claim(model.Call{Op: Acquire, Key: key})
	case 3, 4, 5, 6:
		return c.use()
	case 7:
		return c.sweep()
	case 8:
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

func (c *client) claim(call model.Call) error {
	call.Holder, call.Lease = fmt.Sprint("c", c.id), Long
	if c.random.IntN(3) == 0 {
		call.Lease = Short
	}
	_, err := c.do(call, fenced.Grant{})
	return err
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
		g.Version = seen.Version
	}
	call := model.Call{Key: g.Key, Grant: model.Grant{View: timeless(c.actual.View(g.Record)), Issued: true}}
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

// sweep is recorded as one call for each record that it took: it looks at
// records one by one.
func (c *client) sweep() error {
	called := c.clock.Add(1)
	ended, err := c.actual.Store.ReclaimExpired(context.Background(), 0)
	returned := c.clock.Add(1)
	if err != nil {
		return err
	}
	for _, v := range c.actual.Grants(ended) {
		c.note(called, model.Call{Op: model.Sweep, Key: v.Key}, model.Outcome{View: timeless(v)}, returned)
	}
	return nil
}

// do makes a call and records it, and returns what it returned.
func (c *client) do(call model.Call, g fenced.Grant) (model.View, error) {
	called := c.clock.Add(1)
	var got model.Outcome
	var next fenced.Grant
	var err error
	if call.Op == Acquire {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		next, err = c.actual.Store.Acquire(ctx, call.Key, call.Holder, call.Lease)
		if errors.Is(err, context.DeadlineExceeded) {
			return got.View, nil // it waited in vain, and its trace would show in the results of others
		}
		got.View = c.actual.View(next.Record)
	} else {
		got, next, err = c.actual.Do(context.Background(), call, g)
	}
	returned := c.clock.Add(1)
	if err != nil {
		return got.View, err
	}
	got.View = timeless(got.View)
	c.note(called, call, got, returned)
	if got.Refused == 0 && next.Generation != 0 {
		next.Value = nil
		c.mu.Lock()
		c.grants = append(c.grants, next)
		c.mu.Unlock()
	}
	return got.View, nil
}

func (c *client) note(called int64, call model.Call, got model.Outcome, returned int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, porcupine.Operation{ClientId: c.id, Input: call, Call: called, Output: got, Return: returned})
}
