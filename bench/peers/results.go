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
	Left   string  `json:",omitempty"` // why it was not measured
}

// quartiles are the first, the median and the third.
type quartiles [3]float64

func (q quartiles) median() float64 { return q[1] }

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

// pool makes results of what the processes measured, and of what the floor took
// in all of them.
func pool(all []samples) []result {
	var order []cell
	pooled := make(map[cell]*samples)
	add := func(s samples) {
		p, ok := pooled[s.cell]
		if !ok {
			order = append(order, s.cell)
			p = &samples{cell: s.cell}
			pooled[s.cell] = p
		}
		p.Values, p.Base, p.Ratios = append(p.Values, s.Values...), append(p.Base, s.Base...), append(p.Ratios, s.Ratios...)
		p.Allocs, p.Bytes, p.Left = max(p.Allocs, s.Allocs), max(p.Bytes, s.Bytes), cmp.Or(p.Left, s.Left)
	}
	for _, s := range all {
		add(s)
		_, against := against[s.Work]
		if _, floored := floorPeer.loops[s.Work]; floored && !against && s.Peer != floorPeer.name {
			add(samples{cell: cell{s.Work, floorPeer.name, s.setting}, Values: s.Base})
		}
	}
	var results []result
	for _, c := range order {
		p := pooled[c]
		results = append(results, result{
			cell: c, Value: quartilesOf(p.Values), Base: quartilesOf(p.Base), Ratio: quartilesOf(p.Ratios),
			Allocs: rounded(p.Allocs), Bytes: rounded(p.Bytes), Left: p.Left,
		})
	}
	return results
}

// cost returns what a cell took in units of what it was set against, one for
// what others were set against. Times of different processes are not compared.
func (r *report) cost(c cell) (quartiles, bool) {
	got, ok := r.find(c)
	switch {
	case !ok || got.Left != "" || c.Work == memory || c.Work == sweep:
		return quartiles{}, false
	case c.Peer == floorPeer.name || c.Peer == queues[0].name:
		return quartiles{1, 1, 1}, true
	}
	return got.Ratio, true
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
