package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/database"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/tap"
)

// contenders are ways to write to records of one database.
type contenders struct {
	kind database.Kind
	dsn  string
	db   *sql.DB
	s    *fencedsql.Store
	sent atomic.Int64 // statements, each a round trip once it is prepared
}

func (c *contenders) counting(d driver.Driver) driver.Connector {
	return tap.New(d, c.dsn, func(_ string, send func() error) error {
		c.sent.Add(1)
		return send()
	})
}

func (c *contenders) close() {
	_ = c.s.Close()
	_ = c.db.Close()
}

// records is how many records each side goes round.
const records = 64

var value = []byte(strings.Repeat("0123456789abcdef", 4))

var errLost = errors.New("a write that should have landed did not, or the other way round")

func want(landed, want bool) error {
	if landed != want {
		return errLost
	}
	return nil
}

// plainSQL is the versioned update that people write by hand. It writes rows of
// the same table and shape as a fenced commit does.
const plainSQL = `UPDATE fenced_records SET value = $3, version = version + 1 WHERE key = $1 AND version = $2`

// plain writes to a record at a version through q, and reports whether that
// landed.
func plain(ctx context.Context, q interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, key string, version int64,
) (bool, error) {
	done, err := q.ExecContext(ctx, plainSQL, key, version, value)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n == 1, err
}

// make makes records of a side, at version 1.
func (c *contenders) make(ctx context.Context, name string) (keys []string, err error) {
	for i := range records {
		key := fmt.Sprintf("%s/%d", name, i)
		if _, err := c.s.CompareAndSwap(ctx, key, 0, value); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// claimAll makes records of a side and claims them.
func (c *contenders) claimAll(ctx context.Context, name string) (grants []fenced.Grant, err error) {
	keys, err := c.make(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		g, err := c.s.TryAcquire(ctx, key, "A", time.Hour)
		if err != nil {
			return nil, err
		}
		grants = append(grants, g)
	}
	return grants, nil
}

// optimist writes by version alone.
func (c *contenders) optimist(ctx context.Context, name string) (*side, error) {
	keys, err := c.make(ctx, name)
	return &side{what: "versioned UPDATE", do: func(ctx context.Context, n int) error {
		ok, err := plain(ctx, c.db, keys[n%records], int64(1+n/records))
		return errors.Join(err, want(ok, true))
	}}, err
}

// commits compares a commit under a grant, accepted and refused.
func (c *contenders) commits(ctx context.Context, bar float64) ([]row, error) {
	held, err := c.claimAll(ctx, "commit")
	if err != nil {
		return nil, err
	}
	ended, err := c.claimAll(ctx, "refused")
	if err != nil {
		return nil, err
	}
	for _, g := range ended {
		if _, err := c.s.Reclaim(ctx, g.Key, g.Generation); err != nil {
			return nil, err
		}
	}
	accepted, err := c.optimist(ctx, "plain")
	if err != nil {
		return nil, err
	}
	refused := func() *side {
		return &side{what: "commit, refused and why", do: func(ctx context.Context, n int) error {
			_, err := c.s.Commit(ctx, ended[n%records], value)
			return want(!errors.Is(err, fenced.ErrStaleReadGeneration), false)
		}}
	}
	return []row{
		{&side{what: "commit", do: func(ctx context.Context, n int) (err error) {
			g := &held[n%records]
			*g, err = c.s.Commit(ctx, *g, value)
			return err
		}}, accepted, bar, c.sent.Load},
		{refused(), accepted, bar, c.sent.Load},
		{refused(), &side{what: "versioned UPDATE, no row", do: func(ctx context.Context, n int) error {
			ok, err := plain(ctx, c.db, ended[n%records].Key, 0)
			return errors.Join(err, want(ok, false))
		}}, 0, c.sent.Load},
	}, nil
}

// sections compares a whole claim, commit and release with other ways to work on
// a record alone.
func (c *contenders) sections(ctx context.Context) ([]row, error) {
	keys, err := c.make(ctx, "section")
	if err != nil {
		return nil, err
	}
	whole := func() *side {
		return &side{what: "claim, commit, release", do: func(ctx context.Context, n int) error {
			g, err := c.s.TryAcquire(ctx, keys[n%records], "A", time.Hour)
			if err != nil {
				return err
			}
			if g, err = c.s.Commit(ctx, g, value); err != nil {
				return err
			}
			return c.s.Release(ctx, g)
		}}
	}
	optimist, err := c.optimist(ctx, "plain too")
	if err != nil {
		return nil, err
	}
	advised, err := c.make(ctx, "advised")
	if err != nil {
		return nil, err
	}
	locked, err := c.make(ctx, "locked")
	if err != nil {
		return nil, err
	}
	return []row{
		{whole(), optimist, 0, c.sent.Load},
		{whole(), &side{what: "advisory lock, UPDATE, unlock", do: func(ctx context.Context, n int) error {
			key := advised[n%records]
			conn, err := c.db.Conn(ctx) // which it keeps for as long as it works
			if err != nil {
				return err
			}
			defer conn.Close()
			if err := advise(ctx, conn, key, true); err != nil {
				return err
			}
			ok, err := plain(ctx, conn, key, int64(1+n/records))
			return errors.Join(err, want(ok, true), advise(ctx, conn, key, false))
		}}, 0, c.sent.Load},
		{whole(), &side{what: "SELECT FOR UPDATE, UPDATE", do: func(ctx context.Context, n int) error {
			tx, err := c.db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback() //nolint:errcheck // does nothing once committed
			version, err := lock(ctx, tx, locked[n%records])
			if err != nil {
				return err
			}
			ok, err := plain(ctx, tx, locked[n%records], version)
			return errors.Join(err, want(ok, true), tx.Commit())
		}}, 0, c.sent.Load},
	}, nil
}

// advise takes or gives back the advisory lock of key.
func advise(ctx context.Context, conn *sql.Conn, key string, take bool) error {
	f := "pg_advisory_unlock"
	if take {
		f = "pg_advisory_lock"
	}
	_, err := conn.ExecContext(ctx, `SELECT `+f+`(hashtextextended($1, 0))`, key)
	return err
}

// lock locks the row of key until tx ends.
func lock(ctx context.Context, tx *sql.Tx, key string) (version int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT version FROM fenced_records WHERE key = $1 FOR UPDATE`, key).Scan(&version)
	return version, err
}

// guards compares a transaction of the user's own with and without a guard.
func (c *contenders) guards(ctx context.Context) ([]row, error) {
	for _, statement := range []string{
		`CREATE TABLE invoices (id integer PRIMARY KEY, paid integer NOT NULL)`,
		`INSERT INTO invoices (id, paid) SELECT i, 0 FROM generate_series(0, ` + fmt.Sprint(records-1) + `) AS i`,
	} {
		if _, err := c.db.ExecContext(ctx, statement); err != nil {
			return nil, err
		}
	}
	held, err := c.claimAll(ctx, "guarded")
	if err != nil {
		return nil, err
	}
	pay := func(what string, guard func(ctx context.Context, tx *sql.Tx, g fenced.Grant) error) *side {
		return &side{what: what, do: func(ctx context.Context, n int) error {
			tx, err := c.db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback() //nolint:errcheck // does nothing once committed
			if err := guard(ctx, tx, held[n%records]); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `UPDATE invoices SET paid = paid + 1 WHERE id = $1`, n%records); err != nil {
				return err
			}
			return tx.Commit()
		}}
	}
	within := &side{what: "UPDATE with the fence in it", do: func(ctx context.Context, n int) error {
		g := held[n%records]
		done, err := c.db.ExecContext(ctx, `WITH fence AS (SELECT 1 FROM fenced_records
			WHERE key = $1 AND generation = $2 AND nonce = $3 AND holder IS NOT NULL FOR SHARE)
			UPDATE invoices SET paid = paid + 1 FROM fence WHERE id = $4`, g.Key, int64(g.Generation), int64(g.Nonce()), n%records)
		if err != nil {
			return err
		}
		landed, err := done.RowsAffected()
		return errors.Join(err, want(landed == 1, true))
	}}
	bare := &side{what: "UPDATE", do: func(ctx context.Context, n int) error {
		_, err := c.db.ExecContext(ctx, `UPDATE invoices SET paid = paid + 1 WHERE id = $1`, n%records)
		return err
	}}
	none := func(context.Context, *sql.Tx, fenced.Grant) error { return nil }
	return []row{
		{pay("transaction with Guard", c.s.Guard), pay("transaction", none), 0, c.sent.Load},
		{within, bare, 0, c.sent.Load},
	}, nil
}
