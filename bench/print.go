package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// machine says what the figures were measured on; without it they say nothing.
func machine() string {
	return fmt.Sprintf("%s, %s, GOMAXPROCS %d, effective cores %.2f, commit %s\n64-byte values; one goroutine where nothing else is said; F: compare-and-swap of the floor, a striped mutex and map without grants\n",
		runtime.Version(), harness.Processor(), runtime.GOMAXPROCS(0), harness.EffectiveCores(), harness.Revision())
}

// printTable prints what was measured beside what it should not exceed.
func printTable(w io.Writer, table []row, results []result) {
	lines := [][]string{{"what", "bar", "median [q1 .. q3]", "ns/op", "allocs (bar)", "meets the bar"}}
	for i, r := range table {
		lines = append(lines, r.line(results[i]))
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, line := range lines {
		var b strings.Builder
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if b.WriteString("| "); i == 0 {
				b.WriteString(cell + pad)
			} else {
				b.WriteString(pad + cell)
			}
			b.WriteString(" ")
		}
		fmt.Fprintln(w, b.String()+"|")
		if n == 0 {
			for _, width := range widths {
				fmt.Fprint(w, "|", strings.Repeat("-", width+2))
			}
			fmt.Fprintln(w, "|")
		}
	}
}

// line returns the cells of r.
func (r row) line(got result) []string {
	q1, median, q3 := harness.Quartiles(got.Values)
	digits := "%.2f"
	if r.unit != "" {
		digits = "%.1f"
	}
	number := func(v float64) string { return fmt.Sprintf(digits, v) }
	bar, allocs, ns := "", "", ""
	meets := true
	if r.bar > 0 {
		bar = strings.TrimSpace("≤ " + number(r.bar) + " " + r.unit)
		meets = median <= r.bar
	}
	if got.Allocs >= 0 {
		allocs = fmt.Sprintf("%.2f", got.Allocs)
	}
	if r.allocs >= 0 {
		allocs += fmt.Sprintf(" (≤ %g)", r.allocs)
		meets = meets && got.Allocs < r.allocs+0.01 // the test of a whole batch sees an allocation of the runtime now and then
	}
	if len(got.Ns) > 0 {
		_, m, _ := harness.Quartiles(got.Ns)
		ns = fmt.Sprintf("%.0f", m)
	}
	values := fmt.Sprintf("%s [%s .. %s]", number(median), number(q1), number(q3))
	if len(got.Floor) > 0 {
		_, m, _ := harness.Quartiles(got.Floor)
		values += fmt.Sprintf(" = %.0f F", m)
	}
	verdict := "yes"
	switch {
	case r.bar == 0 && r.allocs < 0:
		verdict = "-"
	case !meets:
		verdict = "MISSED"
	}
	return []string{r.what, bar, values, ns, allocs, verdict}
}
