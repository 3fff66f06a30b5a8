package model

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fencedgo/fenced"
)

// Op names a call as a [fenced.ConflictError] does; read and sweep are never
// refused and have names of their own.
type Op string

// The calls.
const (
	Read             Op = "read"
	TryAcquire       Op = "acquire"
	Renew            Op = "renew"
	Commit           Op = "commit"
	Delete           Op = "delete"
	Release          Op = "release"
	Reclaim          Op = "reclaim"
	Sweep            Op = "sweep" // ReclaimExpired without a limit
	CompareAndSwap   Op = "compare-and-swap"
	CompareAndDelete Op = "compare-and-delete"
)

// Call is one call of a store. Which fields count depends on Op.
type Call struct {
	Op      Op
	Key     string
	Holder  string
	Lease   time.Duration
	Grant   Grant
	Seen    fenced.Generation
	Version fenced.Version
	Value   []byte
}

// Grant is a grant as it is presented, without value. Issued says that the
// store at hand issued it, as this generation of this key.
type Grant struct {
	View
	Issued bool
}

func (g Grant) String() string {
	s := fmt.Sprintf("(v%d, n%d)", g.Version, g.Generation)
	if !g.Issued {
		s += " not issued"
	}
	return s
}

func (c Call) String() string {
	switch c.Op {
	case TryAcquire:
		return fmt.Sprintf("%s %s by %s for %v", c.Op, c.Key, c.Holder, c.Lease)
	case Renew:
		return fmt.Sprintf("%s %s %v for %v", c.Op, c.Key, c.Grant, c.Lease)
	case Commit:
		return fmt.Sprintf("%s %s %v = %q", c.Op, c.Key, c.Grant, c.Value)
	case Delete, Release:
		return fmt.Sprintf("%s %s %v", c.Op, c.Key, c.Grant)
	case Reclaim:
		return fmt.Sprintf("%s %s n%d", c.Op, c.Key, c.Seen)
	case CompareAndSwap:
		return fmt.Sprintf("%s %s v%d = %q", c.Op, c.Key, c.Version, c.Value)
	case CompareAndDelete:
		return fmt.Sprintf("%s %s v%d", c.Op, c.Key, c.Version)
	default:
		return fmt.Sprintf("%s %s", c.Op, c.Key)
	}
}

// View is a record as a caller sees it. Until is zero for nobody.
type View struct {
	Key        string
	Exists     bool
	Value      string
	Version    fenced.Version
	Generation fenced.Generation
	Holder     string
	Until      time.Duration
}

// Bare is v without its value.
func (v View) Bare() View {
	v.Exists, v.Value = false, ""
	return v
}

func (v View) String() string {
	value := "-"
	if v.Exists {
		value = fmt.Sprintf("%q", v.Value)
	}
	s := fmt.Sprintf("%s=%s v%d n%d", v.Key, value, v.Version, v.Generation)
	if v.Holder != "" {
		s += fmt.Sprintf(" %s until %v", v.Holder, v.Until)
	}
	return s
}

// Outcome is what a call comes to. View is what it returned or, where it was
// refused, the record as it then stood, without value; Ended is then how the
// grant that it came under had ended. Swept are the grants that a sweep ended,
// by key.
type Outcome struct {
	Refused Reasons
	View    View
	Ended   fenced.Ending
	Swept   []View
}

func (o Outcome) String() string {
	switch {
	case o.Refused != 0:
		return fmt.Sprintf("refused: %v, current %v, ended: %v", o.Refused, o.View, o.Ended)
	case len(o.Swept) > 0:
		return fmt.Sprintf("swept %v", o.Swept)
	default:
		return o.View.String()
	}
}

// Reasons is the set of sentinels that an error matches.
type Reasons uint8

// The sentinels, and one for an error that is none.
const (
	Moved Reasons = 1 << iota
	Stale
	Held
	Foreign
	Invalid
	Closed
	Other
)

var sentinels = []struct {
	reason Reasons
	err    error
}{
	{Moved, fenced.ErrVersionConflict},
	{Stale, fenced.ErrStaleReadGeneration},
	{Held, fenced.ErrGrantHeld},
	{Foreign, fenced.ErrForeignGrant},
	{Invalid, fenced.ErrInvalid},
	{Closed, fenced.ErrClosed},
}

// ReasonsOf returns the sentinels that err matches.
func ReasonsOf(err error) Reasons {
	var set Reasons
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			set |= s.reason
		}
	}
	if err != nil && set == 0 {
		set = Other
	}
	return set
}

func (r Reasons) String() string {
	var names []string
	for _, s := range sentinels {
		if r&s.reason != 0 {
			names = append(names, strings.TrimPrefix(s.err.Error(), "fenced: "))
		}
	}
	if r&Other != 0 {
		names = append(names, "another error")
	}
	return strings.Join(names, " and ")
}
