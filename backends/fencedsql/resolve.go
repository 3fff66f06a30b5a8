package fencedsql

import (
	"context"

	"github.com/fencedgo/fenced"
)

// Outcome is what became of a commit or delete whose reply was lost. The zero
// value is Unknown.
type Outcome uint8

// The outcomes.
const (
	Unknown   Outcome = iota // it has not landed so far, but may yet; or the database no longer knows
	Landed                   // it has landed
	NotLanded                // it has not landed and never will
)

func (o Outcome) String() string {
	switch o {
	case Landed:
		return "landed"
	case NotLanded:
		return "not landed"
	default:
		return "unknown"
	}
}

// Resolve says what became of the commit or delete that g was presented to and
// that returned [fenced.ErrUncertain]; g is as it was presented, at the version
// before. It goes by the grants that the record was written and held under, and
// by the versions it had then, never by values: so of several writes presented at
// one version of one grant it says whether any has landed. One round trip.
//
// As long as g is current, a write that has not landed may still be on its way,
// and the answer is Unknown. To know, end the grant, by [Store.Release] or
// [Store.Reclaim], and resolve again: what has not landed by then is refused
// when it arrives. So the answer is certain until the grant after g has ended
// too; later it can be Unknown for good.
//
// Errors: [fenced.ErrForeignGrant], of a grant that the database does not know,
// as after a failover or restore that lost it, [fenced.ErrInvalid],
// [fenced.ErrClosed], that of ctx, those of the database.
func (s *Store) Resolve(ctx context.Context, g fenced.Grant) (Outcome, error) {
	if err := s.live(ctx); err != nil {
		return Unknown, err
	}
	if err := fenced.CheckGrant(g); err != nil {
		return Unknown, err
	}
	r, err := s.look(ctx, "resolve", g.Key, &s.st.look)
	if err != nil {
		return Unknown, err
	}
	if r.foreign(g) {
		return Unknown, r.conflict("resolve", g.Record, foreign)
	}
	return r.resolve(g), nil
}

// resolve says what became of a write under g, which is not foreign. While a
// grant is current nobody else writes, so every version that the record passed
// then was passed under it, and no other.
func (r row) resolve(g fenced.Grant) Outcome {
	switch {
	case r.holds(g):
		return passed(r.claimedAt, r.Version, g.Version, Unknown)
	case g.Generation+1 == r.Generation:
		return passed(r.endedClaimed, r.endedVersion, g.Version, NotLanded)
	case r.Version <= g.Version:
		return NotLanded
	case r.Version > g.Version+1:
		return Unknown // whose step this was has been forgotten
	case r.writer == writer{g.Generation, g.Nonce()}:
		return Landed
	default:
		return NotLanded // someone else made this one step
	}
}

// passed says whether a grant that was issued at one version, and so far came to
// another, has made the step from version: ahead is the answer where it has not
// come so far.
func passed(issued, came, version fenced.Version, ahead Outcome) Outcome {
	switch {
	case version < issued:
		return NotLanded
	case version < came:
		return Landed
	default:
		return ahead
	}
}
