package fencedtest_test

import (
	"testing"
	"testing/synctest"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/fencedtest"
)

func openStore(t *testing.T) fenced.Backend {
	s := fenced.NewStore(fenced.Options{})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestStore skips nothing: the in-process store is the yardstick.
func TestStore(t *testing.T) {
	fencedtest.Run(t, fencedtest.Harness{Open: openStore, Wrap: synctest.Test})
}
