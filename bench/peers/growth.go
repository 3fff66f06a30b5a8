package main

import (
	"errors"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// curve is a line of the plot of growth.
type curve struct {
	peer, name string
	color      color.Color
	shape      draw.GlyphDrawer
}

var curves = []curve{
	{grantPeer.name, "fenced: commit, every record held", accent, draw.CircleGlyph{}},
	{floorPeer.name, "floor: write", others, draw.SquareGlyph{}},
}

// plotGrowth writes the picture of how time and memory grow with the number of
// records.
func (r *report) plotGrowth(file string) error {
	time := newPlot("Time of a commit, any of the records, 64-byte values")
	time.Y.Label.Text = "ns"
	space := newPlot("Memory of a record beyond key and value")
	space.Y.Label.Text = "bytes"
	space.X.Label.Text = "records, logarithmic"
	for p, work := range map[*plot.Plot]string{time: write, space: memory} {
		if err := r.drawCurves(p, work); err != nil {
			return err
		}
	}
	return saveSVG(file, 640, 520, time, space)
}

// drawCurves adds the curves of a work to p.
func (r *report) drawCurves(p *plot.Plot, work string) error {
	p.X.Scale = plot.LogScale{}
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left = work == write, work == write
	grid := plotter.NewGrid()
	grid.Vertical, grid.Horizontal = draw.LineStyle{Color: faint, Width: 0.75}, draw.LineStyle{Color: faint, Width: 0.75}
	p.Add(grid)
	var ticks plot.ConstantTicks
	for _, c := range curves {
		var points plotter.XYs
		for _, s := range r.settings(work) {
			got, ok := r.find(cell{work, c.peer, s})
			if ok && !s.Hot && s.Size == little && got.Left == "" {
				points = append(points, plotter.XY{X: float64(s.N), Y: max(0, got.Value.median())})
			}
		}
		if len(points) == 0 {
			return errors.New("nothing to plot for " + c.name)
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		line.LineStyle = draw.LineStyle{Color: c.color, Width: vg.Points(2)}
		dots.GlyphStyle = draw.GlyphStyle{Color: c.color, Radius: vg.Points(4), Shape: c.shape}
		p.Add(line, dots)
		p.Legend.Add(c.name, line, dots)
		ticks = ticks[:0]
		for _, at := range points {
			ticks = append(ticks, plot.Tick{Value: at.X, Label: harness.Short(int(at.X))})
		}
		_, _, _, high := plotter.XYRange(points)
		p.Y.Max = max(p.Y.Max, 1.15*high)
	}
	p.X.Tick.Marker = ticks
	return nil
}
