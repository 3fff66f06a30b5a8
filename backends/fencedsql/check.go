package fencedsql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// The oldest servers.
const (
	oldestPostgres = 13_00_00
	oldestSQLite   = 3_042_000 // unixepoch('subsec')
)

func (p *postgres) check(ctx context.Context, opts Options) error {
	conn, err := p.conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := checkPostgres(ctx, conn, opts); err != nil {
		return err
	}
	// Not to_regclass, which may go by a cache that is behind the snapshot.
	t := tables{
		conn, PostgreSQL, postgresFailure,
		`SELECT count(*) > 0 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
		WHERE relname = 'fenced_schema' AND nspname = ANY (current_schemas(false))`,
		// Those of the search_path that are there and that the role may use.
		`SELECT array_to_string(current_schemas(false), ', ')`,
	}
	made, err := t.made(ctx)
	if err != nil {
		return err
	}
	if !made {
		if err := p.make(ctx, conn, t, opts); err != nil {
			return err
		}
	}
	var may bool
	err = get(ctx, conn, `SELECT has_table_privilege('fenced_records', 'SELECT') AND has_table_privilege('fenced_records', 'INSERT')
		AND has_table_privilege('fenced_records', 'UPDATE')`, &may)
	if err == nil && !may {
		err = fmt.Errorf("%w: the role has to have SELECT, INSERT and UPDATE on fenced_records", ErrPermission)
	}
	return err
}

// make makes the tables in one transaction. Of those who do so at once, one
// does.
func (p *postgres) make(ctx context.Context, conn *sql.Conn, t tables, opts Options) error {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted}) // to see what others made while this waited
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing once committed
	t.q = tx
	const lock = 0x66656e636564 // "fenced"
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`SELECT pg_advisory_xact_lock(%d)`, lock)); err != nil {
		return err
	}
	if made, err := t.made(ctx); err != nil || made {
		return err
	}
	if err := t.make(ctx, opts); err != nil {
		return err
	}
	return tx.Commit()
}

func checkPostgres(ctx context.Context, q querier, opts Options) error {
	var version, encoding, commits, fsync string
	var number int
	var standby, readOnly bool
	err := get(ctx, q, `SELECT version(), current_setting('server_version_num')::int, pg_is_in_recovery(),
		current_setting('transaction_read_only') = 'on', current_setting('server_encoding'),
		current_setting('synchronous_commit'), current_setting('fsync')`,
		&version, &number, &standby, &readOnly, &encoding, &commits, &fsync)
	switch {
	case err != nil && (finished(err) || broken(err)):
		return err
	case err != nil:
		return fmt.Errorf("%w: not %v: %w", ErrDialect, PostgreSQL, err)
	case !strings.HasPrefix(version, "PostgreSQL ") || strings.Contains(version, "-YB-"):
		// What speaks its protocol need not lock as it does.
		return fmt.Errorf("%w: %s", ErrUnsupported, version)
	case number < oldestPostgres:
		return fmt.Errorf("%w: PostgreSQL %d, at least %d", ErrUnsupported, number/10000, oldestPostgres/10000)
	case standby || readOnly:
		return fmt.Errorf("%w: a standby, or default_transaction_read_only is on", ErrReadOnly)
	case encoding != "UTF8":
		return fmt.Errorf("%w: server_encoding %s, must be UTF8", ErrUnsupported, encoding)
	case !opts.Relaxed && (commits == "off" || fsync == "off"):
		return fmt.Errorf("%w: synchronous_commit %s, fsync %s: acknowledged writes may be lost (Options.Relaxed accepts that)", ErrUnsupported, commits, fsync)
	}
	return nil
}

func (l *sqlite) check(ctx context.Context, opts Options) error {
	conn, err := l.conn(ctx)
	if err != nil {
		return err
	}
	err = checkSQLite(ctx, conn, opts)
	_ = conn.Close()
	if err != nil {
		return err
	}
	return l.transact(ctx, func(ctx context.Context, conn *sql.Conn) error {
		t := tables{
			conn, SQLite, sqliteFailure,
			`SELECT count(*) > 0 FROM sqlite_master WHERE name = 'fenced_schema'`,
			`SELECT file FROM pragma_database_list WHERE name = 'main'`,
		}
		made, err := t.made(ctx)
		if err == nil && !made {
			err = t.make(ctx, opts)
		}
		if err == nil {
			_, err = conn.ExecContext(ctx, becomeWriter) // a database may be open for reading alone
		}
		return err
	})
}

func checkSQLite(ctx context.Context, q querier, opts Options) error {
	var version string
	err := get(ctx, q, `SELECT sqlite_version()`, &version)
	switch {
	case err != nil && (finished(err) || broken(err)):
		return err
	case err != nil:
		return fmt.Errorf("%w: not %v: %w", ErrDialect, SQLite, err)
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return fmt.Errorf("%w: SQLite %q", ErrUnsupported, version)
	}
	if (major*1000+minor)*1000+patch < oldestSQLite {
		return fmt.Errorf("%w: SQLite %s, at least 3.42", ErrUnsupported, version)
	}
	var journal string
	var synchronous int
	var queryOnly bool
	for pragma, into := range map[string]any{"journal_mode": &journal, "synchronous": &synchronous, "query_only": &queryOnly} {
		if err := get(ctx, q, `PRAGMA `+pragma, into); err != nil {
			return sqliteFailure(err).wrap(err, false)
		}
	}
	const full = 2
	switch {
	case queryOnly:
		return fmt.Errorf("%w: query_only is set", ErrReadOnly)
	case journal == "memory":
		return fmt.Errorf("%w: each connection to a database in memory has one of its own", ErrUnsupported)
	case journal != "wal":
		return fmt.Errorf("%w: journal_mode is %s, must be WAL on every connection", ErrUnsupported, journal)
	case !opts.Relaxed && synchronous < full:
		return fmt.Errorf("%w: synchronous is %d, must be FULL on every connection, or acknowledged writes may be lost (Options.Relaxed accepts that)", ErrUnsupported, synchronous)
	}
	return nil
}
