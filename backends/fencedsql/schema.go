package fencedsql

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
)

// schemaVersion is that of the tables this package works with.
const schemaVersion = 1

// Schema returns the statements, in order and each with its semicolon, that make
// the tables in an empty database, for those who run them by hand; with
// [Options].NoCreate they have to be. The slice is the caller's own. It panics
// where d is no dialect.
//
// The table fenced_records may be read by anyone. To write to it past this
// package is to break the laws.
func Schema(d Dialect) []string {
	var table string
	switch d {
	case PostgreSQL:
		table = postgresTable
	case SQLite:
		table = sqliteTable
	default:
		panic("fencedsql: no schema for " + d.String())
	}
	return []string{
		table,
		`CREATE INDEX fenced_records_expires ON fenced_records (expires) WHERE holder IS NOT NULL;`,
		`CREATE TABLE fenced_schema (version integer NOT NULL);`,
		fmt.Sprintf(`INSERT INTO fenced_schema (version) VALUES (%d);`, schemaVersion),
	}
}

const postgresTable = `CREATE TABLE fenced_records (
	key               text COLLATE "C" PRIMARY KEY,
	version           bigint NOT NULL DEFAULT 0 CHECK (version >= 0),
	generation        bigint NOT NULL DEFAULT 1 CHECK (generation >= 1),
	holder            text,                          -- of the current grant; null, as the next two: nobody
	nonce             bigint,                        -- that the current grant was issued under
	expires           timestamptz,                   -- end of its lease
	claimed_version   bigint NOT NULL DEFAULT 0,     -- the version of the record when it was issued
	writer_generation bigint NOT NULL DEFAULT 0,     -- of the grant that wrote last; 0: a write without a grant, or none
	writer_nonce      bigint NOT NULL DEFAULT 0,
	ended             smallint NOT NULL DEFAULT 0,   -- how the grant before this generation ended: 1 released, 2 reclaimed, 3 taken over
	ended_at          timestamptz,
	ended_nonce       bigint NOT NULL DEFAULT 0,     -- that it was issued under
	ended_claimed     bigint NOT NULL DEFAULT 0,     -- the version of the record when it was issued
	ended_version     bigint NOT NULL DEFAULT 0,     -- and when it ended
	value             bytea,                         -- null: the record does not exist
	CHECK ((holder IS NULL) = (nonce IS NULL) AND (holder IS NULL) = (expires IS NULL))
);`

const sqliteTable = `CREATE TABLE fenced_records (
	key               TEXT PRIMARY KEY NOT NULL,
	version           INTEGER NOT NULL DEFAULT 0 CHECK (version >= 0),
	generation        INTEGER NOT NULL DEFAULT 1 CHECK (generation >= 1),
	holder            TEXT,                          -- of the current grant; null, as the next two: nobody
	nonce             INTEGER,                       -- that the current grant was issued under
	expires           INTEGER,                       -- end of its lease, in milliseconds since 1970
	claimed_version   INTEGER NOT NULL DEFAULT 0,    -- the version of the record when it was issued
	writer_generation INTEGER NOT NULL DEFAULT 0,    -- of the grant that wrote last; 0: a write without a grant, or none
	writer_nonce      INTEGER NOT NULL DEFAULT 0,
	ended             INTEGER NOT NULL DEFAULT 0,    -- how the grant before this generation ended: 1 released, 2 reclaimed, 3 taken over
	ended_at          INTEGER,
	ended_nonce       INTEGER NOT NULL DEFAULT 0,    -- that it was issued under
	ended_claimed     INTEGER NOT NULL DEFAULT 0,    -- the version of the record when it was issued
	ended_version     INTEGER NOT NULL DEFAULT 0,    -- and when it ended
	value             BLOB,                          -- null: the record does not exist; last, or all else would lie behind it
	CHECK ((holder IS NULL) = (nonce IS NULL) AND (holder IS NULL) = (expires IS NULL))
) STRICT;`

// tables is the schema as it is to be seen on one connection.
type tables struct {
	q interface {
		querier
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}
	dialect Dialect
	failure func(error) failure
	exist   string // a query: whether fenced_schema does
	place   string // a query: where it was looked for
}

// made reports whether the tables are there, and are those of this package.
func (t tables) made(ctx context.Context) (bool, error) {
	var made bool
	if err := get(ctx, t.q, t.exist, &made); err != nil || !made {
		return false, err
	}
	var version int
	if err := get(ctx, t.q, `SELECT coalesce(max(version), 0) FROM fenced_schema`, &version); err != nil {
		return false, t.amiss(err)
	}
	if version < schemaVersion {
		return false, fmt.Errorf("%w: version %d", ErrNoSchema, version)
	}
	if version > schemaVersion {
		return false, fmt.Errorf("%w: version %d, this package has %d", ErrNewerSchema, version, schemaVersion)
	}
	// Fails where a column is missing.
	if err := get(ctx, t.q, `SELECT count(*) FROM (SELECT `+names+` FROM fenced_records WHERE false) AS none`, new(int)); err != nil {
		return false, t.amiss(err)
	}
	return true, nil
}

// amiss returns what an error of a query says of the tables.
func (t tables) amiss(err error) error { return t.failure(err).wrap(err, false) }

// make makes the tables, in the transaction that t.q is in.
func (t tables) make(ctx context.Context, opts Options) error {
	if opts.NoCreate {
		var place string
		if err := get(ctx, t.q, t.place, &place); err != nil {
			return t.amiss(err)
		}
		return fmt.Errorf("%w in %q: run what Schema(%v) returns", ErrNoSchema, place, t.dialect)
	}
	for _, statement := range Schema(t.dialect) {
		if _, err := t.q.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%w, and cannot be made: %w", ErrNoSchema, err)
		}
	}
	return nil
}

const names = `key, value, version, generation, holder, nonce, expires, claimed_version, writer_generation, writer_nonce, ended, ended_at, ended_nonce, ended_claimed, ended_version`

// get reads the one row of a query.
func get(ctx context.Context, q querier, query string, into ...any) error {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return cmp.Or(rows.Err(), sql.ErrNoRows)
	}
	return rows.Scan(into...)
}
