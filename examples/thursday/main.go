// Thursday is a fleet of workers that enrich orders with what a vendor says of
// them, on a day when some of the vendor's calls stall. A supervisor gives up
// the workers behind these calls, others take over, and then the first ones come
// back, with an answer that was right when they asked. What becomes of the
// records depends on what guards them; try them all:
//
//	go run ./examples/thursday -compare
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// The exit codes.
const (
	exitOK      = 0
	exitFailed  = 1 // a record is wrong or stuck under the fence, or the run broke off
	exitMisused = 2
)

const usage = `usage: go run ./examples/thursday [flags]

A fleet of workers enriches orders by calls to a vendor, some of which stall
far past the lease of %v. At the end every record is checked against what the
last owner of the order had decided.

  -mechanism NAME  what guards the records (default fence):
                   %s
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

// options is what the flags say.
type options struct {
	config
	mechanisms []string
	isCompare  bool
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	orders, err := readOrders()
	if err != nil {
		fmt.Fprintln(stderr, "thursday:", err)
		return exitFailed
	}
	opts, err := parse(args, orders)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(stdout, usage, lease, strings.Join(names(), ", "), maxWorkers, defaultWorkers, len(orders), defaultStall, defaultSeed)
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "thursday: %v (-h for help)\n", err)
		return exitMisused
	}
	outcomes, err := play(ctx, opts, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "thursday:", err)
		return exitFailed
	}
	if opts.isCompare {
		printComparison(stdout, outcomes)
	} else {
		printReport(stdout, outcomes[0])
	}
	return judge(outcomes)
}

// judge returns the exit code: the fence must keep every record right, and the
// others are here to fail.
func judge(outcomes []*outcome) int {
	for _, o := range outcomes {
		if o.mechanism == "fence" && len(o.wrong)+len(o.stuck) > 0 {
			return exitFailed
		}
	}
	return exitOK
}

// play runs the fleet under each mechanism in turn.
func play(ctx context.Context, opts options, stdout io.Writer) ([]*outcome, error) {
	printPlan(stdout, opts)
	p := newProgress(stdout)
	var outcomes []*outcome
	for _, name := range opts.mechanisms {
		var last snapshot
		o, err := runFleet(ctx, opts.config, name, func(s snapshot) {
			last = s
			p.show(s)
		})
		p.done(last)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

func parse(args []string, orders []order) (options, error) {
	f := flag.NewFlagSet("thursday", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	mechanism := f.String("mechanism", "fence", "")
	isCompare := f.Bool("compare", false, "")
	workers := f.Int("workers", defaultWorkers, "")
	count := f.Int("orders", len(orders), "")
	stall := f.Float64("stall", defaultStall, "")
	seed := f.Uint64("seed", defaultSeed, "")
	if err := f.Parse(args); err != nil {
		return options{}, err
	}
	isSet := make(map[string]bool)
	f.Visit(func(f *flag.Flag) { isSet[f.Name] = true })
	switch {
	case f.NArg() > 0:
		return options{}, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case !slices.Contains(names(), *mechanism):
		return options{}, fmt.Errorf("-mechanism %q is not one of %s", *mechanism, strings.Join(names(), ", "))
	case *isCompare && isSet["mechanism"]:
		return options{}, errors.New("-compare runs every mechanism, so -mechanism does not go with it")
	case *workers < 1 || *workers > maxWorkers:
		return options{}, fmt.Errorf("-workers %d is not 1 to %d", *workers, maxWorkers)
	case *count < 1 || *count > len(orders):
		return options{}, fmt.Errorf("-orders %d is not 1 to %d", *count, len(orders))
	case !(*stall >= 0 && *stall <= 1): // NaN is neither
		return options{}, fmt.Errorf("-stall %v is not 0 to 1", *stall)
	}
	opts := options{
		config:     config{orders: orders[:*count], workers: *workers, stall: *stall, seed: *seed},
		mechanisms: []string{*mechanism},
		isCompare:  *isCompare,
	}
	if opts.isCompare {
		opts.mechanisms = names()
	}
	return opts, nil
}
