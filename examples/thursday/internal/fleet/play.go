// Package fleet is the demonstration itself: workers, a vendor that stalls, a
// supervisor, and what the records say in the end. It is apart for the modules
// that run it on different stores: what they give [Main] calls [Parse] and
// [Options.Play].
package fleet

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// The exit codes.
const (
	ExitOK      = 0
	ExitFailed  = 1 // a record is wrong or stuck under the fence, or the run broke off
	ExitMisused = 2
)

// Main runs a program until it is done or interrupted, and exits with its code.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Play is the program on the stores at place. It returns the exit code.
func (o *Options) Play(ctx context.Context, place Place, stdout, stderr io.Writer) int {
	outcomes, err := o.play(ctx, place, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "thursday:", err)
		return ExitFailed
	}
	if o.isCompare {
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
			return ExitFailed
		}
	}
	return ExitOK
}

// play runs the fleet under each mechanism in turn.
func (o *Options) play(ctx context.Context, place Place, stdout io.Writer) ([]*outcome, error) {
	printPlan(stdout, o, place)
	p := newProgress(stdout)
	var outcomes []*outcome
	for _, name := range o.mechanisms {
		var last snapshot
		o, err := runFleet(ctx, o.config, place, name, func(s snapshot) {
			last = s
			p.show(s)
		})
		if last.of > 0 {
			p.done(last)
		}
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}
