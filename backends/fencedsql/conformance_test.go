package fencedsql_test

import (
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/fencedtest"
)

func TestConformance(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		fencedtest.Run(t, fencedtest.Harness{
			Open: func(t *testing.T) fenced.Backend {
				s, _ := d.store(t, fencedsql.Options{Poll: 20 * time.Millisecond})
				return s
			},
			Tick: 100 * time.Millisecond,
		})
	})
}
