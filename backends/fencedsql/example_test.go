package fencedsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// A worker that was replaced while it worked does not write to a table of the
// user's own.
func ExampleStore_Guard() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "fencedsql")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	store, err := fencedsql.Open(ctx, db, fencedsql.SQLite, fencedsql.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	if _, err := db.ExecContext(ctx, `CREATE TABLE invoices (id INTEGER PRIMARY KEY, state TEXT);
		INSERT INTO invoices VALUES (17, 'open')`); err != nil {
		panic(err)
	}

	write := func(g fenced.Grant, state string) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := store.Guard(ctx, tx, g); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE invoices SET state = ? WHERE id = 17`, state); err != nil {
			return err
		}
		return tx.Commit()
	}

	a, _ := store.TryAcquire(ctx, "invoices/17", "A", time.Minute)
	_, _ = store.Reclaim(ctx, "invoices/17", a.Generation) // A has stalled
	b, _ := store.TryAcquire(ctx, "invoices/17", "B", time.Minute)
	fmt.Println("B:", write(b, "paid"))
	err = write(a, "cancelled")
	fmt.Println("A is refused:", errors.Is(err, fenced.ErrStaleReadGeneration))

	var state string
	_ = db.QueryRowContext(ctx, `SELECT state FROM invoices WHERE id = 17`).Scan(&state)
	fmt.Println(state)
	// Output:
	// B: <nil>
	// A is refused: true
	// paid
}

// A listener makes claimants of this process look at once when another process
// reclaims. Both Stores have Notify set. It is a hint: while the connection is
// down, claimants look every Options.Poll.
func ExampleStore_Wake() {
	ctx := context.Background()
	var store *fencedsql.Store // opened with Options{Notify: "fenced"}
	dsn := "postgres://app@db.example/app"

	listen := func() error {
		conn, err := pgx.Connect(ctx, dsn) // its own, and past any transaction pooler
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, `LISTEN fenced`); err != nil {
			return err
		}
		store.Wake("") // for what was missed before
		for {
			n, err := conn.WaitForNotification(ctx)
			if err != nil {
				return err
			}
			store.Wake(n.Payload)
		}
	}
	go func() {
		for ctx.Err() == nil {
			log.Print(listen())
			time.Sleep(time.Second)
		}
	}()
}

// A commit whose reply was lost is settled by the database, once its grant has
// ended.
func ExampleStore_Resolve() {
	ctx := context.Background()
	var store *fencedsql.Store
	worker := fenced.Worker{Backend: store, Name: "w1"}
	g, err := worker.Do(ctx, "orders/4412", func(_ context.Context, g fenced.Grant) ([]byte, error) {
		return append(g.Value, '.'), nil
	})
	if !errors.Is(err, fenced.ErrUncertain) || g.Generation == 0 {
		return // done, failed, or the claim alone is uncertain: it ends with its lease
	}
	outcome, err := store.Resolve(ctx, g)
	if err == nil && outcome == fencedsql.Unknown { // still on its way, as may be the release
		_, _ = store.Reclaim(ctx, g.Key, g.Generation) // what has not landed by now is refused
		outcome, err = store.Resolve(ctx, g)
	}
	fmt.Println(outcome, err)
}
