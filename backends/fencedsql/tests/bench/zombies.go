package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/database"
)

// way is a way to work on a record alone. claim returns a write that is made
// once the work is done, and reports whether it landed.
type way struct {
	name  string
	keeps string // what is kept while the work goes on
	claim func(ctx context.Context, w *worker, key string) (write func(ctx context.Context) (bool, error), err error)
}

// worker is a process with a pool of its own.
type worker struct {
	*contenders
	name string
}

func (c *contenders) worker(ctx context.Context, name string) (*worker, error) {
	own, err := open(ctx, c.kind, database.With(c.dsn, "application_name", name))
	return &worker{own, name}, err
}

const lease = 100 * time.Millisecond

var ways = []way{
	{
		"versioned UPDATE", "nothing",
		func(ctx context.Context, w *worker, key string) (func(context.Context) (bool, error), error) {
			var version int64
			err := w.db.QueryRowContext(ctx, `SELECT version FROM fenced_records WHERE key = $1`, key).Scan(&version)
			return func(ctx context.Context) (bool, error) { return plain(ctx, w.db, key, version) }, err
		},
	},
	{
		"advisory lock + versioned UPDATE", "a connection",
		func(ctx context.Context, w *worker, key string) (func(context.Context) (bool, error), error) {
			conn, err := w.db.Conn(ctx)
			if err != nil {
				return nil, err
			}
			var version int64
			if err := advise(ctx, conn, key, true); err != nil {
				return nil, err
			}
			err = conn.QueryRowContext(ctx, `SELECT version FROM fenced_records WHERE key = $1`, key).Scan(&version)
			return func(ctx context.Context) (bool, error) { return plain(ctx, w.db, key, version) }, err
		},
	},
	{
		"SELECT FOR UPDATE during the work", "a connection, a transaction",
		func(ctx context.Context, w *worker, key string) (func(context.Context) (bool, error), error) {
			tx, err := w.db.BeginTx(context.WithoutCancel(ctx), nil)
			if err != nil {
				return nil, err
			}
			version, err := lock(ctx, tx, key)
			return func(ctx context.Context) (bool, error) {
				ok, err := plain(ctx, tx, key, version)
				return ok, errors.Join(err, tx.Commit())
			}, err
		},
	},
	{
		"fenced", "a row",
		func(ctx context.Context, w *worker, key string) (func(context.Context) (bool, error), error) {
			g, err := w.s.Acquire(ctx, key, w.name, lease)
			return func(ctx context.Context) (bool, error) {
				_, err := w.s.Commit(ctx, g, value)
				return err == nil, err
			}, err
		},
	},
}

// zombies has a worker lose its connection, or hang, while it holds a record,
// and another want it. It prints what came of it.
func (c *contenders) zombies(ctx context.Context, schema string) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', tabwriter.Debug)
	fmt.Fprint(w, "what it lets through\t kept during the work\t a worker hangs: another\t cut off, and another has it: the late write\t\n")
	for i, how := range ways {
		hung, err := c.hangs(ctx, how, fmt.Sprintf("hangs/%d", i), fmt.Sprintf("%s_h%d", schema, i))
		if err != nil {
			return fmt.Errorf("%s: %w", how.name, err)
		}
		late, err := c.late(ctx, how, fmt.Sprintf("late/%d", i), fmt.Sprintf("%s_l%d", schema, i))
		if err != nil {
			return fmt.Errorf("%s: %w", how.name, err)
		}
		fmt.Fprintf(w, "%s\t %s\t %s\t %s\t\n", how.name, how.keeps, hung, late)
	}
	return w.Flush()
}

// pair is a record, and two workers who want it.
func (c *contenders) pair(ctx context.Context, key, name string) (a, b *worker, err error) {
	if _, err := c.s.CompareAndSwap(ctx, key, 0, value); err != nil {
		return nil, nil, err
	}
	if a, err = c.worker(ctx, name+"a"); err != nil {
		return nil, nil, err
	}
	b, err = c.worker(ctx, name+"b")
	return a, b, err
}

// hangs has A hold the record for ever, and B want it.
func (c *contenders) hangs(ctx context.Context, how way, key, name string) (string, error) {
	a, b, err := c.pair(ctx, key, name)
	if err != nil {
		return "", err
	}
	defer c.end(ctx, a, b)
	if _, err := how.claim(ctx, a, key); err != nil {
		return "", err
	}
	soon, cancel := context.WithTimeout(ctx, 10*lease)
	defer cancel()
	if _, err := how.claim(soon, b, key); err != nil {
		return "waits for ever", nil
	}
	return "goes on", nil
}

// late cuts A off while it holds the record, has B take it and not write, and
// then A, which knows of nothing, write.
func (c *contenders) late(ctx context.Context, how way, key, name string) (string, error) {
	a, b, err := c.pair(ctx, key, name)
	if err != nil {
		return "", err
	}
	defer c.end(ctx, a, b)
	write, err := how.claim(ctx, a, key)
	if err != nil {
		return "", err
	}
	if err := c.cut(ctx, a); err != nil {
		return "", err
	}
	if _, err := how.claim(ctx, b, key); err != nil {
		return "", err
	}
	landed, err := write(ctx)
	switch {
	case landed:
		return "LANDS", nil
	case errors.Is(err, fenced.ErrStaleReadGeneration):
		return "is refused, with the reason", nil
	default:
		return fmt.Sprintf("is lost: %v", short(err)), nil
	}
}

func short(err error) string {
	const most = 60
	if s := fmt.Sprint(err); len(s) > most {
		return s[:most] + " …"
	}
	return fmt.Sprint(err)
}

// cut has the server end the connections of a worker.
func (c *contenders) cut(ctx context.Context, w *worker) error {
	_, err := c.db.ExecContext(ctx, `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1`, w.name)
	w.db.SetMaxIdleConns(0) // what its pool finds out sooner or later
	w.db.SetMaxIdleConns(4)
	return err
}

func (c *contenders) end(ctx context.Context, ws ...*worker) {
	for _, w := range ws {
		_ = c.cut(ctx, w) // what they hold, they hold for ever
		_ = w.s.Close()
		go func(db *sql.DB) { _ = db.Close() }(w.db) // waits for transactions that nobody ends
	}
}
