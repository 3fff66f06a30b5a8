package fenced

import (
	"context"
	"iter"
	"time"
)

// Reader reads records.
type Reader interface {
	// Read returns the record as of one instant: value, version and generation
	// belong together. An absent record is no error: its Value is nil. The
	// slice is the caller's.
	Read(ctx context.Context, key string) (Record, error)
}

// Authority issues grants and ends them. For an implementer: the generation
// moves by one whenever a grant ends and at no other time, and every question
// about a grant is answered by equality of generation and nonce.
type Authority interface {
	// TryAcquire claims the record, or returns [ErrGrantHeld] at once. A grant
	// whose lease has lapsed is taken over.
	TryAcquire(ctx context.Context, key, holder string, lease time.Duration) (Grant, error)
	// Renew sets the lease to now plus the given length and returns the
	// presented grant with its new Expires.
	Renew(ctx context.Context, g Grant, lease time.Duration) (Grant, error)
	// Release ends the grant.
	Release(ctx context.Context, g Grant) error
	// Reclaim ends the grant of that generation, and nothing else.
	Reclaim(ctx context.Context, key string, seen Generation) (Record, error)
	// ReclaimExpired ends up to limit grants whose lease has lapsed (all where
	// limit is 0 or less) and returns them as they were. Grants come with the
	// error where a sweep broke off.
	ReclaimExpired(ctx context.Context, limit int) ([]Grant, error)
}

// Writer changes values. For an implementer: the checks and the write are one
// step, and a refused call leaves no trace.
type Writer interface {
	// Commit writes under a grant and returns the grant at its new version.
	Commit(ctx context.Context, g Grant, value []byte) (Grant, error)
	// Delete removes the record under a grant.
	Delete(ctx context.Context, g Grant) (Grant, error)
	// CompareAndSwap writes without a grant, while nobody holds the record.
	CompareAndSwap(ctx context.Context, key string, version Version, value []byte) (Record, error)
	// CompareAndDelete removes without a grant, while nobody holds the record.
	CompareAndDelete(ctx context.Context, key string, version Version) (Record, error)
}

// Backend is a store. [Worker], [Supervisor] and the conformance kit
// (package fencedtest) take one; [Store] is the first of them and the
// yardstick for the others.
type Backend interface {
	Reader
	Authority
	Writer
}

// Waiter is a [Backend] in which a claim can wait its turn.
type Waiter interface {
	Acquire(ctx context.Context, key, holder string, lease time.Duration) (Grant, error)
}

// Watcher is a [Backend] that tells a holder when its grant ends.
type Watcher interface {
	Context(ctx context.Context, g Grant) (context.Context, context.CancelFunc)
}

// Lister is a [Backend] that can list its records.
type Lister interface {
	All() iter.Seq[Record]
}

var _ interface {
	Backend
	Waiter
	Watcher
	Lister
} = (*Store)(nil)
