package fleet

import (
	"context"

	"github.com/fencedgo/fenced"
)

// fence keeps the records in the store in which the orders are claimed, and
// leaves the write to the worker, which commits under the claim.
type fence struct{ store *observed }

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

func (f fence) load(ctx context.Context, key, state string) error {
	_, err := f.store.CompareAndSwap(ctx, key, 0, []byte(state))
	return err
}

func (f fence) read(ctx context.Context, key string) (row, error) {
	r, err := f.store.Read(ctx, key)
	return row{state: string(r.Value), version: int(r.Version)}, err
}

func (f fence) refused() refusals { return f.store.refused() }
