package fencedsql

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// The defaults of Options.
const (
	DefaultTimeout   = 10 * time.Second
	DefaultMaxValue  = 16 << 20
	DefaultPoll      = time.Second
	DefaultGuardIdle = 30 * time.Second
)

// Options configures a [Store]. The zero value is the default.
type Options struct {
	// Timeout is the longest that a call goes without an answer of the
	// database, the wait for a connection and for locks included; Acquire, whose
	// context says how long it may wait, then asks again. 0: DefaultTimeout.
	Timeout time.Duration

	// MaxValue is the largest value in bytes. 0: DefaultMaxValue.
	MaxValue int

	// Poll is the longest pause between two looks at the database, of a claim
	// that waits and of the context of a grant. 0: DefaultPoll.
	Poll time.Duration

	// NoCreate makes Open check the tables but never make them.
	NoCreate bool

	// Relaxed accepts a database that may lose acknowledged writes with the
	// power, and with them generations: PostgreSQL with synchronous_commit or
	// fsync off, SQLite with synchronous below FULL.
	Relaxed bool

	// Notify is the channel of PostgreSQL on which reclaims notify, with the key
	// as payload; see [Store.Wake]. "": none.
	Notify string

	// GuardIdle has PostgreSQL end a transaction that has called [Store.Guard]
	// and is then idle for so long, and with it the lock that keeps the grant
	// from being reclaimed; where the session has a shorter time-out, that
	// holds. 0: DefaultGuardIdle. Negative: as the session has it.
	GuardIdle time.Duration

	_ struct{}
}

func (o Options) complete() (Options, error) {
	switch {
	case o.Timeout < 0, o.MaxValue < 0, o.Poll < 0:
		return o, invalid("negative option in %+v", o)
	case len(o.Notify) > 63 || !utf8.ValidString(o.Notify) || strings.ContainsAny(o.Notify, "\x00\\"):
		return o, invalid("channel %q, at most 63 bytes of UTF-8 and neither U+0000 nor a backslash", o.Notify)
	case o.GuardIdle > math.MaxInt32*time.Millisecond:
		return o, invalid("GuardIdle of %v, at most 24 days", o.GuardIdle)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxValue == 0 {
		o.MaxValue = DefaultMaxValue
	}
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	o.Poll = max(o.Poll, time.Millisecond)
	if o.GuardIdle == 0 {
		o.GuardIdle = DefaultGuardIdle
	}
	return o, nil
}
