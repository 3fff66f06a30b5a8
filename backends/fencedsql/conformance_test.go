package fencedsql_test

import (
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/fencedtest"
)

// skipped is what a store in a database cannot do, with the reasons.
var skipped = map[string]string{
	"NoStaleApply/counted": noStats,
	"NoClock/overrun":      noStats,
	"OneRule/context": "the context of a grant ends with its lease, or a holder that is cut off would not learn in time; " +
		"the check watches a lapsed grant. What else it says is in TestContext",
}

const noStats = "what one process counts is not what happened to the records; the database is asked for that"

func TestConformance(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Parallel() // it waits more than it works
		fencedtest.Run(t, fencedtest.Harness{
			Open: func(t *testing.T) fenced.Backend {
				s, _ := d.store(t, fencedsql.Options{Poll: 20 * time.Millisecond})
				return s
			},
			Tick: 100 * time.Millisecond,
			Skip: skipped,
		})
	})
}
