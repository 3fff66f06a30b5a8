package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/examples/thursday/internal/fleet"
)

// inSQLite is a temporary folder, with a file for each store.
func inSQLite() (fleet.Place, func() error, error) {
	dir, err := os.MkdirTemp("", "thursday-")
	if err != nil {
		return fleet.Place{}, nil, err
	}
	files := 0
	return fleet.Place{
		Name: fmt.Sprintf("SQLite, in %s, which is removed at the end", dir),
		Open: func(ctx context.Context) (fleet.Backend, error) {
			files++
			path := url.URL{Path: filepath.ToSlash(filepath.Join(dir, fmt.Sprintf("%d.db", files)))}
			db, err := sql.Open("sqlite", "file:"+path.EscapedPath()+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
			if err != nil {
				return nil, err
			}
			// One connection serves its callers in turn, where several would
			// race for the lock of the file, and the supervisor might lose.
			return open(ctx, db, fencedsql.SQLite, 1, func() error { return nil })
		},
	}, func() error { return os.RemoveAll(dir) }, nil
}
