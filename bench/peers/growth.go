package main

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// curve is a line of the plot of growth.
type curve struct {
	name   string
	color  color.Color
	shape  draw.GlyphDrawer
	points plotter.XYs
}

func (c *curve) add(n int, y float64) {
	c.points = append(c.points, plotter.XY{X: float64(n), Y: max(0, y)})
}

// newCurves returns the curves that a plot has, without points.
func newCurves() (fenced, floor *curve) {
	return &curve{name: "fenced, every record held", color: accent, shape: draw.CircleGlyph{}},
		&curve{name: floorPeer.name, color: others, shape: draw.BoxGlyph{}}
}

// printGrowth prints how much dearer a write becomes with more records, and what
// a sweep takes.
func (r *report) printGrowth(w io.Writer) {
	fmt.Fprint(w, "## How the cost grows\n\n![Time of a commit and memory of a record over the number of records](growth.svg)\n\n")
	few, many := r.growthFrom()
	a, ok := r.find(cell{write, grantPeer.name, few})
	b, too := r.find(cell{write, grantPeer.name, many})
	if ok && too {
		fmt.Fprintf(w, "From %s to %s records a commit takes %s times as long, and the floor's write beside it %s times: cache misses, since neither does more work for a record among more.\n\n",
			harness.Short(few.N), harness.Short(many.N), figure(b.Value.median()/a.Value.median()), figure(b.Base.median()/a.Base.median()))
	}
	var sweeps []string
	for _, s := range r.settings(sweep) {
		if got, ok := r.find(cell{sweep, grantPeer.name, s}); ok {
			ns := quartiles{got.Value[0] * 1e3, got.Value[1] * 1e3, got.Value[2] * 1e3}
			sweeps = append(sweeps, fmt.Sprintf("%s where %s have lapsed", spread(ns, "ns"), harness.Short(s.N)))
		}
	}
	if len(sweeps) == 0 {
		return
	}
	fmt.Fprintf(w, "A sweep of %s live leases, which only fenced has, takes %s.\n\n", harness.Short(r.largest(update)), strings.Join(sweeps, ", "))
}

// growthFrom returns the settings that the growth of a write is said between.
func (r *report) growthFrom() (few, many setting) {
	sizes := slices.DeleteFunc(r.settings(write), func(s setting) bool { return s.Hot || s.N > r.largest(update) })
	if len(sizes) == 0 {
		return setting{}, setting{}
	}
	return sizes[0], sizes[len(sizes)-1]
}

// plotGrowth writes the picture of how time and memory grow with the number of
// records.
func (r *report) plotGrowth(file string) error {
	fenced, floor := newCurves()
	for _, s := range r.settings(write) {
		if got, ok := r.find(cell{write, grantPeer.name, s}); ok && !s.Hot {
			fenced.add(s.N, got.Value.median())
			floor.add(s.N, got.Base.median()) // of the same rounds
		}
	}
	time, err := plotCurves("Time of a commit, of the floor a write, to any of the records, 64-byte values", "ns", fenced, floor)
	if err != nil {
		return err
	}
	fenced, floor = newCurves()
	for _, s := range r.settings(memory) {
		for c, peer := range map[*curve]string{fenced: grantPeer.name, floor: floorPeer.name} {
			if got, ok := r.find(cell{memory, peer, s}); ok && got.Left == "" {
				c.add(s.N, got.Value.median())
			}
		}
	}
	space, err := plotCurves("Memory of a record beyond key and value", "bytes", fenced, floor)
	if err != nil {
		return err
	}
	space.X.Label.Text = "records, logarithmic"
	return saveSVG(file, 640, 520, time, space)
}

// plotCurves returns a plot of two curves over the number of records.
func plotCurves(title, unit string, curves ...*curve) (*plot.Plot, error) {
	p := newPlot(title)
	p.Y.Label.Text, p.Y.Min, p.X.Scale = unit, 0, plot.LogScale{}
	p.Legend.Top, p.Legend.Left = true, true
	rules := plotter.NewGrid()
	rules.Vertical, rules.Horizontal = draw.LineStyle{Color: faint, Width: 0.75}, draw.LineStyle{Color: faint, Width: 0.75}
	p.Add(rules)
	var ticks plot.ConstantTicks
	for _, c := range curves {
		if len(c.points) == 0 {
			return nil, errors.New("nothing to plot for " + c.name)
		}
		line, dots, err := plotter.NewLinePoints(c.points)
		if err != nil {
			return nil, err
		}
		line.LineStyle = draw.LineStyle{Color: c.color, Width: vg.Points(2)}
		dots.GlyphStyle = draw.GlyphStyle{Color: c.color, Radius: vg.Points(4), Shape: c.shape}
		p.Add(line, dots)
		p.Legend.Add(c.name, line, dots)
		ticks = nil
		for _, at := range c.points {
			ticks = append(ticks, plot.Tick{Value: at.X, Label: harness.Short(int(at.X))})
		}
	}
	p.X.Tick.Marker = ticks
	p.Y.Max *= 1.3 // leaves room for the legend
	return p, nil
}
