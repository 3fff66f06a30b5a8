package fencedtest

import (
	"slices"

	"github.com/fencedgo/fenced"
)

// Law is one promise of package fenced, with the checks that hold a store to
// it. The zero Law promises nothing.
type Law struct {
	Name     string // that tests and specifications share
	Sentence string // what a failure quotes
	Checks   []Check
}

// Check is one subtest. It is run by [Run] alone.
type Check struct {
	Name  string // after that of the law and a slash
	Needs string // what a [fenced.Backend] need not be able to do, "" for nothing
	run   func(*kit)
}

// What a check may need.
const (
	needsWaiter  = "wait (fenced.Waiter)"
	needsWatcher = "watch (fenced.Watcher)"
	needsLister  = "list (fenced.Lister)"
	needsStats   = "count (Stats() fenced.Stats)"
	needsClose   = "close (Close() error)"
	needsReopen  = "reopen (Harness.Reopen)"
)

type (
	counter interface{ Stats() fenced.Stats }
	closer  interface{ Close() error }
)

var capabilities = map[string]func(fenced.Backend) bool{
	needsWaiter:  is[fenced.Waiter],
	needsWatcher: is[fenced.Watcher],
	needsLister:  is[fenced.Lister],
	needsStats:   is[counter],
	needsClose:   is[closer],
}

func is[T any](b fenced.Backend) bool {
	_, ok := b.(T)
	return ok
}

// Laws returns the laws in the order of the package documentation. The slices
// are the caller's own.
func Laws() []Law {
	all := slices.Clone(laws)
	for i := range all {
		all[i].Checks = slices.Clone(all[i].Checks)
	}
	return all
}

var laws = []Law{
	{"SingleWriter", "At most one grant per record is current.", []Check{
		{"claim-while-held", "", claimWhileHeld},
		{"swap-while-held", "", swapWhileHeld},
		{"claims-at-once", "", claimsAtOnce},
		{"records-apart", "", recordsApart},
	}},
	{"MonotonicVersion", "The version counts data writes, is moved by nothing else, and never falls.", []Check{
		{"writes", "", versionByWrites},
		{"ownership", "", versionByOwnership},
		{"delete-and-recreate", "", versionRecreated},
		{"collected", "", versionCollected},
		{"reopened", needsReopen, versionReopened},
	}},
	{"MonotonicGeneration", "The generation moves by one when ownership ends, is moved by nothing else, and never falls.", []Check{
		{"endings", "", generationByEndings},
		{"claims-and-writes", "", generationByClaims},
		{"deleted", "", generationDeleted},
		{"collected", "", generationCollected},
		{"reopened", needsReopen, generationReopened},
	}},
	{"NoLostUpdate", "A write lands only if the record's version is the one the writer read, and then it has landed.", []Check{
		{"commits-chain", "", commitsChain},
		{"reread", "", commitReread},
		{"swap", "", swapAtVersion},
		{"delete", "", removeAtVersion},
		{"must-not-exist", "", mustNotExist},
		{"acknowledged", "", acknowledged},
		{"empty-value", "", emptyValue},
		{"increments", "", increments},
	}},
	{"NoStaleApply", "A write under a grant lands only if that grant is still current; both checks and the write are one step.", []Check{
		{"ending-one", "", endingOne},
		{"ending-two", "", endingTwo},
		{"unclaimed", "", zombieUnclaimed},
		{"delayed-duplicate", "", delayedDuplicate},
		{"commit-against-reclaim", "", commitAgainstReclaim},
		{"counted", needsStats, refusalsCounted},
	}},
	{"UniqueGeneration", "No two grants of one record carry the same generation, whatever the holder labels are.", []Check{
		{"endings", "", generationsDiffer},
		{"same-label", "", sameLabel},
		{"claims-at-once", "", generationsAtOnce},
	}},
	{"OneRule", "Commit, delete, renew and release ask one question, whether this grant is the current one, by equality of generation.", []Check{
		{"ended", "", endedIsEnded},
		{"current", "", currentIsCurrent},
		{"token", "", tokenIsGrant},
		{"context", needsWatcher, contextEnds},
		{"context-lapsed", needsWatcher, contextOutlivesLease},
	}},
	{"Sticky", "A grant that has ended stays ended; no read, retry, renewal or act of anyone else revives it.", []Check{
		{"reads", "", stickyReads},
		{"retries", "", stickyRetries},
		{"acts-of-others", "", stickyOthers},
		{"listing", needsLister, stickyListing},
		{"reopened", needsReopen, stickyReopened},
	}},
	{"NoTrace", "A refused call changes nothing: value, version, generation, holder, lease and queue are as before.", []Check{
		{"zombie", "", traceZombie},
		{"moved", "", traceMoved},
		{"held", "", traceHeld},
		{"free", "", traceFree},
		{"lease", "", traceLease},
		{"absent", needsLister, traceAbsent},
		{"queue", needsWaiter, traceQueue},
	}},
	{"NoClock", "No clock is consulted on the commit path: a lease tells a supervisor what it may do, never a writer.", []Check{
		{"lapsed-commits", "", lapsedCommits},
		{"lapsed-renews", "", lapsedRenews},
		{"lapsed-is-held", "", lapsedIsHeld},
		{"unlapsed-zombie", "", unlapsedZombie},
		{"overrun", needsStats, overrunCounted},
	}},
	{"ConditionalReclaim", "A reclaim names the generation it saw, and does nothing if that is no longer current.", []Check{
		{"seen", "", reclaimSeen},
		{"not-current", "", reclaimNotCurrent},
		{"free", "", reclaimFree},
		{"expired", "", reclaimExpired},
		{"renewed", "", reclaimRenewed},
		{"limit", "", reclaimLimit},
		{"sweeps-at-once", "", sweepsAtOnce},
	}},
	{"Isolation", "What a caller does to a slice it passed in or got back never changes the store.", []Check{
		{"passed-in", "", isolationIn},
		{"got-back", "", isolationOut},
		{"reclaimed", "", isolationReclaimed},
		{"listed", needsLister, isolationListed},
	}},
	{"FailClosed", "A missing field never opens the fence: a zero grant, or one of another store or life, is refused, also where its numbers match.", []Check{
		{"zero", "", failZero},
		{"hand-built", "", failHandBuilt},
		{"other-store", "", failOtherStore},
		{"altered", "", failAltered},
		{"bad-input", "", failBadInput},
		{"limits", "", failLimits},
		{"finished-context", "", failFinished},
		{"waiting-input", needsWaiter, failWaitingInput},
		{"context", needsWatcher, failContext},
		{"closed", needsClose, failClosed},
	}},
	{"Progress", "A record whose holder has died can be claimed once its lease lapses; waiters are served in order, and none after its context has ended.", []Check{
		{"dead-holder", "", deadHolder},
		{"at-the-instant", "", lapseInstant},
		{"renewal", "", renewalSets},
		{"first-come", needsWaiter, firstCome},
		{"not-overtaken", needsWaiter, notOvertaken},
		{"direct", needsWaiter, handedOver},
		{"every-ending", needsWaiter, handedOverAnyhow},
		{"lapse", needsWaiter, waiterTakesOver},
		{"renewals-followed", needsWaiter, waiterFollows},
		{"same-label", needsWaiter, sameLabelWaits},
		{"context-ended", needsWaiter, waiterGone},
		{"leaving-at-once", needsWaiter, waitersLeave},
		{"listed", needsLister, listsExisting},
	}},
}
