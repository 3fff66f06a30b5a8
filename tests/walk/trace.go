package walk

import (
	"fmt"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/tests/model"
	"github.com/fencedgo/fenced/tests/trace"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Trace makes a history of the given number of steps, each chosen by choose out
// of n, on a store of its own, and returns its events. They are those that the
// model predicts, or there is an error.
func Trace(steps int, choose func(n int) int) ([]trace.Line, error) {
	var recorder trace.Recorder
	s := NewStore(fenced.Options{OnEvent: recorder.OnEvent})
	s.isTraced = true
	w := s.Begin()
	for range steps {
		now := w.Steps()
		if err := w.Take(now[choose(len(now))], true); err != nil {
			return nil, err
		}
	}
	got := recorder.Lines()
	if diff := cmp.Diff(s.predicted, got, cmpopts.IgnoreFields(trace.Line{}, "Seq")); diff != "" {
		return nil, w.differs("events", diff)
	}
	for i := 1; i < len(got); i++ {
		if got[i-1].Seq >= got[i].Seq {
			return nil, fmt.Errorf("events do not rise in number: %+v, %+v", got[i-1], got[i])
		}
	}
	return got, s.actual.Store.Close()
}

// predict notes the events of the step s, which found the record as it was and
// came to o.
func (w *World) predict(was model.Record, s Step, o model.Outcome) {
	if !w.isTraced {
		return
	}
	l := trace.Line{Key: w.key, Kind: string(s.Op)}
	ending := trace.Line{Key: w.key, Holder: was.Holder, Generation: was.Generation}
	switch s.Op {
	case model.TryAcquire:
		l.Holder = s.Holder
	case model.Renew, model.Commit, model.Delete, model.Release:
		l.Holder, l.Generation = s.Grant.Holder, s.Grant.Generation
	case model.Reclaim:
		l.Generation = s.Seen
	}
	if o.Refused != 0 {
		presented := trace.Numbers{Version: s.Version, Generation: l.Generation, Holder: l.Holder}
		if s.Op == model.Commit || s.Op == model.Delete || s.Op == model.Renew || s.Op == model.Release {
			presented.Version = s.Grant.Version
		}
		l.Refused = &trace.Refusal{
			Reasons:   o.Refused.String(),
			Presented: presented,
			Current:   trace.Numbers{Version: was.Version, Generation: was.Generation, Holder: was.Holder},
		}
		w.predicted = append(w.predicted, l)
		return
	}
	switch s.Op {
	case model.TryAcquire:
		if was.Held {
			ending.Kind = "take-over"
			w.predicted = append(w.predicted, ending)
		}
		l.Generation = o.View.Generation
	case model.Commit, model.Delete, model.CompareAndSwap, model.CompareAndDelete:
		l.Version = o.View.Version
	case model.Release, model.Reclaim:
		ending.Kind = string(s.Op)
		l = ending
	case model.Sweep:
		if len(o.Swept) == 0 {
			return
		}
		ending.Kind = "reclaim"
		l = ending
	}
	w.predicted = append(w.predicted, l)
}
