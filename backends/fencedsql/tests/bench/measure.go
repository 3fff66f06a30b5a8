package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// effort is how much is measured.
type effort struct{ rounds, turns, batch int }

// side is one of two that are compared: what it does once.
type side struct {
	what string
	do   func(ctx context.Context, n int) error // n counts the calls
	n    int
}

// row is a comparison. The round trips of both are counted.
type row struct {
	subject, baseline *side
	bar               float64 // 0: none
	trips             func() int64
}

func (s *side) turn(ctx context.Context, times int) (time.Duration, error) {
	start := time.Now()
	for range times {
		if err := s.once(ctx); err != nil {
			return 0, fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return time.Since(start) / time.Duration(times), nil
}

// once is under a deadline, as every call of a program to its database should be.
func (s *side) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s.n++
	return s.do(ctx, s.n-1)
}

// result is what was measured for a row: one value a round.
type result struct {
	ratios         []float64
	took           [2][]float64 // of one operation, in µs: subject, baseline
	subject, plain float64      // round trips of one operation
}

// measure has both sides take turns, who goes first by chance; what an
// operation takes in a round is the median of the turns.
func (e effort) measure(ctx context.Context, r row) (result, error) {
	sides := [2]*side{r.subject, r.baseline}
	var got result
	for i, trips := range [2]*float64{&got.subject, &got.plain} {
		if _, err := sides[i].turn(ctx, e.batch); err != nil { // prepares statements
			return got, err
		}
		before := r.trips()
		if _, err := sides[i].turn(ctx, e.batch); err != nil {
			return got, err
		}
		*trips = float64(r.trips()-before) / float64(e.batch)
	}
	for range e.rounds {
		var took [2][]float64
		for range e.turns {
			for _, i := range rand.Perm(2) {
				d, err := sides[i].turn(ctx, e.batch)
				if err != nil {
					return got, err
				}
				took[i] = append(took[i], float64(d.Nanoseconds())/1e3)
			}
		}
		subject, baseline := quantile(took[0], .5), quantile(took[1], .5)
		got.ratios = append(got.ratios, subject/baseline)
		got.took[0], got.took[1] = append(got.took[0], subject), append(got.took[1], baseline)
	}
	return got, nil
}

func quantile(values []float64, q float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return v[int(q*float64(len(v)-1)+.5)]
}

// print measures rows and prints them.
func (e effort) print(ctx context.Context, title string, rows []row) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', tabwriter.Debug)
	fmt.Fprintf(w, "%s\t against\t ratio [q1 .. q3]\t bar\t µs\t µs against\t statements\t against\t\n", title)
	for _, r := range rows {
		got, err := e.measure(ctx, r)
		if err != nil {
			return err
		}
		ratio := quantile(got.ratios, .5)
		bar := ""
		if r.bar > 0 {
			bar = fmt.Sprintf("≤ %.2f %s", r.bar, map[bool]string{true: "met", false: "MISSED"}[ratio <= r.bar])
		}
		fmt.Fprintf(w, "%s\t %s\t %.2f [%.2f .. %.2f]\t %s\t %.0f\t %.0f\t %s\t %s\t\n", r.subject.what, r.baseline.what,
			ratio, quantile(got.ratios, .25), quantile(got.ratios, .75), bar,
			quantile(got.took[0], .5), quantile(got.took[1], .5), number(got.subject), number(got.plain))
	}
	return w.Flush()
}

// number writes a count without a fraction of nothing.
func number(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }
