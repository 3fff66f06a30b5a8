// Sql is the program in the folder above with the drivers of its databases:
//
//	go run . -backend sqlite
//	go run . -backend postgres://... -compare
//
// It is a module of its own, for the drivers not to become requirements of the
// library.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/fencedgo/fenced/examples/thursday/internal/fleet"
)

func main() { fleet.Main(run) }

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	opts, code := fleet.Parse(args, stdout, stderr)
	if opts == nil {
		return code
	}
	place, remove, err := find(opts.Backend)
	if err != nil {
		fmt.Fprintln(stderr, "thursday:", err)
		return fleet.ExitFailed
	}
	code = opts.Play(ctx, place, stdout, stderr)
	if err := remove(); err != nil {
		fmt.Fprintln(stderr, "thursday:", err)
		return fleet.ExitFailed
	}
	return code
}

// find returns the place that backend names, and what removes it.
func find(backend string) (place fleet.Place, remove func() error, err error) {
	switch backend {
	case fleet.Memory:
		return fleet.InMemory(), func() error { return nil }, nil
	case "sqlite":
		return inSQLite()
	default:
		place, err := inPostgres(backend)
		return place, func() error { return nil }, err
	}
}
