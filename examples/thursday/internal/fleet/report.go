package fleet

import (
	"fmt"
	"io"
	"strings"
)

// printPlan says what is about to happen.
func printPlan(w io.Writer, opts *Options, place Place) {
	late, never := newPlan(opts.orders, opts.stall, opts.seed).stalling()
	fmt.Fprintf(w, "%s, %s, leases of %v, seed %d\n", plural(len(opts.orders), "order"), plural(opts.workers, "worker"), lease, opts.seed)
	fmt.Fprintf(w, "calls that stall: %d for 4 to 8 leases, %d for good\n", late, never)
	fmt.Fprintf(w, "claims are in %s\n\n", place.Name)
}

// printReport says what became of the orders under one mechanism.
func printReport(w io.Writer, o *outcome) {
	r := o.refused
	median, p99 := unknown, unknown
	if o.stats != nil {
		median, p99 = leeway(o.stats.Held.P50), leeway(o.stats.Held.P99)
	}
	line := func(label, number, meaning string) { fmt.Fprintf(w, "%-15s%6s   %s\n", label, number, meaning) }
	fmt.Fprintln(w)
	line("records wrong", fmt.Sprint(len(o.wrong)), "are not what the last owner of the order decided")
	line("records stuck", fmt.Sprint(len(o.stuck)), "were never settled")
	line("writes refused", fmt.Sprint(r.sum()), fmt.Sprintf("by the version alone %d, by the fence alone %d, by both %d", r.version, r.fence, r.both))
	line("overruns", o.overruns(), "claims were let go after their lease had lapsed")
	line("leeway", median, fmt.Sprintf("of the lease was left at the median, %s at P99", p99))
	if o.stats == nil {
		line("", unknown, "is not counted by this store")
	}
	for _, x := range o.telling() {
		fmt.Fprintf(w, "\n%s", x)
	}
	fmt.Fprintf(w, "\n%s: %s, %d wrong, %d stuck\n", o.mechanism, plural(o.orders, "record"), len(o.wrong), len(o.stuck))
}

// printComparison says what became of the orders under each mechanism.
func printComparison(w io.Writer, outcomes []*outcome) {
	const head, row = "\n%-8s%5s  %5s   %7s  %13s  %11s  %4s  %8s\n", "%-8s%5d  %5d   %7d  %13d  %11d  %4d  %8s\n"
	fmt.Fprintf(w, head, "", "wrong", "stuck", "refused", "version alone", "fence alone", "both", "overruns")
	for _, o := range outcomes {
		r := o.refused
		fmt.Fprintf(w, row, o.mechanism, len(o.wrong), len(o.stuck), r.sum(), r.version, r.fence, r.both, o.overruns())
	}
	fmt.Fprintln(w, "\nwrong: not what the last owner of the order decided; stuck: never settled;")
	fmt.Fprintln(w, "refused: by the version alone, by the fence alone, or by both")
	for _, o := range outcomes {
		if told := o.telling(); len(told) > 0 {
			fmt.Fprintf(w, "\nunder %s\n%s", o.mechanism, told[0])
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

// unknown stands for a number that nobody has counted.
const unknown = "-"

// overruns is a number of the store's.
func (o *outcome) overruns() string {
	if o.stats == nil {
		return unknown
	}
	return fmt.Sprint(o.stats.Overruns)
}

// leeway is what is left of a lease of which a share was used.
func leeway(used float64) string {
	if used >= 1 {
		return "none"
	}
	return fmt.Sprintf("%.0f %%", 100*(1-used))
}

// plural says how many there are of a noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
