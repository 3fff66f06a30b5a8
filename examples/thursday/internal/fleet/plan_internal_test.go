package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlanFollowsFromTheSeed(t *testing.T) {
	orders, err := readOrders()
	require.NoError(t, err)
	first, again, other := newPlan(orders, .1, 7), newPlan(orders, .1, 7), newPlan(orders, .1, 8)
	require.Equal(t, first, again)
	require.NotEqual(t, first, other)
}

func TestPlanHasSomeOfEachKind(t *testing.T) {
	orders, err := readOrders()
	require.NoError(t, err)
	for _, n := range []int{20, 40, 300} {
		for seed := range uint64(50) {
			kinds := make(map[news]int)
			hung, stalled := 0, 0
			p := newPlan(orders[:n], .1, seed)
			for _, o := range orders[:n] {
				f := p[o.Number]
				if f.stall == 0 {
					require.Equal(t, noNews, f.news)
					continue
				}
				stalled++
				require.NotEqual(t, cancelled, o.State)
				require.GreaterOrEqual(t, f.stall, minStall)
				if f.hangs {
					hung++
				} else {
					kinds[f.news]++
				}
			}
			require.Equal(t, max(fewest, n/10), stalled)
			require.Positive(t, hung)
			require.Positive(t, kinds[alert])
			require.Positive(t, kinds[handOver])
		}
	}
}

func TestOrdersAreRealistic(t *testing.T) {
	orders, err := readOrders()
	require.NoError(t, err)
	seen := make(map[string]bool)
	for _, o := range orders {
		require.False(t, seen[o.Number], "order %s is there once", o.Number)
		seen[o.Number] = true
		require.Contains(t, warehouses, o.Country, "order %s", o.Number)
		require.Contains(t, []string{"paid", "invoiced", cancelled}, o.State, "order %s", o.Number)
		require.NotEmpty(t, o.Customer)
	}
}
