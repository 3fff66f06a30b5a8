package fenced

// Stats counts what a store has seen since it was made. Each number is exact;
// together they are not of one instant. The zero value is that of a store
// nobody has used.
type Stats struct {
	Records uint64 // records that exist
	Live    uint64 // grants that are current, lapsed or not

	Grants   uint64 // issued
	Renewals uint64 // leases renewed
	Commits  uint64 // values written under a grant
	Deletes  uint64 // records deleted, under a grant or without
	Swaps    uint64 // values written without a grant

	RefusedVersion    uint64 // commits and deletes, with a grant or without, that the version alone refused
	RefusedGeneration uint64 // commits and deletes that the fence alone refused: a version check would have let them pass
	RefusedBoth       uint64 // commits and deletes that both refused
	RefusedHeld       uint64 // calls that got ErrGrantHeld

	Released  uint64 // grants ended by their holder
	Reclaimed uint64 // grants ended by a supervisor
	TakenOver uint64 // grants ended by a claimant, after their lease had lapsed

	Overruns    uint64 // grants released by their holder after their lease had lapsed: near misses
	WouldRefuse uint64 // writes admitted only because of report-only mode

	Held Distribution // how long grants were held, as a share of their lease
}

// Distribution sums up the shares of their leases that grants were held for
// before they ended; 1.0 is the whole lease. What is left to 1.0 is the leeway
// before the first zombie. Each renewal starts the lease anew, and the grant
// counts with the largest share that any of its leases reached.
//
// P50 and P99 are right to 1/64 up to twice the lease, above that to 1/8 of
// themselves; Max is exact. The zero value is that of no grants.
type Distribution struct {
	P50, P99, Max float64
}

func (s *Stats) add(other *Stats) {
	s.Live += other.Live
	s.Grants += other.Grants
	s.Renewals += other.Renewals
	s.Commits += other.Commits
	s.Deletes += other.Deletes
	s.Swaps += other.Swaps
	s.RefusedVersion += other.RefusedVersion
	s.RefusedGeneration += other.RefusedGeneration
	s.RefusedBoth += other.RefusedBoth
	s.RefusedHeld += other.RefusedHeld
	s.Released += other.Released
	s.Reclaimed += other.Reclaimed
	s.TakenOver += other.TakenOver
	s.Overruns += other.Overruns
	s.WouldRefuse += other.WouldRefuse
}

// end counts a grant that ended.
func (s *Stats) end(how Ending) {
	switch how {
	case Released:
		s.Released++
	case Reclaimed:
		s.Reclaimed++
	case TakenOver:
		s.TakenOver++
	}
}
