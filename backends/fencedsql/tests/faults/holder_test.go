package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/database"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/proxy"
)

// holder claims, commits and releases one record that nobody else wants, and
// goes by nothing but what the calls return.
type holder struct {
	s        *fencedsql.Store
	key      string
	patience func() time.Duration // of a commit

	landed    int
	last      string // that landed
	uncertain int
	settled   map[fencedsql.Outcome]int
}

// run is rounds of work. The error is one that should not have been.
func (h *holder) run(ctx context.Context, rounds int) error {
	h.settled = map[fencedsql.Outcome]int{}
	for n := range rounds {
		g, err := until(ctx, func(ctx context.Context) (fenced.Grant, error) {
			return h.s.Acquire(ctx, h.key, "A", 200*time.Millisecond)
		})
		if err != nil {
			return err
		}
		value := fmt.Sprint(n)
		err = h.commit(ctx, g, value)
		switch {
		case refused(err):
			return err // nothing spoke against it
		case errors.Is(err, fenced.ErrUncertain):
			h.uncertain++
			if err := h.settle(ctx, g, value); err != nil {
				return err
			}
			continue
		case err == nil:
			h.landed++
			h.last = value
		}
		if err := h.s.Release(ctx, g); refused(err) {
			return err
		}
	}
	return nil
}

func (h *holder) commit(ctx context.Context, g fenced.Grant, value string) error {
	ctx, cancel := context.WithTimeout(ctx, h.patience())
	defer cancel()
	_, err := h.s.Commit(ctx, g, []byte(value))
	return err
}

// settle ends g and finds out what became of the commit under it.
func (h *holder) settle(ctx context.Context, g fenced.Grant, value string) error {
	_, err := until(ctx, func(ctx context.Context) (fenced.Grant, error) {
		err := h.s.Release(ctx, g)
		if errors.Is(err, fenced.ErrStaleReadGeneration) {
			err = nil // a try before had its way
		}
		return g, err
	})
	if err != nil {
		return err
	}
	outcome, err := until(ctx, func(ctx context.Context) (fencedsql.Outcome, error) { return h.s.Resolve(ctx, g) })
	switch {
	case err != nil:
		return err
	case outcome == fencedsql.Unknown:
		return fmt.Errorf("%q at generation %d: unknown, though the grant has just ended", h.key, g.Generation)
	case outcome == fencedsql.Landed:
		h.landed++
		h.last = value
	}
	h.settled[outcome]++
	return nil
}

// until calls f until it succeeds. A refusal is an error.
func until[T any](ctx context.Context, f func(ctx context.Context) (T, error)) (T, error) {
	for {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		v, err := f(try)
		cancel()
		if err == nil || refused(err) || ctx.Err() != nil {
			return v, err
		}
		select { // a server that is down says so at once
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// holders works on four records through v until each has had its rounds, while
// chaos is about, and holds what was said to have landed against the database.
func (v *victim) holders(rounds int, patience func() time.Duration, chaos func(ctx context.Context)) {
	t := v.b.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	hs := make([]holder, 4)
	errs := make(chan error)
	for i := range hs {
		hs[i] = holder{s: v.s, key: fmt.Sprint("r", i), patience: patience}
		go func() { errs <- hs[i].run(ctx, rounds) }()
	}
	mischief, enough := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		chaos(mischief)
	}()
	for range hs {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	enough()
	<-done
	v.b.proxy.Leave()
	v.settle()
	uncertain := 0
	for i := range hs {
		h := &hs[i]
		t.Logf("%s: %d landed, %d uncertain, settled: %v", h.key, h.landed, h.uncertain, h.settled)
		is := v.b.truth(h.key)
		require.Equal(t, int64(h.landed), is.version, h.key)
		require.Equal(t, h.last, is.value.String, h.key)
		uncertain += h.uncertain
	}
	require.NotZero(t, uncertain, "nothing went wrong")
}

func forever() time.Duration { return 10 * time.Second }

// cuts ends connections at messages at random.
func (b *bench) cuts(ctx context.Context) {
	for ctx.Err() == nil {
		b.proxy.Arm(proxy.Fault{Side: proxy.Side(rand.IntN(2)), At: rand.IntN(30), Act: proxy.Cut})
		select {
		case <-b.proxy.Hit():
		case <-ctx.Done():
		}
	}
	b.proxy.Disarm()
}

// TestPoolOfOne has four holders share a connection that breaks all the time.
func TestPoolOfOne(t *testing.T) {
	b := newBench(t)
	v := b.victim()
	v.pool.SetMaxOpenConns(1)
	v.holders(40, forever, b.cuts)
}

// TestShortLivedConnections does so with connections that live a millisecond.
func TestShortLivedConnections(t *testing.T) {
	b := newBench(t)
	v := b.victim()
	v.pool.SetConnMaxLifetime(time.Millisecond)
	v.holders(40, forever, b.cuts)
}

// TestDeadlines has the deadline of a commit come at any moment of it.
func TestDeadlines(t *testing.T) {
	b := newBench(t)
	v := b.victim()
	soon := func() time.Duration { return rand.N(3 * time.Millisecond) }
	v.holders(60, soon, func(context.Context) {})
}

// TestServerKilled kills the server, and one of its processes, which takes the
// others with it.
func TestServerKilled(t *testing.T) {
	own := database.Start(t, freePort(t), "")
	b := newBenchIn(t, database.Schema(t, own.DSN("")))
	v := b.victim()
	v.holders(80, forever, func(ctx context.Context) {
		for ctx.Err() == nil {
			b.proxy.Arm(proxy.Fault{Side: proxy.Requests, At: 100 + rand.IntN(300), Act: proxy.Pass})
			select { // the middle of something
			case <-b.proxy.Hit():
			case <-ctx.Done():
				return
			}
			if rand.IntN(2) == 0 {
				_ = own.KillProcess(v.name) // or it is down already
				continue
			}
			if err := own.Crash(); err != nil {
				t.Error(err)
			}
			if err := own.Up(); err != nil {
				t.Error(err)
				return
			}
		}
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
