package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// ours are the rows of fenced, each of which another may be ahead of.
var ours = []string{grantPeer.name, swapPeer.name, queues[1].name}

// bareRefusals says why others are ahead at refusing, whatever they are.
const bareRefusals = "a refusal of fenced is an error that says who came with which numbers, who holds the record and how the grant ended; theirs is a bare no"

// lead returns what a contender took as a share of what a row of fenced did for
// the same; 1 where they did not both do it, or are the same.
func (r *report) lead(contender cell, mine string) float64 {
	at := contender
	at.Peer = mine
	other, ok := r.cost(at)
	got, too := r.cost(contender)
	if !ok || !too || slices.Contains(ours, contender.Peer) {
		return 1
	}
	return got.median() / other.median()
}

// printWins says where a contender wins, and why.
func (r *report) printWins(w io.Writer) {
	for _, p := range all() {
		for _, work := range []string{update, write, read, refused} {
			why := p.wins
			if work == refused {
				why = bareRefusals
			}
			r.printLeads(w, p.name, work, why)
		}
	}
	for _, q := range queues {
		r.printLeads(w, q.name, handOver, q.wins)
	}
	r.printLess(w, "takes less memory a record", "B", func(got result) float64 { return got.Value.median() }, func(p peer) string { return p.small })
	r.printLess(w, "costs the collector less", "ms", func(got result) float64 { return got.Ratio.median() }, func(p peer) string { return p.still })
}

// printLeads says where a contender is ahead of which rows of fenced at a work.
func (r *report) printLeads(w io.Writer, contender, work, why string) {
	for _, mine := range ours {
		var of int
		var places []string
		for _, s := range r.settings(work) {
			at := cell{work, contender, s}
			if _, ok := r.cost(cell{work, mine, s}); !ok {
				continue
			}
			of++
			if lead := r.lead(at, mine); lead < 1 {
				places = append(places, fmt.Sprintf("%s %s", s.place(work), figure(lead)))
			}
		}
		if len(places) > 0 {
			fmt.Fprintf(w, "- **%s**, %s: ahead of %q in %d of %d (%s of its time): %s.\n",
				contender, titles[work], mine, len(places), of, strings.Join(places, "; "), why)
		}
	}
}

// printLess says who takes less of what is not time than fenced with all records
// held, at the largest number of records, and why.
func (r *report) printLess(w io.Writer, what, unit string, of func(result) float64, why func(peer) string) {
	sizes := r.settings(memory)
	if len(sizes) == 0 {
		return
	}
	on := sizes[len(sizes)-1]
	mine, _ := r.find(cell{memory, grantPeer.name, on})
	for _, p := range all() {
		got, ok := r.find(cell{memory, p.name, on})
		if ok && got.Left == "" && of(got) < of(mine) && !slices.Contains(ours, p.name) {
			fmt.Fprintf(w, "- **%s** %s: %s instead of %s, at %s records: %s.\n",
				p.name, what, value(of(got), unit), value(of(mine), unit), harness.Short(on.N), why(p))
		}
	}
}

// place says where a work was done.
func (s setting) place(work string) string {
	if work == handOver {
		return processors(s.Procs)
	}
	where := harness.Short(s.N) + " × " + size(s.Size)
	if s.Hot {
		where = "one of " + where
	}
	if s.Procs > 1 {
		where += " on two processors"
	}
	return where
}
