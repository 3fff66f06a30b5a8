package fenced

import "time"

// EventKind names what an [Event] reports: a call, or the one ending that no
// call of its own brings about. The zero value is no kind.
type EventKind uint8

// The kinds. An event of a call that was refused has the kind of that call and
// an Err.
const (
	EventAcquire          EventKind = iota + 1 // a grant was issued, by Acquire or TryAcquire
	EventRenew                                 // a lease was renewed
	EventCommit                                // a value was written under a grant
	EventDelete                                // a record was deleted under a grant
	EventRelease                               // a grant ended: its holder released it
	EventReclaim                               // a grant ended: a supervisor took it away
	EventTakeOver                              // a grant ended: a claimant took over after its lease had lapsed
	EventCompareAndSwap                        // a value was written without a grant
	EventCompareAndDelete                      // a record was deleted without a grant
)

var eventNames = [...]string{
	EventAcquire:          "acquire",
	EventRenew:            "renew",
	EventCommit:           "commit",
	EventDelete:           "delete",
	EventRelease:          "release",
	EventReclaim:          "reclaim",
	EventTakeOver:         "take-over",
	EventCompareAndSwap:   "compare-and-swap",
	EventCompareAndDelete: "compare-and-delete",
}

// String returns the name of the call, the one that a [ConflictError] carries in
// Op, or "take-over".
func (k EventKind) String() string {
	if int(k) < len(eventNames) && k != 0 {
		return eventNames[k]
	}
	return "unknown"
}

// Event is one thing that happened to a record. A take-over is two events, the
// ending and the grant.
type Event struct {
	Seq        uint64     // orders the events of one record; rises, with gaps
	Kind       EventKind  // the call or the ending
	Key        string     // the record
	Holder     string     // of the grant concerned, "" where there is none
	Version    Version    // that a write brought; 0 for all that wrote nothing
	Generation Generation // of the grant, for an ending of the one that ended; 0 for swaps
	At         time.Time  // when, by the store's clock; information only
	Err        error      // the refusal, or in report-only mode the one that was waived; otherwise nil
	Value      []byte     // a copy of what a refused write carried, the receiver's own
}

// kind is that of the event that reports the ending.
func (e Ending) kind() EventKind {
	switch e {
	case Released:
		return EventRelease
	case Reclaimed:
		return EventReclaim
	default:
		return EventTakeOver
	}
}

// op is the call that ends a grant so.
func (e Ending) op() string {
	if e == TakenOver {
		return EventAcquire.String()
	}
	return e.kind().String()
}
