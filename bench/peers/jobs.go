package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// job is what a fresh process measures: a peer beside the floor, on one size of
// store, so that nobody collects another's garbage.
type job struct {
	Kind string // compare, grow, memory, sweep or handover
	Peer string
	N    int
	Size int
}

func (j job) String() string {
	return fmt.Sprintf("%s: %s, %s records of %d bytes", j.Kind, j.Peer, harness.Short(j.N), j.Size)
}

// The kinds of job that are not named after the one work they do.
const (
	comparing = "compare" // all that a peer does on a store of this size
	growing   = "grow"    // one point of a plot
)

// scale are the numbers of records.
type scale struct{ small, mid, large, huge int }

var (
	full  = scale{1_000, 100_000, 1_000_000, 5_000_000}
	quick = scale{1_000, 10_000, 100_000, 500_000}
)

// The sizes of a value.
const (
	little = 64
	big    = 1024
)

// jobs returns everything that is measured: what once in each process, and what
// once in all, since it is no matter of the layout of the program or takes long.
func (s scale) jobs() (each, once []job) {
	for _, n := range []int{s.small, s.mid, s.large} {
		for _, size := range []int{little, big} {
			for _, p := range all() {
				if j := (job{comparing, p.name, n, size}); p.module == coherence || p.slow && n == s.large {
					once = append(once, j)
				} else {
					each = append(each, j)
				}
			}
		}
	}
	for _, n := range s.growth() {
		switch n {
		case s.small, s.mid, s.large: // compared
		case s.huge:
			once = append(once, job{growing, grantPeer.name, n, little})
		default:
			each = append(each, job{growing, grantPeer.name, n, little})
		}
	}
	each = append(each, job{sweep, grantPeer.name, s.large, little}, job{handOver, grantPeer.name, 1, little})
	for _, p := range all() {
		for _, n := range []int{s.large, s.huge} {
			once = append(once, job{memory, p.name, n, little})
		}
	}
	for _, n := range s.growth() {
		if n < s.large {
			for _, p := range []peer{floorPeer, grantPeer} {
				once = append(once, job{memory, p.name, n, little})
			}
		}
	}
	return each, once
}

// growth returns the numbers of records that growth is plotted over.
func (s scale) growth() []int {
	var points []int
	for n := s.small; n <= s.large; n *= 10 {
		points = append(points, n)
	}
	return append(points, s.huge)
}

// task is a work in a setting.
type task struct {
	work string
	on   setting
}

// tasks returns what a comparing job does, in an order that the loops of fenced
// rely on: first those that need the grants' own values, last those that end
// grants.
func (s scale) tasks(n, size int) []task {
	uniform := setting{N: n, Size: size, Procs: 1}
	hot, two := uniform, uniform
	hot.Hot, two.Procs = true, 2
	hotTwo := setting{N: n, Size: size, Hot: true, Procs: 2}
	tasks := []task{{update, uniform}, {update, hot}, {update, two}, {update, hotTwo}}
	if size == little {
		tasks = append(tasks, task{write, uniform})
	}
	if n == s.mid && size == little {
		tasks = append(tasks, task{write, hot}, task{read, uniform}, task{read, two},
			task{refused, uniform}, task{cycle, uniform}, task{ended, uniform})
	}
	return tasks
}

// skipped returns what the job would have measured, with the reason why it was
// not.
func (j job) skipped(s scale, reason string) []samples {
	p, _ := peerOf(j.Peer)
	works := s.tasks(j.N, j.Size)
	if j.Kind == memory {
		works = []task{{memory, setting{N: j.N, Size: j.Size, Procs: runtime.GOMAXPROCS(0)}}}
	}
	var results []samples
	for _, t := range works {
		if _, able := p.loops[t.work]; able || t.work == memory {
			results = append(results, samples{cell: cell{t.work, p.name, t.on}, Left: reason})
		}
	}
	return results
}

// run does the job, here.
func (j job) run(s scale, e effort) ([]samples, error) {
	switch j.Kind {
	case comparing:
		return j.compare(s.tasks(j.N, j.Size), e)
	case growing:
		return j.compare([]task{{write, setting{N: j.N, Size: j.Size, Procs: 1}}}, e)
	case memory:
		return j.footprint()
	case sweep:
		return j.sweeps(s, e), nil
	case handOver:
		return handOvers(e), nil
	}
	return nil, fmt.Errorf("no kind of job %q", j.Kind)
}

// compare does the tasks with the peer and with the floor.
func (j job) compare(tasks []task, e effort) (results []samples, err error) {
	p, ok := peerOf(j.Peer)
	if !ok {
		return nil, fmt.Errorf("no peer %q", j.Peer)
	}
	var todo []task
	for _, t := range tasks {
		if _, able := p.loops[t.work]; !able {
			continue
		}
		reason := p.leftOut(t.on)
		if t.on.Procs > runtime.NumCPU() {
			reason = "there is one processor"
		}
		if reason == "" {
			todo = append(todo, t)
		} else {
			results = append(results, samples{cell: cell{t.work, p.name, t.on}, Left: reason})
		}
	}
	if len(todo) == 0 {
		return results, nil
	}
	subject, err := p.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, subject.close()) }() // after a panic too: it may be a file
	subject.load(j.N, j.Size)
	base, err := floorPeer.open()
	if err != nil {
		return nil, err
	}
	base.load(j.N, j.Size)
	for _, t := range todo {
		results = append(results, t.compare(p, subject, base, e))
	}
	return results, nil
}

// compare does the task with the subject, which is p's, and with the floor, on as
// many processors as it says.
func (t task) compare(p peer, subject, base store, e effort) samples {
	baseWork := t.work
	if other, ok := against[t.work]; ok {
		baseWork = other
	}
	do, baseDo := p.loops[t.work](subject, t.on), floorPeer.loops[baseWork](base, t.on)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(t.on.Procs))
	lanes := lanesOf(t.on)
	got := compare(sideOf(do, lanes, max(e.turn, p.turn)), sideOf(baseDo, lanes, e.turn), e)
	got.cell = cell{t.work, p.name, t.on}
	return got
}
