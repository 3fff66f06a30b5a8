package main

import (
	"bytes"
	"strings"
	"testing"
)

// measured is a small report: a contender is ahead of compare-and-swap at reading,
// and behind at the rest.
func measured() *report {
	on := setting{N: 100, Size: little, Procs: 1}
	at := func(work, peer string, ratio float64) samples {
		return samples{cell: cell{work, peer, on}, Values: []float64{100 * ratio}, Base: []float64{100}, Ratios: []float64{ratio}}
	}
	return &report{Results: pool([]samples{
		at(update, swapPeer.name, 1.2), at(update, xsyncPeer.name, 1.5), at(update, grantPeer.name, 0.3),
		at(read, swapPeer.name, 1.1), at(read, xsyncPeer.name, 0.6), at(cycle, grantPeer.name, 2.5),
		{cell: cell{update, memdbPeer.name, on}, Left: "it rains"},
	})}
}

func TestGrid(t *testing.T) {
	r := measured()
	on := setting{N: 100, Size: little, Procs: 1}
	g := grid{rows: []string{floorPeer.name, swapPeer.name, xsyncPeer.name, memdbPeer.name}, unit: "ns", base: floorPeer.name}
	for _, work := range []string{update, read, cycle} {
		g.columns = append(g.columns, column{work, cell{Work: work, setting: on}})
	}
	var b bytes.Buffer
	g.print(&b, r, swapPeer.name)
	want := `| | update | read | cycle |
|---|---|---|---|
| floor: mutexes and maps | 100 ns | 100 ns | – |
| fenced: read, compare-and-swap | 1.20 [1.20 .. 1.20] | 1.10 [1.10 .. 1.10] | – |
| xsync Map.Compute | 1.50 [1.50 .. 1.50] | **0.60** [0.60 .. 0.60] | – |
| go-memdb | – (1) | – | – |

1. It rains.

`
	if b.String() != want {
		t.Fatalf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestWins(t *testing.T) {
	var b bytes.Buffer
	measured().printWins(&b)
	for _, want := range []string{
		`**xsync Map.Compute**, read: ahead of "fenced: read, compare-and-swap" in 1 of 1 (100 × 64 B 0.55 of its time): its reads take no lock`,
		`**floor: mutexes and maps**, read, derive, write if unchanged: ahead of "fenced: read, compare-and-swap" in 1 of 1 (100 × 64 B 0.83 of its time)`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "**xsync Map.Compute**, read, derive") || strings.Contains(b.String(), "**fenced") {
		t.Errorf("a win too many in\n%s", b.String())
	}
}

func TestReasons(t *testing.T) {
	for _, p := range all() {
		if p.how == "" {
			t.Errorf("%s: it is not said how it is used", p.name)
		}
		if p.module == coherence || p.name == grantPeer.name || p.name == swapPeer.name {
			continue
		}
		if p.wins == "" || p.small == "" || p.still == "" {
			t.Errorf("%s: it may win, and it is not said why", p.name)
		}
	}
}

// The results name the versions of all that was measured.
func TestVersions(t *testing.T) {
	found := versions()
	for _, p := range all() {
		if p.module != "" && found[p.module] == "" {
			t.Errorf("no version of %s", p.module)
		}
	}
	for _, q := range queues {
		if q.module != "" && found[q.module] == "" {
			t.Errorf("no version of %s", q.module)
		}
	}
}

func TestValue(t *testing.T) {
	for want, got := range map[string]string{
		"71 ns": value(71.3, "ns"), "9999 ns": value(9999, "ns"), "12.3 µs": value(12_345, "ns"), "1.50 ms": value(1_500_000, "ns"),
		"0.46 ms": value(0.46, "ms"), "82 B": value(82.1, "B"), "1 KiB": size(1024), "64 B": size(64),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestRounded(t *testing.T) {
	for v, want := range map[float64]float64{0: 0, 1.23456: 1.235, 123456: 123500, 0.00012345678: 0.0001235, -12345: -12350} {
		if got := rounded(v); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%v is rounded to %v, want %v", v, got, want)
		}
	}
}
