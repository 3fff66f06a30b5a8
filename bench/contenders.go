package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/bench/internal/floor"
	"github.com/fencedgo/fenced/bench/internal/harness"
)

// contender is one way to do an operation. Any two can be set against each
// other in a row.
type contender struct {
	name string
	open func(n int) run // sets up a store of n records
}

// run does the operation once for each of the records, by number. The loop is
// the contender's own, so that no call through a pointer is measured along.
type run func(order []int32)

const lease = time.Hour

var (
	ctx   = context.Background()
	value = []byte("{\"order\":4412,\"state\":\"enriched\",\"vendor\":\"acme\",\"score\":0.973}\n")
)

// seen is what a writer without a grant carries of a record.
type seen struct {
	key     string
	version uint64
}

func unseen(n int) []seen {
	records := make([]seen, n)
	for i := range records {
		records[i].key = harness.Key(i)
	}
	return records
}

// floorOf returns a floor of n records, each written once. The writers of all
// that follows come with keys of their own, as they do in life, where a key
// arrives in a request or a row and is not the string that the map has stored.
func floorOf(n int) (*floor.Floor, []seen) {
	f, records := floor.New(), unseen(n)
	for i := range records {
		write(f, &records[i], value)
		records[i].key = harness.Key(i)
	}
	return f, records
}

// write swaps r, whose version the writer carries.
func write(f *floor.Floor, r *seen, value []byte) {
	version, ok := f.Swap(r.key, r.version, value)
	if !ok {
		panic("floor: version conflict")
	}
	r.version = version
}

// storeOf returns a store of n records, each written once without a grant.
func storeOf(n int) (*fenced.Store, []seen) {
	s, records := fenced.NewStore(fenced.Options{}), unseen(n)
	for i := range records {
		swap(s, &records[i], value)
		records[i].key = harness.Key(i)
	}
	return s, records
}

func swap(s *fenced.Store, r *seen, value []byte) {
	v, err := s.CompareAndSwap(ctx, r.key, fenced.Version(r.version), value)
	if err != nil {
		panic(err)
	}
	r.version = uint64(v.Version)
}

// claimed returns a store of n records, each written once and claimed, and the
// grants as their holders carry them.
func claimed(n int) (*fenced.Store, []fenced.Grant) {
	s, records := storeOf(n)
	grants := make([]fenced.Grant, n)
	for i, r := range records {
		grants[i] = harness.Must(s.TryAcquire(ctx, r.key, "worker-1", lease))
	}
	return s, grants
}

var floorSwap = contender{"floor: compare-and-swap", func(n int) run {
	f, records := floorOf(n)
	return func(order []int32) {
		for _, i := range order {
			write(f, &records[i], value)
		}
	}
}}

// floorOne swaps one record over and over, carried in a variable as a writer that
// has but one would. commitOne does the same under a grant.
var floorOne = contender{"floor: compare-and-swap of one record", func(n int) run {
	f, records := floorOf(n)
	return func(order []int32) {
		r := records[order[0]]
		for range order {
			write(f, &r, value)
		}
		records[order[0]] = r
	}
}}

var floorRead = contender{"floor: read", func(n int) run {
	f, records := floorOf(n)
	return func(order []int32) {
		for _, i := range order {
			if v, _ := f.Read(records[i].key); len(v) != len(value) {
				panic("floor: wrong value")
			}
		}
	}
}}

var floorGrow = contender{"floor: compare-and-swap of a value that outgrows its space", func(n int) run {
	f, records := floorOf(n)
	size := growing()
	return func(order []int32) {
		v := size()
		for _, i := range order {
			write(f, &records[i], v)
		}
	}
}}

var commit = contender{"commit", func(n int) run {
	s, grants := claimed(n)
	return func(order []int32) {
		for _, i := range order {
			g, err := s.Commit(ctx, grants[i], value)
			if err != nil {
				panic(err)
			}
			grants[i] = g
		}
	}
}}

var commitOne = contender{"commit to one record", func(n int) run {
	s, grants := claimed(n)
	return func(order []int32) {
		g := grants[order[0]]
		for range order {
			var err error
			if g, err = s.Commit(ctx, g, value); err != nil {
				panic(err)
			}
		}
		grants[order[0]] = g
	}
}}

var commitGrow = contender{"commit of a value that outgrows its space", func(n int) run {
	s, grants := claimed(n)
	size := growing()
	return func(order []int32) {
		v := size()
		for _, i := range order {
			grants[i] = harness.Must(s.Commit(ctx, grants[i], v))
		}
	}
}}

// growing returns a function that returns a longer value each time, as far as
// the largest, and then begins anew.
func growing() func() []byte {
	const largest = 4096
	v, n := make([]byte, largest), len(value)
	return func() []byte {
		if n++; n > largest {
			n = len(value)
		}
		return v[:n]
	}
}

var casByKey = contender{"compare-and-swap", func(n int) run {
	s, records := storeOf(n)
	return func(order []int32) {
		for _, i := range order {
			swap(s, &records[i], value)
		}
	}
}}

var read = contender{"read", func(n int) run {
	s, records := storeOf(n)
	return func(order []int32) {
		for _, i := range order {
			r, err := s.Read(ctx, records[i].key)
			if err != nil || len(r.Value) != len(value) {
				panic(err)
			}
		}
	}
}}

var cycle = contender{"claim + commit + release", func(n int) run {
	s, records := storeOf(n)
	return func(order []int32) {
		for _, i := range order {
			g, err := s.TryAcquire(ctx, records[i].key, "worker-1", lease)
			if err != nil {
				panic(err)
			}
			if g, err = s.Commit(ctx, g, value); err != nil {
				panic(err)
			}
			if err = s.Release(ctx, g); err != nil {
				panic(err)
			}
		}
	}
}}

// commitStale is a zombie's commit: the version passes, the grant has ended and
// another holds the record.
var commitStale = contender{"commit under a grant that has ended", func(n int) run {
	s, grants := claimed(n)
	for _, g := range grants {
		harness.Must(s.Reclaim(ctx, g.Key, g.Generation))
		harness.Must(s.TryAcquire(ctx, g.Key, "worker-2", lease))
	}
	return refused(s, grants)
}}

var commitMoved = contender{"commit under an old version", func(n int) run {
	s, grants := claimed(n)
	for _, g := range grants {
		harness.Must(s.Commit(ctx, g, value))
	}
	return refused(s, grants)
}}

func refused(s *fenced.Store, grants []fenced.Grant) run {
	return func(order []int32) {
		for _, i := range order {
			if _, err := s.Commit(ctx, grants[i], value); err == nil {
				panic("not refused")
			}
		}
	}
}

// claimBeside claims and releases n records of a store that has as many more as
// there are records, of which some are held under leases that end sooner and
// later than the new one.
func claimBeside(live, records int) contender {
	name := fmt.Sprintf("claim + release beside %s live leases", harness.Short(live))
	return contender{name, func(n int) run {
		s, _ := leased(live, records)
		free := make([]string, n)
		for i := range free {
			free[i] = fmt.Sprintf("free/%011d", i)
			harness.Must(s.CompareAndSwap(ctx, free[i], 0, value))
		}
		return func(order []int32) {
			for _, i := range order {
				g, err := s.TryAcquire(ctx, free[i], "worker-1", lease)
				if err != nil {
					panic(err)
				}
				if err := s.Release(ctx, g); err != nil {
					panic(err)
				}
			}
		}
	}}
}

// leased returns a store with the given number of records, of which live ones
// are held.
func leased(live, n int) (*fenced.Store, []seen) {
	s, records := storeOf(n)
	for _, r := range records[:live] {
		harness.Must(s.TryAcquire(ctx, r.key, "worker-1", lease/2+rand.N(lease)))
	}
	return s, records
}

// handOver passes on a record that has no value yet: the semaphore it is set
// against carries none, and cycle pays for the copy that a claim returns.
var handOver = contender{"hand-over: fenced", func(n int) run {
	s, _ := storeOf(n)
	return func(order []int32) {
		k := fmt.Sprintf("held/%011d", order[0])
		first := harness.Must(s.Acquire(ctx, k, "worker-0", lease))
		harness.PassOn(len(order), func() { harness.Must(0, s.Release(ctx, first)) }, func() {
			g, err := s.Acquire(ctx, k, "worker-1", lease)
			if err != nil {
				panic(err)
			}
			if err := s.Release(ctx, g); err != nil {
				panic(err)
			}
		})
	}
}}

var handOverSemaphore = contender{"hand-over: golang.org/x/sync/semaphore", func(int) run {
	s := semaphore.NewWeighted(1)
	return func(order []int32) {
		harness.Must(0, s.Acquire(ctx, 1))
		harness.PassOn(len(order), func() { s.Release(1) }, func() {
			if err := s.Acquire(ctx, 1); err != nil {
				panic(err)
			}
			s.Release(1)
		})
	}
}}

// parallel does what c does from the given number of goroutines, each on
// records of its own.
func (c contender) parallel(goroutines int) contender {
	return contender{fmt.Sprintf("%s, %d goroutines", c.name, goroutines), func(n int) run {
		run := c.open(n)
		return func(order []int32) {
			var wg sync.WaitGroup
			for i := range goroutines {
				part := order[i*len(order)/goroutines : (i+1)*len(order)/goroutines]
				wg.Go(func() { run(part) })
			}
			wg.Wait()
		}
	}}
}
