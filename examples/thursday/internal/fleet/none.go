package fleet

import "github.com/fencedgo/fenced"

// none reads, asks and writes.
type none struct{ *table }

func (n none) work(g fenced.Grant, decide decider) ([]byte, error) {
	d, err := decide(n.row(g.Key).state)
	if err != nil {
		return nil, err
	}
	if !d.leave {
		n.write(g, d.state)
	}
	return nil, fenced.ErrSkip // written to the table, nothing for the store to commit
}
