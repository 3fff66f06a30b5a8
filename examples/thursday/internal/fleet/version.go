package fleet

import "github.com/fencedgo/fenced"

// version writes only if the record is at the version it read: optimistic
// concurrency, the WHERE version = ? of an UPDATE.
type version struct{ *table }

func (v version) work(g fenced.Grant, decide decider) ([]byte, error) {
	seen := v.row(g.Key)
	d, err := decide(seen.state)
	if err != nil {
		return nil, err
	}
	if !d.leave {
		if err := v.writeAt(g, seen.version, d.state); err != nil {
			return nil, err
		}
	}
	return nil, fenced.ErrSkip // written to the table, nothing for the store to commit
}
