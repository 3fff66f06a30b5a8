package fenced_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// What does each mechanism stop? Each is built as the plain thing that people
// build, and set against the same four hazards.

// mechanism guards one record.
type mechanism interface {
	// claim is how a worker begins, and shows it the record. A mechanism
	// without claims lets everyone begin.
	claim(who string) (ticket, error)
	// write is how it ends. false: the write did not land.
	write(t ticket, value string) bool
	done(t ticket)
	// edit is a write by someone who takes no part in the claiming: a console,
	// a script, another service. It reads, thinks, and writes.
	edit(think func(), value string) bool
	value() string
}

// ticket is what a worker remembers of its claim.
type ticket struct {
	who, value string
	version    int
	grant      fenced.Grant
}

var errHeld = errors.New("held")

// lock is a lock row without an expiry, beside the data.
type lock struct {
	holder string
	data   string
}

func (l *lock) claim(who string) (ticket, error) {
	if l.holder != "" {
		return ticket{}, errHeld
	}
	l.holder = who
	return ticket{who: who, value: l.data}, nil
}

func (l *lock) write(_ ticket, value string) bool {
	l.data = value
	return true
}

func (l *lock) done(t ticket) {
	if l.holder == t.who {
		l.holder = ""
	}
}

func (l *lock) edit(think func(), value string) bool {
	think()
	l.data = value
	return true
}

func (l *lock) value() string { return l.data }

// clear is what an operator does to a lock whose holder is gone.
func (l *lock) clear() { l.holder = "" }

// leased is a lock with an expiry: the write does not look at it.
type leased struct {
	lock
	until time.Time
}

func (l *leased) claim(who string) (ticket, error) {
	if !time.Now().Before(l.until) {
		l.holder = ""
	}
	t, err := l.lock.claim(who)
	if err == nil {
		l.until = time.Now().Add(lease)
	}
	return t, err
}

// versioned is a version column, compared by every write: no claims.
type versioned struct {
	data    string
	version int
}

func (v *versioned) claim(who string) (ticket, error) {
	return ticket{who: who, value: v.data, version: v.version}, nil
}

func (v *versioned) write(t ticket, value string) bool {
	if t.version != v.version {
		return false
	}
	v.data = value
	v.version++
	return true
}

func (v *versioned) done(ticket) {}

func (v *versioned) edit(think func(), value string) bool {
	t, _ := v.claim("")
	think()
	return v.write(t, value)
}

func (v *versioned) value() string { return v.data }

// fence is this library.
type fence struct{ store *fenced.Store }

func (f fence) claim(who string) (ticket, error) {
	g, err := f.store.TryAcquire(bg, order, who, lease)
	return ticket{who: who, value: string(g.Value), grant: g}, err
}

func (f fence) write(t ticket, value string) bool {
	_, err := f.store.Commit(bg, t.grant, []byte(value))
	return err == nil
}

func (f fence) done(t ticket) { _ = f.store.Release(bg, t.grant) }

func (f fence) edit(think func(), value string) bool {
	r, err := f.store.Read(bg, order)
	think()
	if err == nil {
		_, err = f.store.CompareAndSwap(bg, order, r.Version, []byte(value))
	}
	return err == nil
}

func (f fence) value() string {
	r, _ := f.store.Read(bg, order)
	return string(r.Value)
}

// The hazards. Each plays out one story and says what became of the record.
var hazards = []struct {
	name string
	play func(t *testing.T, m mechanism) string
}{
	// Two workers, both well, want the record at the same time.
	{"overlapping writers", func(t *testing.T, m mechanism) string {
		a, err := m.claim("A")
		require.NoError(t, err)
		b, err := m.claim("B")
		if err != nil {
			require.True(t, m.write(a, a.value+"+A"))
			m.done(a)
			return "stopped: B must wait"
		}
		require.True(t, m.write(a, a.value+"+A"))
		if !m.write(b, b.value+"+B") {
			return "stopped: B's write refused"
		}
		return fmt.Sprintf("NOT STOPPED: %q", m.value())
	}},
	// A claims and is never heard of again.
	{"a dead holder", func(t *testing.T, m mechanism) string {
		_, err := m.claim("A")
		require.NoError(t, err)
		time.Sleep(100 * lease)
		b, err := m.claim("B")
		if err != nil {
			return "NOT SURVIVED: stuck for good"
		}
		require.True(t, m.write(b, b.value+"+B"))
		return "survived: B goes on"
	}},
	// Someone who takes no part in the claiming reads the record, a worker
	// claims it, writes and is done, and then the other writes.
	{"a concurrent lost update", func(t *testing.T, m mechanism) string {
		landed := m.edit(func() {
			a, err := m.claim("A")
			require.NoError(t, err)
			require.True(t, m.write(a, a.value+"+A"))
			m.done(a)
		}, "0+edit")
		if landed {
			return fmt.Sprintf("NOT STOPPED: A's write is lost, %q", m.value())
		}
		require.Equal(t, "0+A", m.value())
		return "stopped: the edit refused"
	}},
	// A claims and stalls, B takes over and decides that no write applies, A
	// wakes and writes. Nobody wrote in between.
	{"a zombie write", func(t *testing.T, m mechanism) string {
		a, err := m.claim("A")
		require.NoError(t, err)
		time.Sleep(2 * lease)
		if l, ok := m.(*lock); ok {
			l.clear() // or B would wait for ever
		}
		b, err := m.claim("B")
		require.NoError(t, err)
		require.Equal(t, "0", b.value, "nobody wrote in between")
		m.done(b)
		if m.write(a, a.value+"+A") {
			return fmt.Sprintf("NOT STOPPED: A's write lands, %q", m.value())
		}
		require.Equal(t, "0", m.value())
		return "stopped: A's write refused"
	}},
}

// What each mechanism does about each hazard, its failures included.
var verdicts = map[string][4]string{
	"lock": {
		"stopped: B must wait",
		"NOT SURVIVED: stuck for good",
		`NOT STOPPED: A's write is lost, "0+edit"`,
		`NOT STOPPED: A's write lands, "0+A"`,
	},
	"lease": {
		"stopped: B must wait",
		"survived: B goes on",
		`NOT STOPPED: A's write is lost, "0+edit"`,
		`NOT STOPPED: A's write lands, "0+A"`,
	},
	"version check": {
		"stopped: B's write refused",
		"survived: B goes on",
		"stopped: the edit refused",
		`NOT STOPPED: A's write lands, "0+A"`,
	},
	"fence": {
		"stopped: B must wait",
		"survived: B goes on",
		"stopped: the edit refused",
		"stopped: A's write refused",
	},
}

func TestMechanisms(t *testing.T) {
	mechanisms := []struct {
		name string
		make func() mechanism
	}{
		{"lock", func() mechanism { return &lock{data: "0"} }},
		{"lease", func() mechanism { return &leased{lock: lock{data: "0"}} }},
		{"version check", func() mechanism { return &versioned{data: "0"} }},
		{"fence", func() mechanism {
			s := fenced.NewStore(fenced.Options{})
			swap(t, s, order, 0, "0")
			return fence{s}
		}},
	}
	got := map[string][4]string{}
	var table strings.Builder
	for _, m := range mechanisms {
		var row [4]string
		for i, h := range hazards {
			synctest.Test(t, func(t *testing.T) { row[i] = h.play(t, m.make()) })
		}
		got[m.name] = row
	}
	for i, h := range hazards {
		fmt.Fprintf(&table, "\n%s\n", h.name)
		for _, m := range mechanisms {
			fmt.Fprintf(&table, "  %-13s  %s\n", m.name, got[m.name][i])
		}
	}
	t.Log("what does each mechanism stop?\n" + table.String())
	if diff := cmp.Diff(verdicts, got); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
}
