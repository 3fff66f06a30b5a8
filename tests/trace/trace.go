// Package trace records what happens to a store, for a checker of another kind
// to read: one JSON object a line, one line an event, in the order in which the
// events happened to their record. A trace is of one store from its beginning.
package trace

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/tests/model"
)

// Line is one event. Version is that of the record after a write and 0 for
// what writes nothing; Generation is that of the grant concerned.
type Line struct {
	Key        string            `json:"key"`
	Seq        uint64            `json:"seq"`
	Kind       string            `json:"kind"`
	Holder     string            `json:"holder,omitempty"`
	Version    fenced.Version    `json:"version"`
	Generation fenced.Generation `json:"generation"`
	Refused    *Refusal          `json:"refused,omitempty"`
}

// Refusal is what an event says of a call that was refused: the sentinels, the
// numbers that the caller came with, and those of the record.
type Refusal struct {
	Reasons   string  `json:"reasons"`
	Presented Numbers `json:"presented"`
	Current   Numbers `json:"current"`
}

// Numbers are those of a record, or of a grant.
type Numbers struct {
	Version    fenced.Version    `json:"version"`
	Generation fenced.Generation `json:"generation"`
	Holder     string            `json:"holder,omitempty"`
}

// Recorder collects the events of one store. The zero Recorder is empty.
type Recorder struct {
	mu    sync.Mutex
	lines []Line
}

// OnEvent is for the [fenced.Options] of the store.
func (r *Recorder) OnEvent(e fenced.Event) {
	l := Line{Key: e.Key, Seq: e.Seq, Kind: e.Kind.String(), Holder: e.Holder, Version: e.Version, Generation: e.Generation}
	var refusal *fenced.ConflictError
	if errors.As(e.Err, &refusal) {
		l.Refused = &Refusal{model.ReasonsOf(e.Err).String(), numbers(refusal.Presented), numbers(refusal.Current)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, l)
}

func numbers(r fenced.Record) Numbers { return Numbers{r.Version, r.Generation, r.Holder} }

// Lines returns the events so far, by key and then in order.
func (r *Recorder) Lines() []Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := slices.Clone(r.lines)
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Seq, b.Seq))
	})
	return lines
}

// Write writes lines to w.
func Write(w io.Writer, lines []Line) error {
	out := json.NewEncoder(w)
	for _, l := range lines {
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// Read reads what [Write] wrote.
func Read(r io.Reader) ([]Line, error) {
	var lines []Line
	for in := bufio.NewScanner(r); ; {
		if !in.Scan() {
			return lines, in.Err()
		}
		var l Line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return lines, err
		}
		lines = append(lines, l)
	}
}
