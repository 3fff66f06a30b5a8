package fencedsql

import (
	"context"
	"database/sql"

	"github.com/fencedgo/fenced"
)

// Guard returns nil if g is the current grant of its record, and then keeps it
// so until tx ends: what tx writes, in whatever tables, lands only if g is
// current when it commits. It may be called first or last in tx, or anywhere,
// before the commit. tx must be of the database of the Store. The record of g
// need not exist: its key may be that of a row of the user's own. The version of
// g is not looked at.
//
// After an error tx must be rolled back, not committed. Errors:
// [fenced.ErrStaleReadGeneration], [fenced.ErrForeignGrant], as a
// [*fenced.ConflictError] whose Op is "guard"; [ErrRetry], where tx cannot be
// sure because its snapshot is older than the record: run all of it anew;
// [fenced.ErrInvalid], [fenced.ErrClosed], that of ctx, those of the database.
//
// In PostgreSQL it is one round trip, and shares the record's row
// (SELECT … FOR SHARE) with other guards of the same grant. Whoever would end
// the grant, or write to the record, waits until tx ends, and behind guards that
// overlap until there is none: keep tx short, and see [Options].GuardIdle. At
// REPEATABLE READ and SERIALIZABLE a grant that changed since the snapshot of tx
// was taken is [ErrRetry].
//
// A return to a savepoint from before Guard undoes it, in PostgreSQL its lock
// too: guard again. A guard from before the savepoint stands.
//
// In SQLite it makes tx the one writer. A deferred transaction that has read
// before, and since when another has written, cannot become it, and gets
// [ErrRetry]; one begun as immediate never does.
func (s *Store) Guard(ctx context.Context, tx *sql.Tx, g fenced.Grant) error {
	if err := s.live(ctx); err != nil {
		return err
	}
	if tx == nil {
		return invalid("nil transaction")
	}
	if err := fenced.CheckGrant(g); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	r, err := s.guard(ctx, tx, escape.Replace(g.Key))
	if err != nil {
		return failed("guard", g.Key, err)
	}
	r = r.of(g.Key)
	if reasons := r.judge(g); reasons != nil {
		return r.conflict("guard", g.Record, reasons)
	}
	return nil
}
