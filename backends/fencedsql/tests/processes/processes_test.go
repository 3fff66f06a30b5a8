// Package processes_test has several processes work on one file of SQLite, and
// kills them.
package processes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/database"
)

// ledger is all that any process was told.
type ledger struct {
	t       *testing.T
	path    string
	claims  map[string]bool // by key and generation
	commits map[string]map[fenced.Version]string
	high    map[string]ack // the highest numbers by key
	count   map[string]int
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{
		t: t, path: filepath.Join(t.TempDir(), "fenced.db"),
		claims: map[string]bool{}, commits: map[string]map[fenced.Version]string{}, high: map[string]ack{}, count: map[string]int{},
	}
	l.reopen(func(*fencedsql.Store) {}) // makes the tables
	return l
}

// enter notes what one process was told, in the order in which it was.
func (l *ledger) enter(acks []ack) {
	l.t.Helper()
	last := map[string]ack{}
	for _, a := range acks {
		l.count[a.Op]++
		was := last[a.Key]
		require.GreaterOrEqual(l.t, a.Version, was.Version, "a version fell: %+v after %+v", a, was)
		require.GreaterOrEqual(l.t, a.Generation, was.Generation, "a generation fell: %+v after %+v", a, was)
		last[a.Key] = a
		high := l.high[a.Key]
		l.high[a.Key] = ack{Version: max(high.Version, a.Version), Generation: max(high.Generation, a.Generation)}
		switch a.Op {
		case "claim":
			issued := fmt.Sprint(a.Key, " ", a.Generation)
			require.False(l.t, l.claims[issued], "issued twice: %s", issued)
			l.claims[issued] = true
		case "commit":
			if l.commits[a.Key] == nil {
				l.commits[a.Key] = map[fenced.Version]string{}
			}
			other, taken := l.commits[a.Key][a.Version]
			require.False(l.t, taken, "two commits were told that they are version %d of %s: %s, %s", a.Version, a.Key, other, a.Token)
			l.commits[a.Key][a.Version] = a.Token
		}
	}
}

func (l *ledger) reopen(f func(s *fencedsql.Store)) {
	l.t.Helper()
	db := database.SQLite.Open(l.t, database.File(l.path))
	s := database.SQLite.Store(l.t, db, fencedsql.Options{Poll: 10 * time.Millisecond})
	f(s)
	require.NoError(l.t, s.Close())
	require.NoError(l.t, db.Close())
}

// audit opens the file when no process lives, and holds it against the ledger.
func (l *ledger) audit() {
	l.t.Helper()
	l.reopen(func(s *fencedsql.Store) {
		for i := range keys {
			key := key(i)
			r, err := s.Read(l.t.Context(), key)
			require.NoError(l.t, err)
			require.GreaterOrEqual(l.t, r.Version, l.high[key].Version)
			require.GreaterOrEqual(l.t, r.Generation, l.high[key].Generation)
			require.Len(l.t, r.Value, tokenLength*int(r.Version), "every version is the one before and one commit")
			for version, token := range l.commits[key] {
				end := tokenLength * int(version)
				require.Equal(l.t, token, string(r.Value[end-tokenLength:end]), "acknowledged: version %d of %s", version, key)
			}
			l.comesFree(s, r)
		}
	})
}

// comesFree claims a record that a dead process may hold.
func (l *ledger) comesFree(s *fencedsql.Store, r fenced.Record) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 20*time.Second)
	defer cancel()
	g, err := s.Acquire(ctx, r.Key, "heir", time.Hour)
	require.NoError(l.t, err, "held for ever: %+v", r)
	want := r.Generation
	if r.Holder != "" {
		want++
	}
	require.Equal(l.t, want, g.Generation)
	require.NoError(l.t, s.Release(l.t.Context(), g))
	l.enter([]ack{{Op: "claim", Key: r.Key, Version: g.Version, Generation: g.Generation}})
}

// TestKilled has four processes at work, one of which is killed with kill -9
// again and again.
func TestKilled(t *testing.T) {
	l := newLedger(t)
	children, kills := make([]*child, 4), 0
	spawn := func(i int) {
		children[i] = start(t, l.path, fmt.Sprintf("%c%c", 'a'+kills/26, 'a'+kills%26), dieAt+"=-1")
		kills++
	}
	for i := range children {
		spawn(i)
	}
	var acks [][]ack
	end := time.After(4 * time.Second)
	for working := true; working; {
		select {
		case <-time.After(50*time.Millisecond + rand.N(100*time.Millisecond)):
			i := rand.IntN(len(children))
			acks = append(acks, children[i].kill())
			spawn(i)
		case <-end:
			working = false
		}
	}
	for _, c := range children {
		acks = append(acks, c.kill())
	}
	for _, a := range acks {
		l.enter(a)
	}
	l.audit()
	t.Logf("%d processes, told: %v", kills, l.count)
	require.NotZero(t, l.count["commit"])
}

// TestKilledAtEveryStatement has a process die at each statement that it sends
// in turn, before it and after.
func TestKilledAtEveryStatement(t *testing.T) {
	l := newLedger(t)
	statements := 0
	for died := true; died; statements++ {
		for _, done := range []string{"", "done"} {
			c := start(t, l.path, string(rune('a'+statements)), fmt.Sprintf("%s=%d", dieAt, statements), dieAfter+"="+done)
			var acks []ack
			acks, died = c.ended()
			l.enter(acks)
			l.audit()
		}
	}
	t.Logf("%d statements, told: %v", statements-1, l.count)
	require.Greater(t, statements, 9)
	require.NotZero(t, l.count["release"])
}
