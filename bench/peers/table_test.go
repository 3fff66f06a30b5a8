package main

import (
	"bytes"
	"strings"
	"testing"
)

// on is where the small reports were measured.
var on = setting{N: 100, Size: little, Procs: 1}

// took are the samples of a cell in which the floor took 100 ns.
func took(work, peer string, ratios ...float64) samples {
	got := samples{cell: cell{work, peer, on}, Ratios: ratios}
	for _, ratio := range ratios {
		got.Values, got.Base = append(got.Values, 100*ratio), append(got.Base, 100)
	}
	return got
}

// measured is a small report: a contender is ahead of compare-and-swap at reading,
// and behind at the rest.
func measured() *report {
	slow := took(update, otterPeer.name, 1.0)
	slow.Base = []float64{200}
	return &report{Results: pool([]samples{
		took(update, floorPeer.name, 0.9), took(read, floorPeer.name, 0.9, 1, 1.2),
		took(update, swapPeer.name, 1.2), took(update, xsyncPeer.name, 1.5), took(update, grantPeer.name, 0.3), slow,
		took(read, swapPeer.name, 1.1), took(read, xsyncPeer.name, 0.6), took(cycle, grantPeer.name, 2.5),
		{cell: cell{update, memdbPeer.name, on}, Left: "it rains"},
	})}
}

func TestGrid(t *testing.T) {
	r := measured()
	g := grid{rows: []string{floorPeer.name, swapPeer.name, xsyncPeer.name, otterPeer.name, memdbPeer.name}, unit: "ns", base: floorPeer.name}
	for _, work := range []string{update, read, cycle} {
		g.columns = append(g.columns, column{work, cell{Work: work, setting: on}})
	}
	var b bytes.Buffer
	g.print(&b, r, swapPeer.name)
	want := `| | update | read | cycle |
|---|---|---|---|
| floor: mutexes and maps | 0.90 [0.90 .. 0.90], 90 ns | 1.00 [1.00 .. 1.20], 100 ns | – |
| fenced: read, compare-and-swap | 1.20 [1.20 .. 1.20] | 1.10 [1.10 .. 1.10] | – |
| xsync Map.Compute | 1.50 [1.50 .. 1.50] | **0.60** [0.60 .. 0.60] | – |
| otter Cache.Compute | **1.00** [1.00 .. 1.00] †2.00 | – | – |
| go-memdb | – (1) | – | – |

(1) It rains.

`
	if b.String() != want {
		t.Fatalf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// Ahead is who is further ahead than the noise.
func TestAhead(t *testing.T) {
	for _, c := range []struct {
		name         string
		q, of        quartiles
		ahead, apart bool
	}{
		{"apart", quartiles{0.96, 0.97, 0.98}, quartiles{0.99, 1, 1.01}, true, true},
		{"close, and overlapping", quartiles{0.9, 0.97, 1}, quartiles{0.99, 1, 1.01}, false, false},
		{"far, and overlapping", quartiles{0.7, 0.9, 1}, quartiles{0.99, 1, 1.01}, true, false},
		{"behind", quartiles{1.2, 1.3, 1.4}, quartiles{0.99, 1, 1.01}, false, false},
	} {
		if got := c.q.ahead(c.of); got != c.ahead {
			t.Errorf("%s: ahead %v", c.name, got)
		}
		if got := c.q.apart(c.of); got != c.apart {
			t.Errorf("%s: apart %v", c.name, got)
		}
	}
}

// What the floor took beside a contender is compared with what it takes beside
// itself, and not pooled with it.
func TestStrain(t *testing.T) {
	r := measured()
	for peer, want := range map[string]float64{xsyncPeer.name: 1, otterPeer.name: 2, floorPeer.name: 1} {
		if got := r.strain(cell{update, peer, on}); got != want {
			t.Errorf("%s: %v, want %v", peer, got, want)
		}
	}
	if got, _ := r.find(cell{update, floorPeer.name, on}); got.Value.median() != 90 || got.Rounds != 1 {
		t.Errorf("the floor's own time is that of other jobs too: %+v", got)
	}
}

func TestWins(t *testing.T) {
	var b bytes.Buffer
	measured().printWins(&b)
	want := `- **floor: mutexes and maps**: *update* ahead in 1 of 1 cell, 0.83 of fenced's time: it keeps no grants, leases, generations or counts; *read* ahead in 1 of 1 cell, 0.91 of fenced's time: it gives out value and version, while a record of fenced also tells holder, lease and generation.
- **xsync Map.Compute**: *read* ahead in 1 of 1 cell, 0.55 of fenced's time: its reads take no lock.
- **otter Cache.Compute**: *update* ahead in 1 of 1 cell, 1 of them marked †, 0.83 of fenced's time: half of it is a read, which takes no lock, and it keeps no grants, leases, generations or counts.
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// Memory is set against fenced with no record held, and a collection is ahead
// only if the quartiles do not overlap.
func TestWinsOfMemory(t *testing.T) {
	takes := func(peer string, bytes float64, ms ...float64) samples {
		return samples{cell: cell{memory, peer, on}, Values: []float64{bytes}, Ratios: ms}
	}
	r := &report{Results: pool([]samples{
		takes(swapPeer.name, 120, 10, 20, 30), takes(grantPeer.name, 200, 40),
		takes(memdbPeer.name, 150, 9, 12, 28), takes(otterPeer.name, 80, 5),
	})}
	var b bytes.Buffer
	r.printWins(&b)
	want := `- **otter Cache.Compute**: 80 B *a record* instead of 120 B, 5.00 ms *a collection* instead of 20.0 ms: it keeps no grants, leases, generations or counts.
- Memory and collections are those of 100 records. With every one of them held, which no other can do, fenced takes 200 B a record instead of 120 B, and 40.0 ms a collection instead of 20.0 ms.
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// The page says how much was measured, and warns of a busy machine.
func TestHead(t *testing.T) {
	r := measured()
	r.Cores = [2]float64{1.9, 1.7}
	var b bytes.Buffer
	r.printHead(&b)
	for _, want := range []string{"Measured on a busy machine", "Comparisons: 1 process, 3 rounds in all."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	r.Cores[1] = 1.8
	b.Reset()
	r.printHead(&b)
	if strings.Contains(b.String(), "busy") {
		t.Errorf("a warning too many in\n%s", b.String())
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
		"12.3 µs [11.0 .. 14.0]": spread(quartiles{11_000, 12_345, 14_000}, "ns"), "80 B": spread(quartiles{80, 80, 80}, "B"),
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
