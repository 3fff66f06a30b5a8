package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// holder is a store whose records can be held, which takes memory too.
type holder interface{ hold(n int) }

// settler is a store that goes on moving what was loaded.
type settler interface {
	settle() error // returns when it has
}

// collector is a store in another process, with a collector of its own.
type collector interface {
	collect() float64 // processor time of a collection, in ms
}

// collections is how often collecting is measured in a process.
const collections = 5

// footprint measures the bytes of a record beyond key and value, as Value, and
// the processor time of collecting a heap that nobody works on, in ms, as Ratio.
func (j job) footprint() (results []samples, err error) {
	p, ok := peerOf(j.Peer)
	if !ok {
		return nil, fmt.Errorf("no peer %q", j.Peer)
	}
	got := samples{cell: cell{memory, p.name, setting{N: j.N, Size: j.Size, Procs: runtime.GOMAXPROCS(0)}}}
	if p.unweighed != nil {
		got.Left = p.unweighed(j.N)
	}
	if got.Left != "" {
		return []samples{got}, nil
	}
	before := heap()
	s, err := p.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := j.fill(s); err != nil {
		return nil, err
	}
	taken := heap() - before
	if o, ok := s.(outside); ok {
		taken += o.bytes()
	}
	got.Values = []float64{float64(taken)/float64(j.N) - float64(len(harness.Key(0))+j.Size)}
	collect := collectHere
	if c, ok := s.(collector); ok {
		collect = c.collect
	}
	for range collections {
		got.Ratios = append(got.Ratios, collect())
	}
	return []samples{got}, nil
}

// fill loads the records, holds them where they can be, and waits until they are
// where they stay.
func (j job) fill(s store) error {
	s.load(j.N, j.Size)
	if h, ok := s.(holder); ok {
		h.hold(j.N)
	}
	if moving, ok := s.(settler); ok {
		return moving.settle()
	}
	return nil
}

// heap returns the bytes of the heap that are in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first one finalised or put into the pools' second place
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// collectHere collects, and returns the processor time that this took, in ms: of
// marking and sweeping both.
func collectHere() float64 {
	start := processorTime()
	runtime.GC()
	return (processorTime() - start).Seconds() * 1e3
}
