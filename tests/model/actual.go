package model

import (
	"context"
	"time"

	"github.com/fencedgo/fenced"
)

// Actual is a real store whose results are put in the words of the model.
type Actual struct {
	Store *fenced.Store
	Epoch time.Time // time zero of the model
}

// Do makes the call c, under the grant g where c has one, and returns what it
// came to and the grant it returned. The error says that a refusal was not of the
// right form.
func (a Actual) Do(ctx context.Context, c Call, g fenced.Grant) (Outcome, fenced.Grant, error) {
	answer := Make(ctx, a.Store, c, g)
	o, err := answer.Outcome(a.Epoch)
	return o, answer.Grant, err
}

// View returns r in the words of the model.
func (a Actual) View(r fenced.Record) View { return ViewOf(r, a.Epoch) }

// Grants returns what a sweep returned, by key.
func (a Actual) Grants(list []fenced.Grant) []View { return viewsOf(list, a.Epoch) }

// All returns every record that exists, by key.
func (a Actual) All() map[string]View {
	all := map[string]View{}
	for r := range a.Store.All() {
		all[r.Key] = a.View(r)
		scribble(r.Value)
	}
	return all
}

// Count returns the counters of the store, without the distribution of leases.
func (a Actual) Count() fenced.Stats {
	s := a.Store.Stats()
	s.Held = fenced.Distribution{}
	return s
}
