package fencedsql

// statement is one atomic step on the record whose key is $1: a write and a look
// at the record, as the write left it or to say why it found nothing to change.
type statement struct {
	text   string // PostgreSQL: yields whether it wrote, and the columns
	look   string // SQLite: yields them, in the same transaction
	scan   func(scanner) (row, error)
	brief  bool // where it wrote, nobody asks for the columns
	writes bool
	once   bool // writes again where it has written
}

// statements are those of one dialect.
type statements struct {
	read, look                     statement
	claim, renew, release, reclaim statement
	handOver                       statement
	commit, delete                 statement
	swap, remove, create, bury     statement
	page                           statement
}

// columns are what a statement yields of a record, and how it is read.
type columns struct {
	list  string
	scan  func(scanner) (row, error)
	brief bool
}

// All there is, all but the value, and what a write under a grant is judged by:
// that is the path that has to be short.
var (
	whole   = columns{`key, value, ` + rest, scan, false}
	numbers = columns{`key, NULL::bytea AS value, ` + rest, scan, false}
	verdict = columns{`version, generation, holder, nonce, expires, ended, ended_at, ended_nonce`, scanVerdict, true}
)

const rest = `value IS NOT NULL AS present, version, generation, holder, nonce, expires, statement_timestamp() AS now, claimed_version,
	ended, ended_at, ended_nonce, ended_claimed, ended_version, writer_generation, writer_nonce`

// current is the one question that every call under a grant asks.
const current = `key = $1 AND generation = $2 AND nonce = $3 AND holder IS NOT NULL`

// To be free and endedBy some way is what becomes of a grant that ends, and lease
// is one of $4 from now. The right sides see the row, r, as it was. The endings are
// numbered as fenced.Ending is.
const (
	free      = `holder = NULL, nonce = NULL, expires = NULL, `
	endedBy   = `generation = r.generation + 1, ended_at = statement_timestamp(), ended_nonce = r.nonce, ended_claimed = r.claimed_version, ended_version = r.version, ended = `
	released  = `1`
	reclaimed = `2`
	takenOver = `3`
	lease     = `statement_timestamp() + $4::bigint * interval '1 millisecond'`
)

const (
	// A claim of a record that is held changes and locks nothing, so that those
	// who wait do not disturb the holder. That is all the look before is for:
	// what decides is the condition at the end, which sees the newest row.
	claimSQL = `INSERT INTO fenced_records AS r (key, holder, nonce, expires)
SELECT $1::text, $2::text, $3::bigint, ` + lease + `
WHERE NOT EXISTS (SELECT 1 FROM fenced_records WHERE key = $1 AND holder IS NOT NULL AND expires > statement_timestamp())
ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, nonce = excluded.nonce, expires = excluded.expires, claimed_version = r.version,
	generation = CASE WHEN r.holder IS NULL THEN r.generation ELSE r.generation + 1 END,
	ended_at = CASE WHEN r.holder IS NULL THEN r.ended_at ELSE statement_timestamp() END,
	ended_nonce = CASE WHEN r.holder IS NULL THEN r.ended_nonce ELSE r.nonce END,
	ended_claimed = CASE WHEN r.holder IS NULL THEN r.ended_claimed ELSE r.claimed_version END,
	ended_version = CASE WHEN r.holder IS NULL THEN r.ended_version ELSE r.version END,
	ended = CASE WHEN r.holder IS NULL THEN r.ended ELSE ` + takenOver + ` END
WHERE r.holder IS NULL OR r.expires <= statement_timestamp()`

	renewSQL    = `UPDATE fenced_records SET expires = ` + lease + ` WHERE ` + current
	releaseSQL  = `UPDATE fenced_records AS r SET ` + free + endedBy + released + ` WHERE ` + current
	handOverSQL = `UPDATE fenced_records AS r SET holder = $5::text, nonce = $6::bigint, expires = ` + lease + `, claimed_version = version, ` + endedBy + released + ` WHERE ` + current
	reclaimSQL  = `UPDATE fenced_records AS r SET ` + free + endedBy + reclaimed + ` WHERE key = $1 AND generation = $2 AND holder IS NOT NULL`

	byGrant   = `version = version + 1, writer_generation = generation, writer_nonce = nonce WHERE ` + current + ` AND version = $4`
	commitSQL = `UPDATE fenced_records SET value = coalesce($5::bytea, ''::bytea), ` + byGrant
	deleteSQL = `UPDATE fenced_records SET value = NULL, ` + byGrant

	byNobody  = `version = r.version + 1, writer_generation = 0, writer_nonce = 0 WHERE r.holder IS NULL AND `
	swapSQL   = `UPDATE fenced_records AS r SET value = coalesce($3::bytea, ''::bytea), ` + byNobody + `key = $1 AND version = $2`
	removeSQL = `UPDATE fenced_records AS r SET value = NULL, ` + byNobody + `key = $1 AND version = $2`
	// To swap or remove at version 0: no value must be there, and perhaps no row.
	createSQL = `INSERT INTO fenced_records AS r (key, value, version) VALUES ($1, coalesce($2::bytea, ''::bytea), 1)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, ` + byNobody + `r.value IS NULL`
	burySQL = `INSERT INTO fenced_records AS r (key, version) VALUES ($1, 1)
ON CONFLICT (key) DO UPDATE SET ` + byNobody + `r.value IS NULL`

	dueSQL  = size + `holder IS NOT NULL AND expires <= statement_timestamp() ORDER BY expires LIMIT $1`
	pageSQL = size + `key > $1 AND value IS NOT NULL ORDER BY key LIMIT $3`
	size    = `coalesce(octet_length(value), 0) AS size FROM fenced_records WHERE `
)

// before is, of a row of a list in some order, the bytes of values of those
// before it.
func before(order string) string {
	return `sum(size) OVER (ORDER BY ` + order + ` ROWS UNBOUNDED PRECEDING) - size AS before`
}

// upTo returns the whole rows of a list of sizes, in order, until those before
// have $2 bytes of values. No value of another is read.
func upTo(list, order string) string {
	return `SELECT false, ` + whole.list + ` FROM (SELECT key AS listed, ` + before(order) + ` FROM (SELECT key, expires, ` + list + `) AS sized) AS summed
JOIN fenced_records ON key = listed WHERE before < $2 ORDER BY ` + order
}

// compile returns the statements that writing, of the dialect, makes.
func compile(translate func(string) string, writing func(write string, c columns) statement) statements {
	looking := func(c columns) statement {
		return statement{text: translate(lookSQL(c)), scan: c.scan}
	}
	st := statements{
		read:     looking(whole),
		look:     looking(numbers),
		claim:    writing(claimSQL, whole),
		renew:    writing(renewSQL, numbers),
		release:  writing(releaseSQL, numbers),
		reclaim:  writing(reclaimSQL, whole),
		handOver: writing(handOverSQL, whole),
		commit:   writing(commitSQL, verdict),
		delete:   writing(deleteSQL, verdict),
		swap:     writing(swapSQL, numbers),
		remove:   writing(removeSQL, numbers),
		create:   writing(createSQL, numbers),
		bury:     writing(burySQL, numbers),
		page:     statement{text: translate(upTo(pageSQL, `key`)), scan: whole.scan},
	}
	// Sent again, these could have their way again, if another came in between.
	st.create.once, st.bury.once = true, true
	return st
}

func lookSQL(c columns) string {
	return `SELECT false, ` + c.list + ` FROM fenced_records WHERE key = $1`
}
