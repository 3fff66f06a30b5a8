package fleet

import (
	"context"
	"io"

	"github.com/fencedgo/fenced"
)

// Memory is the backend that needs no database.
const Memory = "memory"

// Backend is a store that a fleet can work on. One that also has the Stats of
// [fenced.Store] gets them into the report.
type Backend interface {
	fenced.Backend
	fenced.Waiter
	fenced.Watcher
	io.Closer
}

// Place is where the stores of a program are.
type Place struct {
	Name string // for the report
	// Open returns an empty store, which the caller closes.
	Open func(context.Context) (Backend, error)
}

// InMemory is the memory of this process.
func InMemory() Place {
	return Place{
		Name: "the memory of this process",
		Open: func(context.Context) (Backend, error) { return fenced.NewStore(fenced.Options{}), nil },
	}
}
