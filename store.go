package fenced

import (
	"context"
	"hash/maphash"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/atomic"
)

// Options configures a [Store]. The zero value is the default.
type Options struct {
	// OnEvent, if not nil, is called with every grant, commit, refusal, renewal
	// and ending, on the goroutine whose call brought it about and before that
	// call returns; a claimant that had to wait reports its own grant. So it is
	// called from several goroutines at once. No lock is held: it may call the store, and calls for one record may come out of
	// order, which Seq puts right. What the event reports has happened
	// whatever OnEvent does. If it panics, the panic travels to the caller of
	// the store, the events left of that call are lost, and the store is as
	// sound as before.
	OnEvent func(Event)

	// ReportOnly admits a commit or delete that only the fence would refuse,
	// and reports it: in Stats.WouldRefuse, and as an event of an accepted
	// write with an Err. All else is judged as always. It tells a fleet how
	// many zombie writes it has before it refuses any; it does not protect.
	ReportOnly bool

	_ struct{}
}

// Store is the in-process [Backend]: records, the grants to write them, and the
// fence between the two. It is safe for concurrent use. The zero Store is
// closed.
type Store struct {
	stripes    [stripes]stripe
	seed       maphash.Seed
	secret     uint64    // of the nonces
	epoch      time.Time // the clock of the store counts from here, and is not moved by the wall clock
	onEvent    func(Event)
	reportOnly bool
	closing    sync.Once
	sweeps     atomic.Uint32 // done, to begin each at another stripe
	waiters    sync.Pool     // of *waiter; not shared, as their channels belong to one synctest bubble
}

// NewStore returns an empty store. Its grants are its own: those of another
// store, or of an earlier one under the same name, are foreign to it.
func NewStore(opts Options) *Store {
	s := &Store{
		seed:       maphash.MakeSeed(),
		secret:     rand.Uint64(),
		epoch:      time.Now(),
		onEvent:    opts.OnEvent,
		reportOnly: opts.ReportOnly,
	}
	for i := range s.stripes {
		st := &s.stripes[i]
		st.store, st.open, st.generation = s, true, 1
		st.records = make(table)
	}
	return s
}

// now is the time on the store's clock, which is the monotonic one. Law NoClock:
// nothing that decides whether a write is safe calls it.
func (s *Store) now() int64 { return int64(time.Since(s.epoch)) }

func (s *Store) timeAt(t int64) time.Time { return s.epoch.Add(time.Duration(t)) }

// Close ends the store. Claimants that wait get [ErrClosed], as does every later
// call but Stats and Close; the contexts of grants end with it as their cause.
// Values and grants are gone. It returns nil.
func (s *Store) Close() error {
	s.closing.Do(func() {
		var all []notices
		for i := range s.stripes {
			all = s.stripes[i].close(all)
		}
		for i := range all {
			all[i].wake()
		}
		for i := range all {
			s.send(&all[i])
		}
	})
	return nil
}

// close closes st and appends what is to be told.
func (st *stripe) close(all []notices) []notices {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.open = false
	for _, r := range st.records {
		if r.holding != nil && r.holding.crowd != nil {
			all = append(all, r.holding.crowd.close())
		}
	}
	st.records, st.expiries, st.spare = nil, nil, nil
	return all
}

// Read returns the record as of one instant: value, version and generation
// belong together. An absent record is no error, its Value is nil. The slice
// is the caller's own. Errors: [ErrInvalid], [ErrClosed], that of ctx.
func (s *Store) Read(ctx context.Context, key string) (Record, error) {
	var v Record
	err := s.read(ctx, key, &v)
	return v, err
}

// read sets v to the record of key.
func (s *Store) read(ctx context.Context, key string, v *Record) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	st, hash := s.locate(key)
	st.mu.Lock()
	r := st.records.find(key, hash)
	if r == nil {
		err := st.readAbsent(key, v)
		st.mu.Unlock()
		return err
	}
	*v = st.view(key, r)
	v.Value = copyOf(r.value)
	st.mu.Unlock()
	return nil
}

// readAbsent sets v to the record of a key not seen before. A key that was seen
// needs no check.
func (st *stripe) readAbsent(key string, v *Record) error {
	if !st.open {
		return ErrClosed
	}
	if err := CheckKey(key); err != nil {
		return err
	}
	*v = st.view(key, nil)
	return nil
}

// All yields every record that exists, each as of the moment it is yielded, in
// no order. A record that comes or goes meanwhile may be yielded or not. No
// lock is held while the loop's body runs, so it may call the store. The
// slices are the caller's own. A closed store yields nothing.
func (s *Store) All() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		var records []*record
		for i := range s.stripes {
			st := &s.stripes[i]
			st.mu.Lock()
			records = records[:0]
			for _, r := range st.records {
				records = append(records, r)
			}
			st.mu.Unlock()
			for _, r := range records {
				if v, ok := st.existing(r); ok && !yield(v) {
					return
				}
			}
		}
	}
}

// existing returns r as it is now, and whether it exists.
func (st *stripe) existing(r *record) (Record, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.open || !r.exists() {
		return Record{}, false
	}
	v := st.view(r.key, r)
	v.Value = copyOf(r.value)
	return v, true
}

// Stats returns the counts so far, of a closed store those up to then.
func (s *Store) Stats() Stats {
	var sum Stats
	var held shares
	for i := range s.stripes {
		st := &s.stripes[i]
		st.mu.Lock()
		sum.add(&st.count)
		sum.Records += uint64(st.exist)
		held.add(st.shares)
		st.mu.Unlock()
	}
	sum.Held = held.distribution()
	return sum
}
