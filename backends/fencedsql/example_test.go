package fencedsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

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
