package processes_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/database"
	"github.com/fencedgo/fenced/backends/fencedsql/tests/tap"
)

// The environment of a child: the test binary run anew.
const (
	childOf   = "FENCEDSQL_TEST_FILE"     // the database
	childName = "FENCEDSQL_TEST_NAME"     // the holder, and the mark of its values
	dieAt     = "FENCEDSQL_TEST_DIE_AT"   // the statement at which it kills itself, from 0; -1: never
	dieAfter  = "FENCEDSQL_TEST_DIE_DONE" // whether it does so with the statement done
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childOf); path != "" {
		if err := work(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ack is what a child tells its parent that the store has told it, one a line.
type ack struct {
	Op         string // "claim", "commit" or "release"
	Key        string
	Version    fenced.Version
	Generation fenced.Generation
	Token      string // that a commit added
}

// tokenLength is that of what a commit adds to the value. So a value is all
// commits of the record, and the place of one is its version less one.
const tokenLength = 8

const (
	keys  = 3
	lease = 250 * time.Millisecond // the shorter, the sooner others go on where a holder was killed
)

func key(i int) string { return fmt.Sprint("r", i) }

// work claims, commits and releases until it is killed. With a statement to die
// at it does so once, and the end of that statement is never.
func work(path string) error {
	ctx, name := context.Background(), os.Getenv(childName)
	db, err := sql.Open("sqlite", database.File(path))
	if err != nil {
		return err
	}
	defer db.Close()
	rounds := 1
	if at, err := strconv.Atoi(os.Getenv(dieAt)); err != nil || at < 0 {
		rounds = 1 << 30
	} else {
		db = sql.OpenDB(tap.New(db.Driver(), database.File(path), suicide(at, os.Getenv(dieAfter) != "")))
	}
	s, err := fencedsql.Open(ctx, db, fencedsql.SQLite, fencedsql.Options{Poll: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout) // one write a line
	for n := range rounds {
		if err := round(ctx, s, out, key(rand.IntN(keys)), fmt.Sprintf("%s%0*d", name, tokenLength-len(name), n)); err != nil {
			return err
		}
	}
	return nil
}

func round(ctx context.Context, s *fencedsql.Store, out *json.Encoder, key, token string) error {
	g, err := s.Acquire(ctx, key, token, lease)
	if err != nil {
		return err
	}
	if err := out.Encode(ack{"claim", key, g.Version, g.Generation, ""}); err != nil {
		return err
	}
	g, err = s.Commit(ctx, g, append(g.Value, token...))
	if errors.Is(err, fenced.ErrStaleReadGeneration) {
		return nil // it was too slow, which can be
	}
	if err != nil {
		return err
	}
	if err := out.Encode(ack{"commit", key, g.Version, g.Generation, token}); err != nil {
		return err
	}
	err = s.Release(ctx, g)
	if errors.Is(err, fenced.ErrStaleReadGeneration) {
		return nil
	}
	if err != nil {
		return err
	}
	return out.Encode(ack{"release", key, g.Version, g.Generation, ""})
}

// suicide kills the process at a statement.
func suicide(at int, done bool) tap.Hook {
	n := 0
	return func(_ string, send func() error) error {
		n++
		if n-1 != at {
			return send()
		}
		if done {
			_ = send()
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// child is a process at work on the file at path.
type child struct {
	cmd  *exec.Cmd
	acks []ack
	done chan struct{} // closed once it has ended and acks are all there are
}

func start(t *testing.T, path, name string, env ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(self), done: make(chan struct{})}
	c.cmd.Env = append(append(os.Environ(), childOf+"="+path, childName+"="+name), env...)
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		lines := json.NewDecoder(out)
		for {
			var a ack
			if err := lines.Decode(&a); err != nil {
				_, _ = io.Copy(io.Discard, out)
				return
			}
			c.acks = append(c.acks, a)
		}
	}()
	t.Cleanup(func() { c.kill() })
	return c
}

// kill ends the process with kill -9, and returns what it had been told.
func (c *child) kill() []ack {
	_ = c.cmd.Process.Kill()
	<-c.done
	_ = c.cmd.Wait()
	return c.acks
}

// ended waits for the end of the process, and reports whether it was killed.
func (c *child) ended() (acks []ack, killed bool) {
	<-c.done
	err := c.cmd.Wait()
	var exit *exec.ExitError
	return c.acks, errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}
