// Command bench measures what the fence costs in a database, as ratios to what
// people write by hand, and shows what that lets through.
//
//	go run ./bench [-rounds n] [-turn n]
//
// PostgreSQL is the server that FENCEDSQL_POSTGRES names; without it there is
// only SQLite. Contenders take turns in rounds and the ratio is taken within a
// round. A bar that is missed is said so and is no failure of the command:
// machines are noisy.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/database"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	var e effort
	flag.IntVar(&e.rounds, "rounds", 15, "rounds")
	flag.IntVar(&e.turns, "turns", 10, "turns of each contender in a round")
	flag.IntVar(&e.batch, "batch", 40, "operations in a turn")
	flag.Parse()
	if err := run(context.Background(), e); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, e effort) error {
	started := time.Now()
	fmt.Printf("%s, %s/%s, %d CPUs; %d rounds of %d turns of %d operations\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), e.rounds, e.turns, e.batch)
	if err := onSQLite(ctx, e); err != nil {
		return fmt.Errorf("SQLite: %w", err)
	}
	dsn := os.Getenv(database.Variable)
	if dsn == "" {
		fmt.Printf("\nPostgreSQL was not measured: set %s to the DSN of a server (postgres.sh starts one)\n", database.Variable)
		return nil
	}
	if err := onPostgres(ctx, e, dsn); err != nil {
		return fmt.Errorf("PostgreSQL: %w", err)
	}
	fmt.Printf("\n%v\n", time.Since(started).Round(time.Second))
	return nil
}

func onSQLite(ctx context.Context, e effort) error {
	dir, err := os.MkdirTemp("", "fencedsql-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	dsn := database.File(filepath.Join(dir, "fenced.db"))
	c, err := open(ctx, database.SQLite, dsn)
	if err != nil {
		return err
	}
	defer c.close()
	rows, err := c.commits(ctx, 1.25)
	if err != nil {
		return err
	}
	return e.print(ctx, "SQLite", rows)
}

func onPostgres(ctx context.Context, e effort, dsn string) error {
	admin, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	defer admin.Close()
	schema := fmt.Sprintf("fenced_bench_%d", os.Getpid())
	if _, err := admin.ExecContext(ctx, `CREATE SCHEMA `+schema); err != nil {
		return err
	}
	defer admin.ExecContext(ctx, `DROP SCHEMA `+schema+` CASCADE`) //nolint:errcheck // a leftover of a benchmark
	dsn = database.With(dsn, "search_path", schema)
	c, err := open(ctx, database.PostgreSQL, dsn)
	if err != nil {
		return err
	}
	defer c.close()
	rows, err := c.commits(ctx, 1.15)
	if err != nil {
		return err
	}
	more, err := c.sections(ctx)
	if err != nil {
		return err
	}
	guards, err := c.guards(ctx)
	if err != nil {
		return err
	}
	fmt.Println()
	if err := e.print(ctx, "PostgreSQL", append(append(rows, more...), guards...)); err != nil {
		return err
	}
	fmt.Println()
	return c.zombies(ctx, schema)
}

// open returns contenders over the database of dsn.
func open(ctx context.Context, k database.Kind, dsn string) (*contenders, error) {
	c := &contenders{kind: k, dsn: dsn}
	plain, err := sql.Open(k.Driver, dsn)
	if err != nil {
		return nil, err
	}
	c.db = sql.OpenDB(c.counting(plain.Driver()))
	if err := plain.Close(); err != nil {
		return nil, err
	}
	c.db.SetMaxOpenConns(4)
	c.db.SetMaxIdleConns(4)
	c.s, err = fencedsql.Open(ctx, c.db, k.Dialect, fencedsql.Options{})
	return c, err
}
