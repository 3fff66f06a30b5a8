package main

import (
	"fmt"
	"runtime"
	"runtime/metrics"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// holder is a store whose records can be held, which takes memory too.
type holder interface{ hold(n int) }

// footprint measures the bytes of a record beyond key and value, as Value, and
// the processor time of marking the heap once, in ms, as Ratio: the collector has
// nothing else to do.
func (j job) footprint(e effort) ([]samples, error) {
	p, ok := peerOf(j.Peer)
	if !ok {
		return nil, fmt.Errorf("no peer %q", j.Peer)
	}
	got := samples{cell: cell{memory, p.name, setting{N: j.N, Size: j.Size, Procs: runtime.GOMAXPROCS(0)}}}
	if p.module == coherence {
		got.Left = "the heap of another language is not measured"
		return []samples{got}, nil
	}
	before := heap()
	s, err := p.open()
	if err != nil {
		return nil, err
	}
	s.load(j.N, j.Size)
	if h, ok := s.(holder); ok {
		h.hold(j.N)
	}
	taken := heap() - before
	if o, ok := s.(outside); ok {
		taken += o.bytes()
	}
	got.Values = []float64{float64(taken)/float64(j.N) - float64(len(harness.Key(0))+j.Size)}
	for range e.rounds {
		start := marking()
		runtime.GC()
		got.Ratios = append(got.Ratios, (marking()-start)*1e3)
	}
	return []samples{got}, s.close()
}

// heap returns the bytes of the heap that are in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first one finalised or put into the pools' second place
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// marking returns the processor time that marking has taken so far, in seconds.
func marking() float64 {
	parts := []metrics.Sample{
		{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
	}
	metrics.Read(parts)
	var sum float64
	for _, part := range parts {
		sum += part.Value.Float64()
	}
	return sum
}
