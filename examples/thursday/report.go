package main

import (
	"fmt"
	"io"
	"strings"
)

// printPlan says what is about to happen.
func printPlan(w io.Writer, opts options) {
	late, never := newPlan(opts.orders, opts.stall, opts.seed).stalling()
	fmt.Fprintf(w, "%s, %s, leases of %v, seed %d\n", plural(len(opts.orders), "order"), plural(opts.workers, "worker"), lease, opts.seed)
	fmt.Fprintf(w, "calls that stall: %d for 4 to 8 leases, %d for good\n\n", late, never)
}

// printReport says what became of the orders under one mechanism.
func printReport(w io.Writer, o *outcome) {
	r, held := o.refused, o.stats.Held
	fmt.Fprintf(w, `
records wrong   %4d   are not what the last owner of the order decided
records stuck   %4d   were never settled
writes refused  %4d   by the version alone %d, by the fence alone %d, by both %d
overruns        %4d   claims were let go after their lease had lapsed
leeway          %s   of the lease was left at the median, %s at P99
`, len(o.wrong), len(o.stuck), r.sum(), r.version, r.fence, r.both, o.stats.Overruns, leeway(held.P50), strings.TrimSpace(leeway(held.P99)))
	for _, x := range o.telling() {
		fmt.Fprintf(w, "\n%s", x)
	}
	fmt.Fprintf(w, "\n%s: %s, %d wrong, %d stuck\n", o.mechanism, plural(o.orders, "record"), len(o.wrong), len(o.stuck))
}

// printComparison says what became of the orders under each mechanism.
func printComparison(w io.Writer, outcomes []*outcome) {
	const head, row = "\n%-9s %6s %6s   %8s %13s %11s %5s   %8s %7s\n", "%-9s %6d %6d   %8d %13d %11d %5d   %8d %7s\n"
	fmt.Fprintf(w, head, "", "wrong", "stuck", "refused", "version alone", "fence alone", "both", "overruns", "leeway")
	for _, o := range outcomes {
		r := o.refused
		fmt.Fprintf(w, row, o.mechanism, len(o.wrong), len(o.stuck), r.sum(), r.version, r.fence, r.both, o.stats.Overruns, leeway(o.stats.Held.P50))
	}
	for _, o := range outcomes {
		if told := o.telling(); len(told) > 0 {
			fmt.Fprintf(w, "\n%s\n%s", o.mechanism, told[0])
		}
	}
}

// String is the story in lines of about eighty columns.
func (x finding) String() string {
	head := "order " + x.order + "  "
	lines := append([]string{fmt.Sprintf("%s, record says %q", x.decided, x.record)}, x.tale...)
	return head + strings.Join(lines, "\n"+strings.Repeat(" ", len(head))) + "\n"
}

// String says what was decided.
func (d decision) String() string {
	switch {
	case d.by.generation == 0:
		return "nothing decided"
	case d.leave:
		return fmt.Sprintf("decided to leave it at %q", d.state)
	default:
		return fmt.Sprintf("decided %q", d.state)
	}
}

// leeway is what is left of a lease of which a share was used.
func leeway(used float64) string {
	return fmt.Sprintf("%2.0f %%", 100*max(0, 1-used))
}

// plural says how many there are of a noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
