package fencedsql

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/fencedgo/fenced"
)

// row is a record with all that the database keeps of it, as a step left or
// found it. The zero row is that of a record without one.
type row struct {
	fenced.Record
	wrote        bool      // the step did
	lost         bool      // or may have, at a try whose answer was lost
	sent         time.Time // when the step was, at the latest try, by the clock of this process
	held         bool
	exists       bool // also where the value was not asked for
	nonce        uint64
	now          time.Time      // when the step looked, by the server's clock
	claimedAt    fenced.Version // where the current grant was issued
	ended        fenced.Ending  // of the grant before, as all of the next
	endedAt      time.Time
	endedNonce   uint64
	endedClaimed fenced.Version // where it was issued
	endedVersion fenced.Version // where it ended
	writer       writer
}

// writer is the grant that wrote last. The zero writer is none: a write without
// a grant.
type writer struct {
	generation fenced.Generation
	nonce      uint64
}

// instant is a time as either dialect has it: zero for null.
type instant struct{ time.Time }

func (i *instant) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		i.Time = time.Time{}
	case time.Time:
		i.Time = v
	case int64:
		i.Time = time.UnixMilli(v)
	default:
		return fmt.Errorf("fencedsql: %T is no instant", v)
	}
	return nil
}

// scan reads a row of all columns.
func scan(cells scanner) (row, error) {
	var r row
	var n stored
	var now instant
	var claimedAt, endedClaimed, endedVersion, writerGeneration, writerNonce int64
	if err := cells.Scan(&r.wrote, &r.Key, &r.Value, &r.exists, &n.version, &n.generation, &n.holder, &n.nonce, &n.expires, &now, &claimedAt,
		&n.ended, &n.endedAt, &n.endedNonce, &endedClaimed, &endedVersion, &writerGeneration, &writerNonce); err != nil {
		return row{}, err
	}
	n.into(&r)
	r.Key, r.now, r.claimedAt = unescape.Replace(r.Key), now.Time, fenced.Version(claimedAt)
	r.endedClaimed, r.endedVersion = fenced.Version(endedClaimed), fenced.Version(endedVersion)
	r.writer = writer{fenced.Generation(writerGeneration), uint64(writerNonce)}
	if r.exists && r.Value == nil {
		r.Value = []byte{} // not every driver tells empty from null
	}
	return r, nil
}

// scanVerdict reads a row of what a write under a grant is judged by.
func scanVerdict(cells scanner) (row, error) {
	var r row
	var n stored
	if err := cells.Scan(&r.wrote, &n.version, &n.generation, &n.holder, &n.nonce, &n.expires, &n.ended, &n.endedAt, &n.endedNonce); err != nil {
		return row{}, err
	}
	n.into(&r)
	return r, nil
}

// stored is a part of a row as databases have it: numbers are int64 bit by bit.
type stored struct {
	version, generation, endedNonce int64
	holder                          sql.NullString
	nonce                           sql.NullInt64
	expires, endedAt                instant
	ended                           uint8
}

func (n *stored) into(r *row) {
	r.Version, r.Generation = fenced.Version(n.version), fenced.Generation(n.generation)
	r.held, r.nonce, r.Holder, r.Expires = n.nonce.Valid, uint64(n.nonce.Int64), unescape.Replace(n.holder.String), n.expires.Time
	r.ended, r.endedAt, r.endedNonce = fenced.Ending(n.ended), n.endedAt.Time, uint64(n.endedNonce)
}

// of returns r as the row of key, of which there may be none.
func (r row) of(key string) row {
	r.Key, r.Generation = key, max(r.Generation, 1)
	return r
}

// view returns the record without its value.
func (r row) view() fenced.Record {
	v := r.Record
	v.Value = nil
	return v
}

func (r row) grant() fenced.Grant { return fenced.NewGrant(r.Record, r.nonce) }

// until is the end of the lease by the clock of this process, or a little before:
// what the server measured of it began when the step was sent, at the earliest.
func (r row) until() time.Time { return r.sent.Add(r.Expires.Sub(r.now)) }

// lapsed reports whether the lease had ended when the step looked.
func (r row) lapsed() bool { return r.held && !r.now.Before(r.Expires) }

// holds is the one question that commit, delete, renew, release and Guard ask:
// is g the current grant? The statements ask it too, see current.
func (r row) holds(g fenced.Grant) bool {
	return r.held && r.Generation == g.Generation && r.nonce == g.Nonce()
}

// foreign reports whether g was never issued, as far as the row can tell: it
// knows the marks of the current grant and of the one before.
func (r row) foreign(g fenced.Grant) bool {
	switch {
	case g.Nonce() == 0 || g.Generation > r.Generation:
		return true
	case g.Generation == r.Generation:
		return !r.holds(g)
	case g.Generation+1 == r.Generation:
		return r.endedNonce != g.Nonce()
	default:
		return false
	}
}

// isAt reports whether the record is at version; to be at 0 is not to exist.
func (r row) isAt(version fenced.Version) bool {
	if version == 0 {
		return !r.exists
	}
	return version == r.Version
}

// The reasons of refusals.
var (
	moved        = []error{fenced.ErrVersionConflict}
	stale        = []error{fenced.ErrStaleReadGeneration}
	movedStale   = []error{fenced.ErrVersionConflict, fenced.ErrStaleReadGeneration}
	held         = []error{fenced.ErrGrantHeld}
	heldAndMoved = []error{fenced.ErrGrantHeld, fenced.ErrVersionConflict}
	foreign      = []error{fenced.ErrForeignGrant}
)

// judge says what speaks against a call under g that reads no version: nothing,
// if g is current.
func (r row) judge(g fenced.Grant) []error {
	switch {
	case r.holds(g):
		return nil
	case r.foreign(g):
		return foreign
	default:
		return stale
	}
}

// judgeWrite says what speaks against a write under g.
func (r row) judgeWrite(g fenced.Grant) []error {
	switch reasons := r.judge(g); {
	case r.Version == g.Version:
		return reasons
	case reasons == nil:
		return moved
	case errors.Is(reasons[0], fenced.ErrStaleReadGeneration):
		return movedStale
	default:
		return reasons
	}
}

// judgeClaim says what speaks against a claim.
func (r row) judgeClaim() []error {
	if r.held && !r.lapsed() {
		return held
	}
	return nil
}

// judgeReclaim says what speaks against a reclaim of the grant of generation
// seen.
func (r row) judgeReclaim(seen fenced.Generation) []error {
	if r.held && r.Generation == seen {
		return nil
	}
	return stale
}

// judgeSwap says what speaks against a write without a grant at version.
func (r row) judgeSwap(version fenced.Version) []error {
	switch {
	case r.held && r.isAt(version):
		return held
	case r.held:
		return heldAndMoved
	case !r.isAt(version):
		return moved
	default:
		return nil
	}
}

// conflict sets what the caller came with against the record as it stands.
func (r row) conflict(op string, presented fenced.Record, reasons []error) *fenced.ConflictError {
	e := &fenced.ConflictError{Op: op, Key: presented.Key, Presented: presented, Current: r.view(), Reasons: reasons}
	e.Presented.Value = nil
	if r.ended != fenced.EndingUnknown && presented.Generation+1 == r.Generation && !errors.Is(reasons[0], fenced.ErrForeignGrant) {
		e.Ended, e.EndedAt = r.ended, r.endedAt
	}
	return e
}
