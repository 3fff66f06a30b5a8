package fencedsql

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"time"
)

// call is a call of a Store's that takes a step on the record of key.
type call struct {
	op, key string
	step    *statement
	judge   func(row) []error // what speaks against the step, where it wrote nothing
	mine    func(row) bool    // whether it has written before, at a try whose answer was lost; nil: that cannot be told
	late    func(row)         // see [engine]
}

// run takes the step of c. It returns the row, and why the step wrote nothing, if
// it did not.
func (s *Store) run(ctx context.Context, c call, args ...any) (row, []error, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	args = append([]any{escape.Replace(c.key)}, args...)
	lost := false
	for try := 1; ; try++ {
		sent := time.Now()
		r, err := s.step(ctx, c.step, c.late, args...)
		lost = lost || r.lost
		r.lost, r.sent = lost, sent
		if err != nil {
			if lost {
				err = inDoubt(err)
			}
			return row{}, nil, failed(c.op, c.key, err)
		}
		r = r.of(c.key)
		if r.wrote || c.mine != nil && c.mine(r) {
			return r, nil, nil
		}
		reasons := c.judge(r)
		switch {
		case reasons == nil && pause(ctx, backoff(try, 100*time.Millisecond)) == nil:
			// The record as the statement first saw it contradicts the refusal: it
			// has moved since. Another look, or another try, is from now.
		case lost: // what stands against the step may be what it did itself
			return row{}, nil, failed(c.op, c.key, inDoubt(errors.New("no answer came, and when sent again it had nothing to change")))
		case reasons == nil:
			return row{}, nil, failed(c.op, c.key, because(ctx, ErrRetry))
		default:
			return r, reasons, nil
		}
	}
}

// newNonce returns what a grant is issued under.
func newNonce() uint64 {
	for {
		var b [8]byte
		rand.Read(b[:])
		if n := binary.NativeEndian.Uint64(b[:]); n != 0 {
			return n
		}
	}
}
