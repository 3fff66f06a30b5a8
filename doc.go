// Package fenced is an embeddable library for fenced writes to shared state.
//
// A fleet of workers takes work from one queue and writes results back to
// shared records. A worker that stalls past its lease is reclaimed, another
// takes over, and then the first one wakes and writes. A lock does not see this
// write, a lease does not, and a version check does not where nobody wrote in
// between. A fence does: every record has a version, moved by data writes only,
// and a generation, moved by ownership ending only, and a commit checks both in
// one step with the write.
//
// [Store] is the store of one process. [Worker] wraps a claim-work-commit loop
// around any [Backend], [Supervisor] reclaims what dead workers hold.
//
// # Laws
//
//   - SingleWriter: at most one grant of a record is current.
//   - MonotonicVersion, MonotonicGeneration: neither number ever falls.
//   - NoLostUpdate: a write lands only at the version its writer read. To swap
//     from version 0 says "must not exist" and is the one exception.
//   - NoStaleApply: a write under a grant lands only while the grant is current.
//   - UniqueGeneration: no two grants of a record share a generation.
//   - OneRule: commit, delete, renew and release ask one question, by generation.
//   - Sticky: a grant that has ended stays ended.
//   - NoTrace: a refused call changes nothing.
//   - NoClock: no clock decides whether a write is safe.
//   - ConditionalReclaim: a reclaim names the generation it saw.
//   - Isolation: no slice passed in or got back is the store's.
//   - FailClosed: a missing or foreign field never opens the fence.
//   - Progress: a dead holder's record can be claimed once its lease lapses.
//
// # Not promised
//
//   - That a worker knows in time. It may work in vain; it will not write in vain.
//   - Exactly-once effects elsewhere. A vendor called twice is called twice; pass
//     it the generation, if it takes one.
//   - Durability, of a [Store]. It lives and dies with its process.
//   - Transactions over several records.
//   - Protection from code that does not go through the store, or that is handed
//     another's grant: a grant is a capability, not a login.
//
// # Caveats
//
// Version and generation are numbers to compare for equality, not to count
// with. A deleted record keeps its numbers; when many are deleted their memory is
// collected, and records not seen before then start at a floor above the
// numbers of the collected ones instead of at 0 and 1. Who read such a record
// before the floor rose may be refused a swap though nobody wrote: read again.
//
// Leases run on the monotonic clock, which on most systems stands still while
// the machine is suspended.
package fenced
