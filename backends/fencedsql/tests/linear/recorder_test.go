package linear_test

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
	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/tests/model"
)

// load is who calls what while a history is recorded.
type load struct {
	stores         []*fencedsql.Store // of one database; the clients share them out
	clients, calls int                // calls of each client
	keys           int
	prefix         string // of the keys, which nobody has used yet
	// waits has some claims wait. They are not to be where replies are lost: a
	// release that hands over, and whose reply is lost, claims for another.
	waits bool
	// forget takes lost calls for calls that never happened.
	forget bool
}

// record lets clients loose and returns the history of their calls. The clock
// is a counter, so the intervals are as tight as they can be.
func (l load) record(seed uint64) ([]porcupine.Operation, error) {
	r := &recorder{load: l}
	errs := make([]error, l.clients)
	var clients sync.WaitGroup
	for id := range l.clients {
		clients.Go(func() {
			c := client{recorder: r, id: id, s: l.stores[id%len(l.stores)], random: rand.New(rand.NewPCG(seed, uint64(id)))}
			for range l.calls {
				if errs[id] == nil {
					errs[id] = c.call()
				}
			}
		})
	}
	clients.Wait()
	c := client{recorder: r, id: l.clients, s: l.stores[0]}
	for key := range l.keys {
		_, err := c.read(r.key(key))
		errs = append(errs, err)
	}
	return r.history, errors.Join(errs...)
}

// recorder is what the clients share: the history, and every grant that any of
// them ever had.
type recorder struct {
	load
	clock  atomic.Int64
	claims atomic.Int64

	mu      sync.Mutex
	history []porcupine.Operation
	grants  []fenced.Grant
}

func (r *recorder) key(i int) string { return fmt.Sprint(r.prefix, i) }

// client makes calls.
type client struct {
	*recorder
	id     int
	s      *fencedsql.Store
	random *rand.Rand
	writes int
}

// call makes one call at random.
func (c *client) call() error {
	key := c.key(c.random.IntN(c.keys))
	switch n := c.random.IntN(10); {
	case n < 3:
		return c.claim(key, c.waits && n == 0)
	case n < 7:
		return c.use()
	case n == 7:
		return c.sweep()
	case n == 8:
		seen, err := c.read(key)
		if err != nil {
			return err
		}
		_, err = c.do(model.Call{Op: model.Reclaim, Key: key, Seen: seen.Generation}, fenced.Grant{}, false)
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
	call := model.Call{Op: model.TryAcquire, Key: key, Holder: fmt.Sprintf("c%d/%d", c.id, c.claims.Add(1)), Lease: long}
	if c.random.IntN(3) == 0 {
		call.Lease = short
	}
	_, err := c.do(call, fenced.Grant{}, wait)
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
		g.Version = max(seen.Version, g.Version) // a read that was lost has none
	}
	call := model.Call{Key: g.Key, Grant: model.Grant{View: view(g.Record), Issued: true}}
	switch c.random.IntN(6) {
	case 0:
		call.Op = model.Delete
	case 1:
		call.Op, call.Lease = model.Renew, long
	case 2, 3:
		call.Op = model.Release
	default:
		call.Op, call.Value = model.Commit, c.value()
	}
	_, err := c.do(call, g, false)
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
	_, err = c.do(call, fenced.Grant{}, false)
	return err
}

func (c *client) read(key string) (model.View, error) {
	return c.do(model.Call{Op: model.Read, Key: key}, fenced.Grant{}, false)
}

// sweep is recorded as one call for each record of this history that it took: it
// looks at records one by one. One that is lost may have taken any.
func (c *client) sweep() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	called := c.clock.Add(1)
	ended, err := c.s.ReclaimExpired(ctx, 0)
	returned := c.clock.Add(1)
	for _, g := range ended {
		if !strings.HasPrefix(g.Key, c.prefix) {
			continue // left over from a history before
		}
		c.note(called, model.Call{Op: model.Sweep, Key: g.Key}, outcome{Outcome: model.Outcome{View: view(g.Record)}}, returned)
	}
	if errors.Is(err, fenced.ErrUncertain) {
		for i := range c.keys {
			c.note(called, model.Call{Op: model.Sweep, Key: c.key(i)}, outcome{lost: true}, open)
		}
	}
	return unexpected(err)
}

// do makes a call and records it, and returns what it returned. A claim that
// waits gives up soon.
func (c *client) do(call model.Call, g fenced.Grant, wait bool) (model.View, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	if wait {
		ctx, cancel = context.WithTimeout(context.Background(), 5*time.Millisecond)
	}
	defer cancel()
	called := c.clock.Add(1)
	r, next, err := c.make(ctx, call, g, wait)
	returned := c.clock.Add(1)

	got := outcome{Outcome: model.Outcome{Refused: model.ReasonsOf(err)}}
	var refusal *fenced.ConflictError
	switch {
	case err == nil:
		got.View = view(r)
	case errors.As(err, &refusal) && got.Refused&^refusals == 0:
		got.View, got.Ended = view(refusal.Current), refusal.Ended
	case errors.Is(err, fenced.ErrUncertain), wait && errors.Is(err, context.DeadlineExceeded):
		got.lost, returned = true, open
	default:
		return got.View, unexpected(err) // it says that nothing happened
	}
	if got.lost && (c.forget || call.Op == model.Read) {
		return got.View, nil
	}
	c.note(called, call, got, returned)
	if got.lost && call.Op == model.TryAcquire {
		c.note(called, model.Call{Op: drop, Key: call.Key, Holder: call.Holder}, outcome{lost: true}, open)
	}
	if err == nil && next.Generation != 0 {
		next.Value = nil
		c.mu.Lock()
		c.grants = append(c.grants, next)
		c.mu.Unlock()
	}
	return got.View, nil
}

// unexpected is err unless it is of a connection, which may break.
func unexpected(err error) error {
	if model.ReasonsOf(err) == model.Other {
		return nil
	}
	return err
}

func (c *client) make(ctx context.Context, call model.Call, g fenced.Grant, wait bool) (r fenced.Record, next fenced.Grant, err error) {
	switch call.Op {
	case model.Read:
		r, err = c.s.Read(ctx, call.Key)
	case model.TryAcquire:
		claim := c.s.TryAcquire
		if wait {
			claim = c.s.Acquire
		}
		next, err = claim(ctx, call.Key, call.Holder, call.Lease)
		r = next.Record
	case model.Renew:
		next, err = c.s.Renew(ctx, g, call.Lease)
		r = next.Record
	case model.Commit:
		next, err = c.s.Commit(ctx, g, call.Value)
		r = next.Record
	case model.Delete:
		next, err = c.s.Delete(ctx, g)
		r = next.Record
	case model.Release:
		err = c.s.Release(ctx, g)
	case model.Reclaim:
		r, err = c.s.Reclaim(ctx, call.Key, call.Seen)
	case model.CompareAndSwap:
		r, err = c.s.CompareAndSwap(ctx, call.Key, call.Version, call.Value)
	case model.CompareAndDelete:
		r, err = c.s.CompareAndDelete(ctx, call.Key, call.Version)
	default:
		err = fmt.Errorf("no such call: %v", call)
	}
	return r, next, err
}

func (c *client) note(called int64, call model.Call, got outcome, returned int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, porcupine.Operation{ClientId: c.id, Input: call, Call: called, Output: got, Return: returned})
}
