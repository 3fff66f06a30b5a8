package linear_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/database"
	"github.com/fencedgo/fenced/tests/effort"
)

// TestServedOnce has claimants of one Store wait for a record whose leases lapse
// at once, beside others who do not wait and so claim for them. Each claim is
// granted one generation, and none is granted that nobody gets.
func TestServedOnce(t *testing.T) {
	database.Each(t, func(t *testing.T, k database.Kind) {
		s := k.Store(t, k.Open(t, k.Fresh(t)), fencedsql.Options{Poll: time.Millisecond})
		var mu sync.Mutex
		got, highest := 0, fenced.Generation(0)
		errs := make(chan error)
		claims := []func(ctx context.Context, key, holder string, lease time.Duration) (fenced.Grant, error){
			s.Acquire, s.Acquire, s.TryAcquire, s.TryAcquire, s.TryAcquire, s.TryAcquire,
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for _, claim := range claims {
			go func() {
				for range effort.Of(200) {
					g, err := claim(ctx, "r", "w", time.Millisecond)
					if errors.Is(err, fenced.ErrGrantHeld) || errors.Is(err, fencedsql.ErrRetry) {
						continue
					}
					if err != nil {
						errs <- err
						return
					}
					mu.Lock()
					got++
					highest = max(highest, g.Generation)
					mu.Unlock()
				}
				errs <- nil
			}()
		}
		for range claims {
			select {
			case err := <-errs:
				require.NoError(t, err)
			case <-time.After(40 * time.Second):
				t.Fatal("the line of claimants is stuck")
			}
		}
		require.Equal(t, highest, fenced.Generation(got), "generations that nobody was told of")
	})
}
