package fencedsql_test

import (
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/fencedtest"
)

// skipped is what a store in a database cannot do, with the reasons.
var skipped = map[string]string{
	"NoStaleApply/counted":   noStats,
	"NoClock/overrun":        noStats,
	"OneRule/context-lapsed": "the context of a grant ends with its lease, or a holder that is cut off would not learn in time",
}

const noStats = "what one process counts is not what happened to the records; the database is asked for that"

func TestConformance(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Parallel()      // it waits more than it works
		var dsns sync.Map // by Store
		open := func(t *testing.T, db *sql.DB, dsn string) fenced.Backend {
			s := d.storeIn(t, db, fencedsql.Options{Poll: 20 * time.Millisecond})
			dsns.Store(s, dsn)
			return s
		}
		fencedtest.Run(t, fencedtest.Harness{
			Open: func(t *testing.T) fenced.Backend {
				db, dsn := d.open(t)
				return open(t, db, dsn)
			},
			Reopen: func(t *testing.T, b fenced.Backend) fenced.Backend {
				require.NoError(t, b.(*fencedsql.Store).Close())
				dsn, _ := dsns.Load(b)
				return open(t, openDB(t, d.driver, dsn.(string)), dsn.(string))
			},
			Tick: 100 * time.Millisecond,
			Skip: skipped,
		})
	})
}
