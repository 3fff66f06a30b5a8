package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fencedgo/fenced"
)

// observed is a store that tells the ledger who owns what, and counts the
// commits it refuses. Not every store has events and Stats; what the callers
// are told is the same for all.
type observed struct {
	Backend
	ledger *ledger

	mu      sync.Mutex
	refusal refusals
}

func (o *observed) Acquire(ctx context.Context, key, holder string, lease time.Duration) (fenced.Grant, error) {
	g, err := o.Backend.Acquire(ctx, key, holder, lease)
	if err == nil {
		o.ledger.claim(g)
	}
	return g, err
}

func (o *observed) ReclaimExpired(ctx context.Context, limit int) ([]fenced.Grant, error) {
	ended, err := o.Backend.ReclaimExpired(ctx, limit)
	for _, g := range ended {
		o.ledger.lose(claimOf(g))
	}
	return ended, err
}

func (o *observed) Commit(ctx context.Context, g fenced.Grant, value []byte) (fenced.Grant, error) {
	next, err := o.Backend.Commit(ctx, g, value)
	var refused *fenced.ConflictError
	if errors.As(err, &refused) {
		o.mu.Lock()
		defer o.mu.Unlock()
		switch checkOf(err) {
		case byVersion:
			o.refusal.version++
		case byFence:
			o.refusal.fence++
		default:
			o.refusal.both++
		}
	}
	return next, err
}

func (o *observed) refused() refusals {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.refusal
}

// stats returns those of the store, nil if it keeps none.
func (o *observed) stats() *fenced.Stats {
	s, ok := o.Backend.(interface{ Stats() fenced.Stats })
	if !ok {
		return nil
	}
	stats := s.Stats()
	return &stats
}

// The checks that refuse a commit.
const (
	byVersion = "the version alone"
	byFence   = "the fence alone"
	byBoth    = "both version and fence"
)

// checkOf says which of them err, the refusal of a commit, comes from.
func checkOf(err error) string {
	switch {
	case !errors.Is(err, fenced.ErrVersionConflict):
		return byFence
	case errors.Is(err, fenced.ErrStaleReadGeneration):
		return byBoth
	default:
		return byVersion
	}
}
