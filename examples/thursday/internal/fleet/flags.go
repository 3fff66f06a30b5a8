package fleet

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

const usage = `usage: go run ./examples/thursday [flags]

A fleet of workers enriches orders by calls to a vendor, some of which stall
far past the lease of %v. At the end every record is checked against what the
last owner of the order had decided.

  -mechanism NAME  what guards the records (default fence):
                   %s
  -backend NAME    where the orders are claimed, and the fence keeps the records
                   (default %s): memory, sqlite for a temporary file, or the
                   postgres://... of a server, for temporary schemas in it; the
                   other mechanisms keep their records in memory
  -compare         run all mechanisms in turn on one seed, and print the table
  -workers N       workers at a time, 1 to %d (default %d)
  -orders N        orders to settle, 1 to %d (default all)
  -stall SHARE     share of the orders whose first call stalls, 0 to 1 (default
                   %v); of five, four stall for 4 to 8 leases, and one for good
  -seed N          which calls stall, and for how long (default %d)

The exit code is 0 if the run went as expected, 1 if a record is wrong or stuck
under the fence or the run broke off, and 2 if a flag is wrong.
`

// The defaults of the flags.
const (
	defaultWorkers = 8
	defaultStall   = 0.1
	defaultSeed    = 1
)

// Options is what the flags say.
type Options struct {
	Backend string

	config
	mechanisms []string
	isCompare  bool
}

// Parse returns what args say, or nil and the exit code where that is all: after
// a call for help, or a complaint.
func Parse(args []string, stdout, stderr io.Writer) (*Options, int) {
	orders, err := readOrders()
	if err != nil {
		fmt.Fprintln(stderr, "thursday:", err)
		return nil, ExitFailed
	}
	opts, err := parse(args, orders)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(stdout, usage, lease, strings.Join(names(), ", "), Memory, maxWorkers, defaultWorkers, len(orders), defaultStall, defaultSeed)
		return nil, ExitOK
	case err != nil:
		fmt.Fprintf(stderr, "thursday: %v (-h for help)\n", err)
		return nil, ExitMisused
	}
	return opts, ExitOK
}

func parse(args []string, orders []order) (*Options, error) {
	f := flag.NewFlagSet("thursday", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	mechanism := f.String("mechanism", "fence", "")
	backend := f.String("backend", Memory, "")
	isCompare := f.Bool("compare", false, "")
	workers := f.Int("workers", defaultWorkers, "")
	count := f.Int("orders", len(orders), "")
	stall := f.Float64("stall", defaultStall, "")
	seed := f.Uint64("seed", defaultSeed, "")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	isSet := make(map[string]bool)
	f.Visit(func(f *flag.Flag) { isSet[f.Name] = true })
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case !slices.Contains(names(), *mechanism):
		return nil, fmt.Errorf("-mechanism %q is not one of %s", *mechanism, strings.Join(names(), ", "))
	case !isBackend(*backend):
		return nil, fmt.Errorf("-backend %q is not memory, sqlite or a postgres:// address", *backend)
	case *isCompare && isSet["mechanism"]:
		return nil, errors.New("-compare runs every mechanism, so -mechanism does not go with it")
	case *workers < 1 || *workers > maxWorkers:
		return nil, fmt.Errorf("-workers %d is not 1 to %d", *workers, maxWorkers)
	case *count < 1 || *count > len(orders):
		return nil, fmt.Errorf("-orders %d is not 1 to %d", *count, len(orders))
	case !(*stall >= 0 && *stall <= 1): // NaN is neither
		return nil, fmt.Errorf("-stall %v is not 0 to 1", *stall)
	}
	opts := &Options{
		Backend:    *backend,
		config:     config{orders: orders[:*count], workers: *workers, stall: *stall, seed: *seed},
		mechanisms: []string{*mechanism},
		isCompare:  *isCompare,
	}
	if opts.isCompare {
		opts.mechanisms = names()
	}
	return opts, nil
}

func isBackend(name string) bool {
	return name == Memory || name == "sqlite" || strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}
