package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// cell says what was measured.
type cell struct {
	Work, Peer string
	setting
}

// samples is what one process measured for a cell.
type samples struct {
	cell
	Values        []float64 // one a round, in the unit of the work
	Base          []float64 // the same of what it was set against
	Ratios        []float64 // of the two
	Allocs, Bytes float64   // of an operation
	Left          string    // why it was not measured
}

// result is what several processes measured for a cell.
type result struct {
	cell
	Value  quartiles // in the unit of the work
	Base   quartiles // the same of what it was set against
	Ratio  quartiles // of the two within a round; zero where set against nothing
	Allocs float64
	Bytes  float64 // that an operation allocates
	// How many processes measured it, and how often in all.
	Processes, Rounds int
	Left              string `json:",omitempty"` // why it was not measured
}

// quartiles are the first, the median and the third.
type quartiles [3]float64

func (q quartiles) median() float64 { return q[1] }

// apart reports whether the ranges of the two do not overlap, and q's is lower.
func (q quartiles) apart(other quartiles) bool { return q[2] < other[0] }

// ahead reports whether q is below the other by more than noise: their ranges do
// not overlap, or the medians are far from each other.
func (q quartiles) ahead(other quartiles) bool {
	const clear = 0.95
	return q.apart(other) || q.median() < clear*other.median()
}

func quartilesOf(values []float64) quartiles {
	q1, median, q3 := harness.Quartiles(values)
	return quartiles{rounded(q1), rounded(median), rounded(q3)}
}

// rounded keeps four digits: more is noise.
func rounded(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// report is the results file.
type report struct {
	Go, Processor, Commit string
	Procs                 int
	Cores                 [2]float64        // effective, before and after
	Effort                string            // in words
	Versions              map[string]string // of the peers, by module
	Results               []result
}

// pool makes results of what the processes measured.
func pool(all []samples) []result {
	var order []cell
	pooled, processes := make(map[cell]*samples), make(map[cell]int)
	for _, s := range all {
		p, ok := pooled[s.cell]
		if !ok {
			order = append(order, s.cell)
			p = &samples{cell: s.cell}
			pooled[s.cell] = p
		}
		p.Values, p.Base, p.Ratios = append(p.Values, s.Values...), append(p.Base, s.Base...), append(p.Ratios, s.Ratios...)
		p.Allocs, p.Bytes, p.Left = max(p.Allocs, s.Allocs), max(p.Bytes, s.Bytes), cmp.Or(p.Left, s.Left)
		processes[s.cell]++
	}
	var results []result
	for _, c := range order {
		p := pooled[c]
		results = append(results, result{
			cell: c, Value: quartilesOf(p.Values), Base: quartilesOf(p.Base), Ratio: quartilesOf(p.Ratios),
			Allocs: rounded(p.Allocs), Bytes: rounded(p.Bytes), Left: p.Left,
			Processes: processes[c], Rounds: max(len(p.Values), len(p.Ratios)),
		})
	}
	return results
}

// cost returns what a cell took in units of what it was set against. Times of
// different processes are not compared. What others are set against takes one,
// with as much noise as it has beside itself.
func (r *report) cost(c cell) (quartiles, bool) {
	got, ok := r.find(c)
	switch {
	case !ok || got.Left != "" || c.Work == memory || c.Work == sweep:
		return quartiles{}, false
	case isBase(c.Peer):
		return quartiles{min(1, got.Ratio[0]), 1, max(1, got.Ratio[2])}, true
	}
	return got.Ratio, true
}

// isBase reports whether others are set against this one.
func isBase(peer string) bool { return peer == floorPeer.name || peer == queues[0].name }

// strain returns how many times as long what a cell was set against took there as
// it takes beside itself: above one the ratio flatters, below one it slights. It
// is one where that is not known.
func (r *report) strain(c cell) float64 {
	at := c
	at.Peer, at.Work = floorPeer.name, cmp.Or(against[c.Work], c.Work)
	if c.Work == handOver {
		at.Peer = queues[0].name
	}
	got, ok := r.find(c)
	alone, too := r.find(at)
	if !ok || !too || got.Base.median() == 0 || alone.Base.median() == 0 {
		return 1
	}
	return got.Base.median() / alone.Base.median()
}

// strained reports whether a ratio is not to be relied on.
func (r *report) strained(c cell) bool {
	const far = 1.3
	strain := r.strain(c)
	return strain > far || strain < 1/far
}

// find returns the result of a cell, if there is one.
func (r *report) find(c cell) (result, bool) {
	i := slices.IndexFunc(r.Results, func(other result) bool { return other.cell == c })
	if i < 0 {
		return result{}, false
	}
	return r.Results[i], true
}

// save writes the report, a result a line.
func (r *report) save(file string) error {
	head := *r
	head.Results = nil
	text, err := json.MarshalIndent(head, "", "  ")
	if err != nil {
		return err
	}
	var lines []string
	for _, one := range r.Results {
		line, err := json.Marshal(one)
		if err != nil {
			return err
		}
		lines = append(lines, "    "+string(line))
	}
	results := "[\n" + strings.Join(lines, ",\n") + "\n  ]\n}\n"
	return os.WriteFile(file, []byte(strings.TrimSuffix(string(text), "null\n}")+results), 0o644)
}

func load(file string) (*report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(report)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}
