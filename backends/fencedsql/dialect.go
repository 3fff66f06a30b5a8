package fencedsql

import (
	"fmt"
	"strings"
)

// Dialect is the SQL that a database speaks. The zero value is none.
type Dialect uint8

// The dialects.
const (
	SQLite     Dialect = iota + 1 // 3.42 or later
	PostgreSQL                    // 13 or later
)

func (d Dialect) String() string {
	switch d {
	case SQLite:
		return "SQLite"
	case PostgreSQL:
		return "PostgreSQL"
	default:
		return fmt.Sprintf("Dialect(%d)", uint8(d))
	}
}

// The statements of this package are written for PostgreSQL. This makes them
// SQLite's, whose instants are whole milliseconds since 1970.
var toSQLite = strings.NewReplacer(
	"$", "?",
	"statement_timestamp()", "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)",
	"::bigint * interval '1 millisecond'", "",
	"''::bytea", "x''", "octet_length", "length", // of a blob: in bytes
	"::bytea", "", "::text", "", "::bigint", "",
)

// PostgreSQL's text cannot hold U+0000. Keys and labels that have it are stored
// with U+0001 as an escape character, all others as they are; that keeps keys
// apart, and is done in SQLite too.
var (
	escape   = strings.NewReplacer("\x00", "\x010", "\x01", "\x011")
	unescape = strings.NewReplacer("\x010", "\x00", "\x011", "\x01")
)
