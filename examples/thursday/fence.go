package main

import (
	"context"

	"github.com/fencedgo/fenced"
)

// fence keeps the records in the store in which the orders are claimed, and
// leaves the write to the worker, which commits under the claim.
type fence struct{ store *fenced.Store }

func (f fence) work(g fenced.Grant, decide decider) ([]byte, error) {
	d, err := decide(string(g.Value))
	if err != nil {
		return nil, err
	}
	if d.leave {
		return nil, fenced.ErrSkip
	}
	return []byte(d.state), nil
}

func (f fence) load(key, state string) {
	if _, err := f.store.CompareAndSwap(context.Background(), key, 0, []byte(state)); err != nil {
		panic(err) // the store is new and the key is good
	}
}

func (f fence) row(key string) row {
	r, err := f.store.Read(context.Background(), key)
	if err != nil {
		panic(err) // the store is open and the key is good
	}
	return row{state: string(r.Value), version: int(r.Version)}
}

func (f fence) refused() refusals {
	s := f.store.Stats()
	return refusals{version: int(s.RefusedVersion), fence: int(s.RefusedGeneration), both: int(s.RefusedBoth)}
}
