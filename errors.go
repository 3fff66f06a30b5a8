package fenced

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Refusals: the call was understood and the state of the record forbids it.
// Each arrives inside a [*ConflictError].
var (
	// ErrVersionConflict says that the record moved since it was read. Re-read,
	// derive anew, try again.
	ErrVersionConflict = errors.New("fenced: version conflict")

	// ErrStaleReadGeneration says that the grant has ended. The whole run may be
	// superseded: look again at what it was for before doing anything else.
	ErrStaleReadGeneration = errors.New("fenced: stale generation")

	// ErrGrantHeld says that someone else holds the record. Wait, or go on.
	ErrGrantHeld = errors.New("fenced: grant held")

	// ErrForeignGrant says that this store never issued the grant: a bug, a
	// restored backup, a message from before a restart. Stop.
	ErrForeignGrant = errors.New("fenced: foreign grant")
)

// Failures of the call itself, whatever the state of the record.
var (
	// ErrInvalid says that no store would take the argument: an empty or
	// over-long key or holder label, one that is not UTF-8, a lease out of
	// range, a zero grant, a broken token, a missing function. Fix the call.
	ErrInvalid = errors.New("fenced: invalid argument")

	// ErrClosed says that the store is closed.
	ErrClosed = errors.New("fenced: store closed")

	// ErrUncertain says that the reply was lost and the call may have taken
	// effect, or may yet. A store in the process never returns it; one behind a
	// network does, and says how to find out.
	ErrUncertain = errors.New("fenced: outcome unknown")
)

// ErrSkip is what a [Work] function returns when it looked and decided that no
// write applies. [Worker.Do] releases the grant and reports success, for every
// error that matches it: do not join it with one that should be seen.
var ErrSkip = errors.New("fenced: no write applies")

// Ending is how a grant ended. The zero value is [EndingUnknown].
type Ending uint8

// The endings. Whichever it was, the generation moved by one.
const (
	EndingUnknown Ending = iota // not ended, or the store no longer knows
	Released                    // by its holder
	Reclaimed                   // by a supervisor
	TakenOver                   // by a claimant, after its lease had lapsed
)

func (e Ending) String() string {
	switch e {
	case Released:
		return "released"
	case Reclaimed:
		return "reclaimed"
	case TakenOver:
		return "taken over"
	default:
		return "unknown"
	}
}

// ConflictError is a refusal: who came with what, and what stood against it. A
// refused call changed nothing. It unwraps to the sentinel of every check that
// refused, so a commit whose version and generation are both stale matches
// [ErrVersionConflict] and [ErrStaleReadGeneration]: told only the first, a
// zombie would re-read and try again under a grant that is dead.
type ConflictError struct {
	Op        string    // the call: "commit", "delete", "renew", "release", "reclaim", "acquire", "compare-and-swap", "compare-and-delete", "context"; other stores have more
	Key       string    // the record
	Presented Record    // what the caller came with, without value
	Current   Record    // the record as it stands, without value
	Ended     Ending    // how the presented grant ended, as far as the store still knows
	EndedAt   time.Time // when, zero where Ended is EndingUnknown
	Reasons   []error   // the sentinels of the checks that refused
}

// Error says in one line who, what, which numbers against which, and how and
// how long ago the grant ended.
func (e *ConflictError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "fenced: %s of %q", e.Op, e.Key)
	if e.Presented.Holder != "" {
		fmt.Fprintf(&b, " by %q", e.Presented.Holder)
	}
	b.WriteString(" refused: ")
	for i, reason := range e.Reasons {
		if i > 0 {
			b.WriteString(" and ")
		}
		b.WriteString(strings.TrimPrefix(reason.Error(), "fenced: "))
	}
	fmt.Fprintf(&b, " (presented version %d generation %d, current version %d generation %d, ",
		e.Presented.Version, e.Presented.Generation, e.Current.Version, e.Current.Generation)
	if e.Current.Holder != "" {
		fmt.Fprintf(&b, "held by %q)", e.Current.Holder)
	} else {
		b.WriteString("held by nobody)")
	}
	if e.Ended != EndingUnknown {
		fmt.Fprintf(&b, "; grant was %s %v ago", e.Ended, time.Since(e.EndedAt).Round(time.Millisecond))
	}
	return b.String()
}

// Unwrap returns Reasons.
func (e *ConflictError) Unwrap() []error { return e.Reasons }

// The reasons for which this store refuses. Each refusal carries a copy.
var (
	moved        = []error{ErrVersionConflict}
	stale        = []error{ErrStaleReadGeneration}
	movedStale   = []error{ErrVersionConflict, ErrStaleReadGeneration}
	held         = []error{ErrGrantHeld}
	heldAndMoved = []error{ErrGrantHeld, ErrVersionConflict}
	foreign      = []error{ErrForeignGrant}
)
