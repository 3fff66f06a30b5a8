package fenced

import (
	"context"
	"errors"
	"time"
)

// DefaultEvery is how often a [Supervisor] looks unless told otherwise.
const DefaultEvery = time.Second

// Supervisor reclaims the grants of dead and hung workers, so that their
// records become free without anyone asking for them. A store makes progress
// without one: claimants take lapsed grants over. Several may run beside each
// other. The zero Supervisor lacks a Backend.
type Supervisor struct {
	Backend   Backend
	Every     time.Duration // from one sweep to the next; 0: DefaultEvery
	Reclaimed func(Grant)   // if not nil, called with every grant it reclaimed, as it was

	_ struct{}
}

// Run sweeps at once and then again and again until ctx ends or the store is
// closed, and returns that error. A sweep that fails otherwise is not the last;
// if the latest one failed, its error comes joined. Other errors: [ErrInvalid].
func (s *Supervisor) Run(ctx context.Context) error {
	switch {
	case s == nil || s.Backend == nil:
		return invalid("supervisor without a backend")
	case s.Every < 0:
		return invalid("negative Every %v", s.Every)
	}
	if err := checkContext(ctx); err != nil {
		return err
	}
	every := s.Every
	if every == 0 {
		every = DefaultEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		ended, err := s.Backend.ReclaimExpired(ctx, 0)
		if s.Reclaimed != nil {
			for _, g := range ended {
				s.Reclaimed(g)
			}
		}
		if errors.Is(err, ErrClosed) {
			return err
		}
		select {
		case <-ctx.Done():
			if err != nil && !errors.Is(err, ctx.Err()) {
				return errors.Join(ctx.Err(), err)
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}
