package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The plots stand on a panel of their own, and so are read on light and on dark
// pages alike.
var (
	panel  = color.RGBA{0xff, 0xff, 0xff, 0xff}
	ink    = color.RGBA{0x1f, 0x23, 0x28, 0xff}
	faint  = color.RGBA{0xd8, 0xdc, 0xe0, 0xff}
	accent = color.RGBA{0x09, 0x69, 0xda, 0xff} // fenced
	others = color.RGBA{0x6e, 0x77, 0x81, 0xff}
)

// sans is the font that texts are measured with. Where it is missing, one of the
// others is shown, which are as wide.
const (
	sans     = "Liberation Sans"
	fallback = "'Liberation Sans',Arial,Helvetica,sans-serif"
)

// newPlot returns an empty plot in our colours and font.
func newPlot(title string) *plot.Plot {
	plot.DefaultFont.Variant = "Sans"
	plotter.DefaultFont.Variant = "Sans"
	p := plot.New()
	p.BackgroundColor = panel
	p.Title.Text = title
	p.Title.Padding = vg.Points(8)
	p.Title.TextStyle.Color = ink
	p.Title.TextStyle.Font.Size = 13
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Label.TextStyle.Color, a.Tick.Color, a.Tick.Label.Color = ink, ink, ink, ink
		a.Label.TextStyle.Font.Size, a.Tick.Label.Font.Size = 11, 11
		a.Label.Padding = vg.Points(4)
	}
	p.Legend.TextStyle.Color = ink
	p.Legend.TextStyle.Font.Size, p.Legend.Padding = 11, vg.Points(3)
	return p
}

// bar is a row of the plot of costs.
type bar struct {
	name  string
	value quartiles
	ratio float64
	color color.Color
}

// bars returns what an update costs with each, dearest first: the ratio to the
// floor in the same round, times what the floor takes in the median.
func (r *report) bars() []bar {
	on := setting{N: r.mid(), Size: little, Procs: 1}
	base, _ := r.find(cell{update, floorPeer.name, on})
	var bars []bar
	for _, p := range all() {
		ratio, ok := r.cost(cell{update, p.name, on})
		if !ok {
			continue
		}
		b := bar{name: p.name, ratio: ratio.median(), color: others}
		if slices.Contains(ours, p.name) {
			b.color = accent
		}
		for i := range ratio {
			b.value[i] = ratio[i] * base.Value.median()
		}
		bars = append(bars, b)
	}
	slices.SortFunc(bars, func(a, b bar) int { return cmp.Compare(b.value.median(), a.value.median()) })
	return bars
}

// plotCommit writes the picture of what an update costs with each contender.
func (r *report) plotCommit(file string) error {
	bars := r.bars()
	if len(bars) == 0 {
		return errors.New("no update to plot")
	}
	// No label of the axis: gonum pads a logarithmic one as if it stood at its end.
	p := newPlot(fmt.Sprintf("Read, derive, write if unchanged: any of %s records of 64 bytes\n"+
		"time, logarithmic, with quartiles; beside it, how many times the floor's", thousands(r.mid())))
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{}
	low, high := math.Inf(1), 0.0
	names := make([]string, len(bars))
	for i, b := range bars {
		names[i] = b.name
		low, high = min(low, b.value[0]), max(high, b.value[2])
	}
	p.NominalY(names...)
	p.Y.Width, p.Y.Tick.Width, p.Y.Tick.Length = 0, 0, 0
	p.Y.Padding = vg.Points(8)
	p.X.Min, p.X.Max = math.Pow(10, math.Floor(math.Log10(low))), high // the labels make themselves room
	p.Y.Min, p.Y.Max = -0.6, float64(len(bars))-0.4
	rules := plotter.NewGrid()
	rules.Vertical, rules.Horizontal.Width = draw.LineStyle{Color: faint, Width: 0.75}, 0
	p.Add(rules)
	for i, b := range bars {
		if err := b.draw(p, float64(i)); err != nil {
			return err
		}
	}
	return saveSVG(file, 640, vg.Length(60+24*len(bars)), p)
}

// draw adds the bar at height y.
func (b bar) draw(p *plot.Plot, y float64) error {
	at := plotter.XYs{{X: b.value.median(), Y: y}}
	stem, err := plotter.NewLine(plotter.XYs{{X: p.X.Min, Y: y}, at[0]})
	if err != nil {
		return err
	}
	stem.LineStyle = draw.LineStyle{Color: b.color, Width: vg.Points(5)}
	whisker, err := plotter.NewLine(plotter.XYs{{X: b.value[0], Y: y}, {X: b.value[2], Y: y}})
	if err != nil {
		return err
	}
	whisker.LineStyle = draw.LineStyle{Color: ink, Width: vg.Points(1.5)}
	dot, err := plotter.NewScatter(at)
	if err != nil {
		return err
	}
	dot.GlyphStyle = draw.GlyphStyle{Color: b.color, Radius: vg.Points(4), Shape: draw.CircleGlyph{}}
	label, err := plotter.NewLabels(plotter.XYLabels{
		XYs:    plotter.XYs{{X: max(b.value[2], b.value.median()), Y: y}},
		Labels: []string{fmt.Sprintf("%s (%s ×)", value(b.value.median(), "ns"), figure(b.ratio))},
	})
	if err != nil {
		return err
	}
	label.Offset = vg.Point{X: vg.Points(8)}
	label.TextStyle[0].Color, label.TextStyle[0].YAlign = ink, text.YCenter
	label.TextStyle[0].Font.Size = 11
	p.Add(stem, whisker, dot, label)
	return nil
}

// decades marks the powers of ten.
type decades struct{}

// Ticks returns the marks between two values above zero.
func (decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for at := math.Pow(10, math.Ceil(math.Log10(low)-1e-9)); at <= high*(1+1e-9); at *= 10 {
		ticks = append(ticks, plot.Tick{Value: at, Label: scaled(at)})
	}
	return ticks
}

// scaled writes a round number of nanoseconds.
func scaled(ns float64) string {
	switch {
	case ns >= 1e6:
		return fmt.Sprintf("%g ms", ns/1e6)
	case ns >= 1e3:
		return fmt.Sprintf("%g µs", ns/1e3)
	default:
		return fmt.Sprintf("%g ns", ns)
	}
}

// thousands writes n with commas.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// saveSVG draws the plots one above the other.
func saveSVG(file string, width, height vg.Length, plots ...*plot.Plot) error {
	canvas := vgsvg.New(width, height)
	area := draw.New(canvas)
	area.FillPolygon(panel, []vg.Point{{X: 0, Y: 0}, {X: width, Y: 0}, {X: width, Y: height}, {X: 0, Y: height}})
	tiles := draw.Tiles{Rows: len(plots), Cols: 1, PadTop: 10, PadBottom: 10, PadLeft: 12, PadRight: 16, PadY: 14}
	column := make([][]*plot.Plot, len(plots))
	for i, p := range plots {
		column[i] = []*plot.Plot{p}
	}
	for i, row := range plot.Align(column, tiles, area) {
		plots[i].Draw(row[0])
	}
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	return os.WriteFile(file, bytes.ReplaceAll(svg.Bytes(), []byte(sans), []byte(fallback)), 0o644)
}
