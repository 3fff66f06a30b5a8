package fenced

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"
)

// The limits of what a store takes.
const (
	MaxKey    = 1024                   // bytes of a key
	MaxHolder = 256                    // bytes of a holder label
	MaxLease  = 36525 * 24 * time.Hour // of a lease: a hundred years
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// checkContext returns why a call under ctx may not begin, if anything.
func checkContext(ctx context.Context) error {
	if ctx == nil {
		return errNoContext
	}
	return ctx.Err()
}

var errNoContext = invalid("nil context")

// CheckKey returns an error that matches [ErrInvalid] unless key is 1 to
// [MaxKey] bytes of valid UTF-8. Every store applies it.
func CheckKey(key string) error { return checkLabel("key", key, MaxKey) }

// CheckHolder returns an error that matches [ErrInvalid] unless holder is 1 to
// [MaxHolder] bytes of valid UTF-8. Every store applies it.
func CheckHolder(holder string) error { return checkLabel("holder", holder, MaxHolder) }

// CheckLease returns an error that matches [ErrInvalid] unless lease is longer
// than zero and at most [MaxLease]. Every store applies it.
func CheckLease(lease time.Duration) error {
	if lease <= 0 || lease > MaxLease {
		return invalid("lease %v is not within (0, %v]", lease, MaxLease)
	}
	return nil
}

func checkLabel(what, s string, most int) error {
	switch {
	case s == "":
		return invalid("empty %s", what)
	case len(s) > most:
		return invalid("%s of %d bytes, at most %d", what, len(s), most)
	case !utf8.ValidString(s):
		return invalid("%s %q is not UTF-8", what, s)
	}
	return nil
}

// checkClaim checks what Acquire and TryAcquire are called with, but for the key,
// which needs no check where the store knows it.
func checkClaim(ctx context.Context, holder string, lease time.Duration) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	if err := CheckHolder(holder); err != nil {
		return err
	}
	return CheckLease(lease)
}

// CheckGrant returns an error that matches [ErrInvalid] where g lacks what any
// grant carries: a valid key and a generation. Whether g is current is another
// question.
func CheckGrant(g Grant) error {
	if g.Generation == 0 {
		return invalid("grant of %q without a generation", g.Key)
	}
	return CheckKey(g.Key)
}
