// Package fencedsql is a store of package fenced over database/sql: records and
// grants in one table of SQLite, for several processes on one machine, or of
// PostgreSQL, for several machines. The driver is the user's choice.
//
// [Open] checks the database and returns a [Store], which is a
// [fenced.Backend], [fenced.Waiter], [fenced.Watcher] and [fenced.Lister] and
// keeps all laws of package fenced but for what follows. Every call judges and
// writes in one statement or one transaction, and says why it refused from the
// row that it judged. [Store.Guard] checks a grant within a transaction of the
// user's, so that what that transaction writes in his own tables lands only if
// the grant is still current when it commits.
//
// # Unlike the store of one process
//
//   - Leases run on the wall clock of the server (of the machine, with SQLite),
//     in whole milliseconds. No clock of a client decides anything. As ever, no
//     clock decides whether a write is safe.
//   - Claimants wait in order of arrival, are not overtaken, and are handed the
//     record directly by a release, within one Store. Between the Stores of
//     several processes the first to look gets the record: an order in the
//     database would need every claimant to show that it lives, or the dead
//     would block the living.
//   - A claim that is under way when its context ends may still be granted. That
//     is waited for, half a second at most, and handed over; later it is undone.
//   - The context of a grant ends with its lease too, since a holder that is cut
//     off learns nothing else in time.
//   - Deleted records keep their row, without value, for ever: it holds the
//     numbers that must not come again. So does a record that was only ever
//     claimed.
//   - The marks of grants older than the last one ended are not kept. A grant of
//     such a generation is refused as stale, be it foreign.
//   - A call whose reply was lost returns [fenced.ErrUncertain], whatever else
//     the error matches. [Store.Resolve] settles what became of a commit.
//   - There are no events, no report-only mode and no Stats.
package fencedsql
