package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// grid is a table in Markdown: a row for each contender, and a column for each
// thing that it did.
type grid struct {
	rows    []string
	columns []column
	unit    string // of the values
	base    string // the row that the ratios are to
	notes   []string
}

// column is a heading, and the cell that a peer has under it.
type column struct {
	head string
	at   cell // but for the peer
}

// print prints the grid and the notes under it. In bold is what is ahead of the
// row of fenced's that is named, but for the base: its ratio is to itself.
func (g *grid) print(w io.Writer, r *report, ahead string) {
	heads := make([]string, len(g.columns))
	for i, c := range g.columns {
		heads[i] = c.head
	}
	fmt.Fprintf(w, "| | %s |\n|---|%s\n", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for _, row := range g.rows {
		cells := make([]string, len(g.columns))
		for i, c := range g.columns {
			c.at.Peer = row
			cells[i] = g.cell(r, c.at, ahead)
		}
		fmt.Fprintf(w, "| %s | %s |\n", row, strings.Join(cells, " | "))
	}
	fmt.Fprintln(w)
	g.printNotes(w)
}

// printNotes prints the notes as a paragraph.
func (g *grid) printNotes(w io.Writer) {
	for i, note := range g.notes {
		fmt.Fprintf(w, "%s(%d) %s.", strings.Repeat(" ", min(i, 1)), i+1, capital(note))
	}
	if len(g.notes) > 0 {
		fmt.Fprint(w, "\n\n")
	}
}

// dash is what stands where a contender cannot do a thing, or has not.
const dash = "–"

func (g *grid) cell(r *report, at cell, ahead string) string {
	got, ok := r.find(at)
	switch {
	case !ok:
		return dash
	case got.Left != "":
		return fmt.Sprintf("%s (%d)", dash, g.note(got.Left))
	case got.Ratio == (quartiles{}):
		return value(got.Value.median(), g.unit)
	}
	text := strong(figure(got.Ratio.median()), at.Peer != g.base && r.ahead(at, ahead))
	text = fmt.Sprintf("%s [%s .. %s]", text, figure(got.Ratio[0]), figure(got.Ratio[2]))
	if at.Peer == g.base {
		text += ", " + value(got.Value.median(), g.unit)
	}
	if r.strained(at) {
		text += " †" + figure(r.strain(at))
	}
	return text
}

// strong writes text in bold, if it is to be.
func strong(text string, bold bool) string {
	if bold {
		return "**" + text + "**"
	}
	return text
}

// note returns the number of a note.
func (g *grid) note(text string) int {
	if i := slices.Index(g.notes, text); i >= 0 {
		return i + 1
	}
	g.notes = append(g.notes, text)
	return len(g.notes)
}

// figure writes a number with as many digits as mean something.
func figure(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// value writes a figure with its unit, nanoseconds as what is easiest to read.
func value(v float64, unit string) string {
	by, unit := readable(v, unit)
	return digits(v/by, unit) + " " + unit
}

// spread writes a median with its unit, and the quartiles where they differ.
func spread(q quartiles, unit string) string {
	if q[0] == q[2] {
		return value(q.median(), unit)
	}
	by, unit := readable(q.median(), unit)
	return fmt.Sprintf("%s %s [%s .. %s]", digits(q.median()/by, unit), unit, digits(q[0]/by, unit), digits(q[2]/by, unit))
}

// readable returns the unit that v is easiest to read in, and how many of the one
// given make one of it.
func readable(v float64, unit string) (by float64, readable string) {
	switch {
	case unit == "ns" && v >= 1e6:
		return 1e6, "ms"
	case unit == "ns" && v >= 1e4:
		return 1e3, "µs"
	}
	return 1, unit
}

// digits writes a number, whole where less than one of the unit is nothing.
func digits(v float64, unit string) string {
	if unit == "ns" || unit == "B" {
		return fmt.Sprintf("%.0f", v)
	}
	return figure(v)
}

// size writes a number of bytes as people say it.
func size(n int) string {
	if n >= 1024 && n%1024 == 0 {
		return fmt.Sprintf("%d KiB", n/1024)
	}
	return fmt.Sprintf("%d B", n)
}

func processors(n int) string {
	if n == 1 {
		return "one processor"
	}
	return "two processors"
}
