package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/examples/thursday/internal/fleet"
)

// conns is how many connections of a server a store takes.
const conns = 16

// inPostgres is the database that dsn names, with a schema for each store.
func inPostgres(dsn string) (fleet.Place, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fleet.Place{}, err
	}
	prefix := "thursday_" + rand.Text()[:8]
	schemas := 0
	return fleet.Place{
		Name: fmt.Sprintf("PostgreSQL, %s on %s, in schemas %s_N, which are dropped at the end", cfg.Database, cfg.Host, prefix),
		Open: func(ctx context.Context) (fleet.Backend, error) {
			schemas++
			return openPostgres(ctx, *cfg.Copy(), fmt.Sprintf("%s_%d", prefix, schemas))
		},
	}, nil
}

// openPostgres returns a store in a schema that is made for it and goes with it.
func openPostgres(ctx context.Context, cfg pgx.ConnConfig, schema string) (fleet.Backend, error) {
	name := pgx.Identifier{schema}.Sanitize()
	admin := stdlib.OpenDB(cfg)
	if _, err := admin.ExecContext(ctx, `CREATE SCHEMA `+name); err != nil {
		_ = admin.Close()
		return nil, err
	}
	within := *cfg.Copy()
	within.RuntimeParams["search_path"] = name
	return open(ctx, stdlib.OpenDB(within), fencedsql.PostgreSQL, conns, func() error { return drop(ctx, admin, name) })
}

// drop drops the schema, also where ctx has ended, and closes admin.
func drop(ctx context.Context, admin *sql.DB, name string) error {
	defer admin.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_, err := admin.ExecContext(ctx, `DROP SCHEMA `+name+` CASCADE`)
	return err
}
