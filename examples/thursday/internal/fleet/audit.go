package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fencedgo/fenced"
)

// outcome is what a run came to.
type outcome struct {
	mechanism string
	orders    int
	settled   int
	wrong     []finding // records that are not what the last owner decided
	stuck     []finding // records that were never settled
	late      []finding // refused results that a Worker handed back
	refused   refusals
	stats     *fenced.Stats // of the store in which the orders are claimed, if it keeps any
}

// finding is what befell one order.
type finding struct {
	order   string
	decided decision
	record  string   // the state that the record is in at the end
	tale    []string // who did it and when, in lines
	kind    string   // findings of one kind tell the same story
}

// audit compares every record with what the system had decided. The fleet is at
// rest.
func (f *fleet) audit(ctx context.Context, name string) (*outcome, error) {
	o := &outcome{mechanism: name, orders: len(f.orders), refused: f.mechanism.refused(), stats: f.store.stats()}
	rows := make(map[string]row, len(f.orders))
	for key, order := range f.orders {
		r, err := f.mechanism.read(ctx, key)
		if err != nil {
			return nil, err
		}
		rows[key] = r
		x := finding{order: order.Number, decided: f.ledger.decided[key], record: r.state}
		if !f.ledger.settled[key] {
			x.kind = "stuck"
			if f.ledger.waiting[key] {
				x.tale = []string{f.ledger.first[key] + " was given up and never let go"}
			}
			o.stuck = append(o.stuck, x)
			continue
		}
		o.settled++
		if r.state != x.decided.state {
			x.kind = fmt.Sprintf("wrong, left alone: %t", x.decided.leave)
			if r.worker != "" {
				x.tale = []string{"written by " + r.worker + f.afterLosing(r.by, r.at)}
			}
			o.wrong = append(o.wrong, x)
		}
	}
	for _, m := range f.missed {
		o.late = append(o.late, f.missing(m, rows[m.Grant.Key].state))
	}
	for _, all := range [][]finding{o.wrong, o.stuck, o.late} {
		slices.SortFunc(all, func(a, b finding) int { return cmp.Compare(a.order, b.order) })
	}
	return o, nil
}

// missing is the story of a result that the fence refused. The record is in that
// state at the end.
func (f *fleet) missing(m fenced.Refusal, state string) finding {
	x := finding{
		order:   f.orders[m.Grant.Key].Number,
		decided: f.ledger.decided[m.Grant.Key],
		record:  state,
		kind:    checkOf(m.Err),
	}
	x.tale = []string{fmt.Sprintf("%s came with %q%s", m.Grant.Holder, m.Value, f.afterLosing(claimOf(m.Grant), m.At))}
	var c *fenced.ConflictError
	if errors.As(m.Err, &c) {
		x.tale = append(x.tale, fmt.Sprintf("refused by %s: version %d, now %d; generation %d, now %d", x.kind,
			c.Presented.Version, c.Current.Version, c.Presented.Generation, c.Current.Generation))
	}
	return x
}

// afterLosing says how long after losing its order a worker acted, if it had.
func (f *fleet) afterLosing(c claim, at time.Time) string {
	lost, ok := f.ledger.lostAt(c)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" %.1f s after it had lost the order", at.Sub(lost).Seconds())
}

// telling returns the first finding of each kind.
func (o *outcome) telling() []finding {
	var told []finding
	for _, x := range slices.Concat(o.wrong, o.stuck, o.late) {
		if !slices.ContainsFunc(told, func(t finding) bool { return t.kind == x.kind }) {
			told = append(told, x)
		}
	}
	return told
}
