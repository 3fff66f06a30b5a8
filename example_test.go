package fenced_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/fencedgo/fenced"
)

// A writer stalls past its lease, another takes over and decides that no write
// applies, and the first one wakes. Nobody has written in between, so that a
// version check would let it pass.
func Example() {
	ctx := context.Background()
	store := fenced.NewStore(fenced.Options{})

	a, _ := store.Acquire(ctx, "orders/4412", "A", 10*time.Second)
	store.Reclaim(ctx, a.Key, a.Generation) // A has stalled, says the supervisor
	b, _ := store.Acquire(ctx, "orders/4412", "B", 10*time.Second)

	_, err := store.Commit(ctx, a, []byte("paid")) // A wakes
	fmt.Println("A refused:", errors.Is(err, fenced.ErrStaleReadGeneration))

	b, err = store.Commit(ctx, b, []byte("cancelled"))
	fmt.Printf("B lands: %v, version %d, generation %d\n", err == nil, b.Version, b.Generation)
	// Output:
	// A refused: true
	// B lands: true, version 1, generation 2
}

// A commit returns the grant at the new version, so commits chain. The old value
// of the grant is then behind, but not stale.
func ExampleStore_Commit() {
	ctx := context.Background()
	store := fenced.NewStore(fenced.Options{})
	first, _ := store.Acquire(ctx, "orders/4412", "A", time.Minute)

	second, err := store.Commit(ctx, first, []byte("priced"))
	fmt.Println(second.Version, err)
	third, err := store.Commit(ctx, second, []byte("shipped"))
	fmt.Println(third.Version, err)

	_, err = store.Commit(ctx, first, []byte("priced"))
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// 2 <nil>
	// fenced: commit of "orders/4412" by "A" refused: version conflict (presented version 0 generation 1, current version 2 generation 1, held by "A")
}

// The optimistic path: read, derive, swap, and look again if the record moved.
func ExampleStore_CompareAndSwap() {
	ctx := context.Background()
	store := fenced.NewStore(fenced.Options{})
	store.CompareAndSwap(ctx, "stock/17", 0, []byte("3")) // 0: must not exist

	read, _ := store.Read(ctx, "stock/17")
	store.CompareAndSwap(ctx, "stock/17", read.Version, []byte("2")) // another was faster

	_, err := store.CompareAndSwap(ctx, "stock/17", read.Version, []byte("4"))
	fmt.Println("moved:", errors.Is(err, fenced.ErrVersionConflict))

	read, _ = store.Read(ctx, "stock/17")
	written, err := store.CompareAndSwap(ctx, "stock/17", read.Version, append(read.Value, '+'))
	fmt.Printf("%s at version %d, %v\n", written.Value, written.Version, err)

	store.Acquire(ctx, "stock/17", "A", time.Minute)
	_, err = store.CompareAndSwap(ctx, "stock/17", written.Version, []byte("0"))
	fmt.Println("held:", errors.Is(err, fenced.ErrGrantHeld))
	// Output:
	// moved: true
	// 2+ at version 3, <nil>
	// held: true
}

// A slow call is cancelled as soon as the grant ends, with the reason.
func ExampleStore_Context() {
	store := fenced.NewStore(fenced.Options{})
	grant, _ := store.Acquire(context.Background(), "orders/4412", "A", time.Minute)

	ctx, cancel := store.Context(context.Background(), grant)
	defer cancel()
	store.Reclaim(ctx, grant.Key, grant.Generation)

	<-ctx.Done() // a request under ctx to a vendor ends here
	var conflict *fenced.ConflictError
	fmt.Println(errors.As(context.Cause(ctx), &conflict), conflict.Ended)
	// Output:
	// true reclaimed
}

// A worker claims, works under a context that ends with the grant, commits and
// releases.
func ExampleWorker_Do() {
	ctx := context.Background()
	store := fenced.NewStore(fenced.Options{})
	worker := fenced.Worker{
		Backend: store,
		Name:    "worker-1",
		Lease:   10 * time.Second,
		Refused: func(_ context.Context, r fenced.Refusal) {
			fmt.Printf("%s came too late: %s\n", r.Grant.Key, r.Value)
		},
	}
	enrich := func(ctx context.Context, g fenced.Grant) ([]byte, error) {
		if string(g.Value) == "enriched" {
			return nil, fenced.ErrSkip // decided that no write applies
		}
		return []byte("enriched"), ctx.Err()
	}

	grant, err := worker.Do(ctx, "orders/4412", enrich)
	fmt.Println(grant.Version, err)
	grant, err = worker.Do(ctx, "orders/4412", enrich)
	fmt.Println(grant.Version, err)

	_, err = worker.Do(ctx, "orders/4413", func(_ context.Context, g fenced.Grant) ([]byte, error) {
		store.Reclaim(ctx, g.Key, g.Generation) // it has hung, and is taken off the record
		return []byte("enriched"), nil
	})
	fmt.Println(errors.Is(err, fenced.ErrStaleReadGeneration))
	// Output:
	// 1 <nil>
	// 1 <nil>
	// orders/4413 came too late: enriched
	// true
}

// A supervisor reclaims what dead workers hold.
func ExampleSupervisor() {
	ctx, cancel := context.WithCancel(context.Background())
	store := fenced.NewStore(fenced.Options{})
	store.Acquire(ctx, "orders/4412", "dead", time.Nanosecond)

	supervisor := fenced.Supervisor{Backend: store, Every: time.Millisecond, Reclaimed: func(g fenced.Grant) {
		fmt.Printf("%s taken from %s\n", g.Key, g.Holder)
		cancel()
	}}
	fmt.Println(supervisor.Run(ctx))
	// Output:
	// orders/4412 taken from dead
	// context canceled
}

// A grant travels as text, in a header, say. What comes back is judged like the
// grant itself.
func ExampleParseToken() {
	ctx := context.Background()
	store := fenced.NewStore(fenced.Options{})
	grant, _ := store.Acquire(ctx, "orders/4412", "A", time.Minute)

	header := grant.Token()
	received, err := fenced.ParseToken(header)
	fmt.Println(received.Key, received.Version, received.Generation, err)
	received, err = store.Commit(ctx, received, []byte("paid"))
	fmt.Println(received.Version, err)

	_, err = fenced.ParseToken(header[1:])
	fmt.Println("cut:", errors.Is(err, fenced.ErrInvalid))
	// Output:
	// orders/4412 0 1 <nil>
	// 1 <nil>
	// cut: true
}

// The library never logs. With log/slog it is one line.
func ExampleOptions_onEvent() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	store := fenced.NewStore(fenced.Options{OnEvent: func(e fenced.Event) {
		log.Info(e.Kind.String(), "key", e.Key, "holder", e.Holder, "version", e.Version, "generation", e.Generation, "refused", e.Err != nil)
	}})

	ctx := context.Background()
	grant, _ := store.Acquire(ctx, "orders/4412", "A", time.Minute)
	store.Commit(ctx, grant, []byte("paid"))
	store.Release(ctx, grant)
	store.Commit(ctx, grant, []byte("paid")) // delivered once more
	// Output:
	// level=INFO msg=acquire key=orders/4412 holder=A version=0 generation=1 refused=false
	// level=INFO msg=commit key=orders/4412 holder=A version=1 generation=1 refused=false
	// level=INFO msg=release key=orders/4412 holder=A version=0 generation=1 refused=false
	// level=INFO msg=commit key=orders/4412 holder=A version=0 generation=1 refused=true
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// A refusal says who came with what, and what stood against it.
func ExampleConflictError() {
	ctx := context.Background()
	store := fenced.NewStore(fenced.Options{})
	a, _ := store.Acquire(ctx, "orders/4412", "A", time.Minute)
	store.Reclaim(ctx, a.Key, a.Generation)
	b, _ := store.Acquire(ctx, "orders/4412", "B", time.Minute)
	store.Commit(ctx, b, []byte("cancelled"))

	_, err := store.Commit(ctx, a, []byte("paid"))
	var conflict *fenced.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println(conflict.Op, conflict.Key)
		fmt.Println("presented", conflict.Presented.Version, conflict.Presented.Generation)
		fmt.Println("current  ", conflict.Current.Version, conflict.Current.Generation, "held by", conflict.Current.Holder)
		fmt.Println("grant was", conflict.Ended)
	}
	// Told only the first, a zombie would re-read and try again.
	fmt.Println(errors.Is(err, fenced.ErrVersionConflict), errors.Is(err, fenced.ErrStaleReadGeneration))
	// Output:
	// commit orders/4412
	// presented 0 1
	// current   1 2 held by B
	// grant was reclaimed
	// true true
}

// A pool of workers over one queue: each runs the keys that it takes from it.
func ExampleWorker_Run() {
	store := fenced.NewStore(fenced.Options{})
	queue := make(chan string)
	keys := func(yield func(string) bool) {
		for key := range queue {
			if !yield(key) {
				return
			}
		}
	}
	var pool sync.WaitGroup
	for i := range 3 {
		pool.Go(func() {
			w := fenced.Worker{Backend: store, Name: fmt.Sprint("w", i)}
			err := w.Run(context.Background(), keys, func(_ context.Context, g fenced.Grant) ([]byte, error) {
				return []byte("done: " + g.Key), nil
			})
			if err != nil {
				fmt.Println(err)
			}
		})
	}
	for i := range 10 {
		queue <- fmt.Sprint("orders/", i)
	}
	close(queue)
	pool.Wait()
	fmt.Println(store.Stats().Commits, "orders done")
	// Output: 10 orders done
}
