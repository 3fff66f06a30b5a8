package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencedgo/fenced"
)

// config is what all runs of a comparison have in common.
type config struct {
	orders  []order
	workers int
	stall   float64
	seed    uint64
}

const (
	maxWorkers = 64
	every      = lease / 5 // from one sweep of the supervisor to the next
	backOff    = lease / 5 // of a worker that was kept away from an order
	tick       = 25 * time.Millisecond
	patience   = 10 * lease    // after this long without one settled, orders that wait are stuck
	despair    = 20 * patience // and after this long all are, as the store does not work
)

// fleet is the workers on their orders. Who owns an order is decided by its
// claim in the store, under every mechanism: the lease lapses, the supervisor
// reclaims, the queue hands the order out again, and a replacement is hired for
// the worker, which is presumed dead.
type fleet struct {
	mechanism mechanism
	store     *observed
	vendor    *vendor
	client    *client
	queue     *queue
	ledger    *ledger
	orders    map[string]order // by key
	start     time.Time

	staff  sync.WaitGroup
	hired  atomic.Int64
	busy   atomic.Int64 // workers at an order
	mu     sync.Mutex
	gone   map[string]bool  // workers that have been replaced
	missed []fenced.Refusal // results that came too late
}

// openFleet returns a fleet with all orders in the queue and nobody at work.
func openFleet(ctx context.Context, cfg config, place Place, name string) (_ *fleet, err error) {
	f := &fleet{
		ledger: newLedger(),
		orders: make(map[string]order, len(cfg.orders)),
		gone:   make(map[string]bool),
	}
	store, err := place.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = store.Close()
		}
	}()
	f.store = &observed{Backend: store, ledger: f.ledger}
	f.mechanism = openMechanism(name, f.store)
	keys := make([]string, len(cfg.orders))
	for i, o := range cfg.orders {
		keys[i] = "orders/" + o.Number
		f.orders[keys[i]] = o
		if err := f.mechanism.load(ctx, keys[i], o.State); err != nil {
			return nil, err
		}
	}
	f.queue = newQueue(keys)
	if f.vendor, err = openVendor(newPlan(cfg.orders, cfg.stall, cfg.seed)); err != nil {
		return nil, err
	}
	f.client = newClient(f.vendor.url)
	f.start = time.Now()
	f.ledger.progress = f.start
	return f, nil
}

// runFleet lets a fleet work until every order is settled and every late worker
// is back, or nothing moves any more, and returns the outcome. It calls show
// with every tick.
func runFleet(ctx context.Context, cfg config, place Place, name string, show func(snapshot)) (_ *outcome, err error) {
	defer func() {
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted: %w", ctx.Err())
		}
	}()
	f, err := openFleet(ctx, cfg, place, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.store.Close()) }()
	working, stop := context.WithCancel(ctx)
	for range cfg.workers {
		f.hire(working)
	}
	f.staff.Go(func() { f.supervise(working) })
	t := time.NewTicker(tick)
	defer t.Stop()
	for !f.isOver() && ctx.Err() == nil {
		show(f.snapshot(name))
		<-t.C
	}
	show(f.snapshot(name))
	stop()
	f.vendor.close()
	f.staff.Wait()
	f.client.close()
	return f.audit(ctx, name)
}

// hire puts one more worker to work, under a name of its own.
func (f *fleet) hire(ctx context.Context) {
	w := &fenced.Worker{
		Backend: f.store,
		Name:    fmt.Sprintf("w%d", f.hired.Add(1)),
		Lease:   lease,
		MaxHold: lease, // whoever takes longer than this is taken for hung
		Refused: f.refused,
	}
	f.staff.Go(func() {
		for !f.isGone(w.Name) {
			key, ok := f.queue.take(ctx)
			if !ok {
				return
			}
			f.handle(ctx, w, key)
		}
	})
}

// supervise reclaims what its workers do not come back to.
func (f *fleet) supervise(ctx context.Context) {
	s := &fenced.Supervisor{Backend: f.store, Every: every, Reclaimed: func(g fenced.Grant) {
		f.mu.Lock()
		f.gone[g.Holder] = true
		f.mu.Unlock()
		f.queue.reclaimed <- g.Key
		f.hire(ctx)
	}}
	_ = s.Run(ctx) // the error is that of ctx
}

// handle works on one order.
func (f *fleet) handle(ctx context.Context, w *fenced.Worker, key string) {
	if f.ledger.isSettled(key) {
		return
	}
	var mine claim
	f.busy.Add(1)
	_, err := w.Do(ctx, key, func(_ context.Context, g fenced.Grant) ([]byte, error) {
		mine = claimOf(g)
		defer f.ledger.leave(mine)
		return f.mechanism.work(g, func(seen string) (decision, error) { return f.decide(g, seen) })
	})
	f.busy.Add(-1)
	if err == nil {
		f.ledger.settle(mine)
		return
	}
	if _, lost := f.ledger.lostAt(mine); lost {
		return // the queue has handed the order out again
	}
	if errors.Is(err, errBusy) {
		f.ledger.wait(key)
	}
	select {
	case <-ctx.Done():
	case <-time.After(backOff):
		f.queue.rest <- key
	}
}

// decide asks the vendor and takes the decision down.
func (f *fleet) decide(g fenced.Grant, seen string) (decision, error) {
	a, err := f.client.screen(f.orders[g.Key])
	if err != nil {
		return decision{}, err
	}
	d := decision{state: a.State, by: claimOf(g)}
	if a.State == "" {
		d.state, d.leave = seen, true
	}
	f.ledger.decide(d)
	return d, nil
}

// refused keeps a result that came too late, for someone to look at.
func (f *fleet) refused(_ context.Context, r fenced.Refusal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.missed = append(f.missed, r)
}

func (f *fleet) isGone(worker string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gone[worker]
}

// isOver reports whether nothing is left to happen.
func (f *fleet) isOver() bool {
	if f.ledger.tally().idle > despair {
		return true
	}
	hung := f.vendor.hung.Load() // before busy: a call that hangs from now on counts as one that will return
	if f.busy.Load() > hung {
		return false
	}
	t := f.ledger.tally()
	return t.settled == len(f.orders) ||
		t.settled+t.waiting == len(f.orders) && t.idle > patience
}

// snapshot is what a progress line shows.
type snapshot struct {
	mechanism              string
	settled, of            int
	stalled, lost, refused int
	took                   time.Duration
}

func (f *fleet) snapshot(name string) snapshot {
	t := f.ledger.tally()
	return snapshot{
		mechanism: name,
		settled:   t.settled,
		of:        len(f.orders),
		stalled:   int(f.vendor.stalled.Load() + f.vendor.hung.Load()),
		lost:      t.lost,
		refused:   f.mechanism.refused().sum(),
		took:      time.Since(f.start),
	}
}
