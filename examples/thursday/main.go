// Thursday is a fleet of workers that enrich orders with what a vendor says of
// them, on a day when some of the vendor's calls stall. A supervisor gives up
// the workers behind these calls, others take over, and then the first ones come
// back, with an answer that was right when they asked. What becomes of the
// records depends on what guards them; try them all:
//
//	go run ./examples/thursday -compare
//
// Databases work too. Their drivers are in a module of their own, in the folder
// sql, which this program builds and runs where -backend asks for one.
package main

import (
	"context"
	"io"

	"github.com/fencedgo/fenced/examples/thursday/internal/fleet"
)

func main() { fleet.Main(run) }

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, code := fleet.Parse(args, stdout, stderr)
	switch {
	case opts == nil:
		return code
	case opts.Backend != fleet.Memory:
		return handOver(ctx, nested(), args, stdout, stderr)
	default:
		return opts.Play(ctx, fleet.InMemory(), stdout, stderr)
	}
}
