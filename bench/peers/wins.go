package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// ours are the rows of fenced, each of which another may be ahead of.
var ours = []string{swapPeer.name, grantPeer.name, queues[1].name}

// bareRefusals says why others are ahead at refusing, whatever they are.
const bareRefusals = "a refusal of fenced is an error that says who came with which numbers, who holds the record and how the grant ended; theirs is a bare no"

// unlocked are the peers whose reads take no lock.
var unlocked = []string{xsyncPeer.name, otterPeer.name, memdbPeer.name}

// why says why a peer is ahead at a work, where it is.
func (p peer) why(work string) string {
	free := slices.Contains(unlocked, p.name)
	switch {
	case work == read && free:
		return "its reads take no lock"
	case work == read:
		return "it gives out value and version, while a record of fenced also tells holder, lease and generation"
	case work == update && free:
		return "half of it is a read, which takes no lock, and " + lean
	}
	return lean
}

// ahead reports whether a contender did better than a row of fenced at the same,
// by more than noise.
func (r *report) ahead(contender cell, mine string) bool {
	at := contender
	at.Peer = mine
	other, ok := r.cost(at)
	got, too := r.cost(contender)
	return ok && too && !slices.Contains(ours, contender.Peer) && got.ahead(other)
}

// leads is how often a contender is ahead of a row of fenced, and by how much.
type leads struct {
	ahead, of, strained int
	low, high           float64 // shares of what fenced took
}

// leads looks for where a contender is ahead of a row of fenced at a work.
func (r *report) leads(contender, work, mine string) leads {
	var found leads
	for _, s := range r.settings(work) {
		at := cell{work, contender, s}
		other, ok := r.cost(cell{work, mine, s})
		got, too := r.cost(at)
		if !ok || !too {
			continue
		}
		found.of++
		if r.ahead(at, mine) {
			found.add(got.median()/other.median(), r.strained(at))
		}
	}
	return found
}

func (l *leads) add(share float64, strained bool) {
	if l.ahead == 0 {
		l.low, l.high = share, share
	}
	l.ahead++
	l.low, l.high = min(l.low, share), max(l.high, share)
	if strained {
		l.strained++
	}
}

// shares writes the shares, as a range where they differ.
func (l leads) shares() string {
	low, high := figure(l.low), figure(l.high)
	if low == high {
		return low
	}
	return low + " to " + high
}

func (l leads) String() string {
	marked := ""
	if l.strained > 0 {
		marked = fmt.Sprintf(", %d of them marked †", l.strained)
	}
	return fmt.Sprintf("ahead in %d of %s%s, %s of", l.ahead, counted(l.of, "cell", "cells"), marked, l.shares())
}

// printWins says where contenders win, and why: a line for each, and one for the
// refusals of all.
func (r *report) printWins(w io.Writer) {
	for _, p := range all() {
		printWin(w, p.name, append(r.fasterThan(p), r.lessThan(p)...))
	}
	for _, q := range queues {
		var wins []win
		if l := r.leads(q.name, handOver, queues[1].name); l.ahead > 0 {
			wins = append(wins, win{fmt.Sprintf("*hand-over* %v fenced's time", l), q.wins})
		}
		printWin(w, q.name, wins)
	}
	r.printRefusals(w)
	r.printHeld(w)
}

// win is something that a contender is ahead at.
type win struct{ what, why string }

// printWin prints what a contender is ahead at, each reason once.
func printWin(w io.Writer, contender string, wins []win) {
	var said []string
	for len(wins) > 0 {
		why := wins[0].why
		var what []string
		wins = slices.DeleteFunc(wins, func(one win) bool {
			if one.why == why {
				what = append(what, one.what)
			}
			return one.why == why
		})
		said = append(said, strings.Join(what, ", ")+": "+why)
	}
	if len(said) > 0 {
		fmt.Fprintf(w, "- **%s**: %s.\n", contender, strings.Join(said, "; "))
	}
}

// fasterThan says at what a peer is ahead of fenced.
func (r *report) fasterThan(p peer) []win {
	var wins []win
	for _, work := range []string{update, write, read} {
		if l := r.leads(p.name, work, swapPeer.name); l.ahead > 0 {
			wins = append(wins, win{fmt.Sprintf("*%s* %v fenced's time", work, l), p.why(work)})
		}
		if l := r.leads(p.name, work, grantPeer.name); l.ahead > 0 {
			wins = append(wins, win{fmt.Sprintf("*%s* %v the time of a commit under a grant", work, l), p.why(work)})
		}
	}
	return wins
}

// printRefusals says who refuses in less time.
func (r *report) printRefusals(w io.Writer) {
	var who []string
	for _, p := range all() {
		if l := r.leads(p.name, refused, swapPeer.name); l.ahead > 0 {
			said := p.name + " " + l.shares()
			if held := r.leads(p.name, refused, grantPeer.name); held.ahead > 0 {
				said += " (" + held.shares() + " of a refusal under a grant)"
			}
			who = append(who, said)
		}
	}
	if len(who) > 0 {
		fmt.Fprintf(w, "- **Refusals of an old version**, shares of fenced's time: %s: %s.\n", strings.Join(who, ", "), bareRefusals)
	}
}

// idle returns what fenced takes with no record held, and what a peer takes, at
// the largest number of records.
func (r *report) idle(peer string) (mine, got result, ok bool) {
	on := setting{}
	if sizes := r.settings(memory); len(sizes) > 0 {
		on = sizes[len(sizes)-1]
	}
	mine, ok = r.find(cell{memory, swapPeer.name, on})
	got, too := r.find(cell{memory, peer, on})
	return mine, got, ok && too && mine.Left == "" && got.Left == ""
}

// lessThan says what a peer takes less of than fenced, of what is not time.
func (r *report) lessThan(p peer) []win {
	mine, got, ok := r.idle(p.name)
	if !ok || slices.Contains(ours, p.name) {
		return nil
	}
	var wins []win
	if got.Value.ahead(mine.Value) {
		wins = append(wins, win{fmt.Sprintf("%s *a record* instead of %s", value(got.Value.median(), "B"), value(mine.Value.median(), "B")), p.small})
	}
	if got.Ratio.apart(mine.Ratio) {
		wins = append(wins, win{fmt.Sprintf("%s *a collection* instead of %s", value(got.Ratio.median(), "ms"), value(mine.Ratio.median(), "ms")), p.still})
	}
	return wins
}

// printHeld says what fenced takes with every record held, which no other can do.
func (r *report) printHeld(w io.Writer) {
	if idle, held, ok := r.idle(grantPeer.name); ok {
		fmt.Fprintf(w, "- Memory and collections are those of %s records. With every one of them held, which no other can do, fenced takes %s a record instead of %s, and %s a collection instead of %s.\n",
			harness.Short(held.N), value(held.Value.median(), "B"), value(idle.Value.median(), "B"),
			value(held.Ratio.median(), "ms"), value(idle.Ratio.median(), "ms"))
	}
}
