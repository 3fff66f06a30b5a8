package machines_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/backends/fencedsql"
)

// agentDSN is the environment variable that makes an agent of the test binary,
// with the DSN of its database.
const agentDSN = "FENCEDSQL_TEST_AGENT"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(agentDSN); dsn != "" {
		if err := serve(dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// request is what an agent is to do with the record of key or, but for "claim",
// "read" and "reclaim", under the grant that it last claimed or committed under.
type request struct {
	ID       int
	Op       string
	Key      string
	Value    string
	Seen     fenced.Generation
	Lease    time.Duration
	Patience time.Duration
}

// reply is what came of it.
type reply struct {
	ID         int
	Version    fenced.Version
	Generation fenced.Generation
	Value      string
	Holder     string
	Outcome    string
	Ended      string   // how the grant of a refusal did
	Err        string   // "": none
	Is         []string // the sentinels that it matches
}

var sentinels = map[string]error{
	"version": fenced.ErrVersionConflict, "stale": fenced.ErrStaleReadGeneration, "held": fenced.ErrGrantHeld,
	"foreign": fenced.ErrForeignGrant, "uncertain": fenced.ErrUncertain, "deadline": context.DeadlineExceeded,
}

// serve does what the requests of standard input say, all at once.
func serve(dsn string) error {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := fencedsql.Open(context.Background(), db, fencedsql.PostgreSQL, fencedsql.Options{Poll: 100 * time.Millisecond, Timeout: time.Minute})
	if err != nil {
		return err
	}
	a := &agent{s: s, out: json.NewEncoder(os.Stdout)}
	for in := json.NewDecoder(bufio.NewReader(os.Stdin)); ; {
		var q request
		if err := in.Decode(&q); err != nil {
			return nil // the test is over
		}
		go a.answer(q)
	}
}

// agent is a holder, or a supervisor, on a machine of its own.
type agent struct {
	s   *fencedsql.Store
	mu  sync.Mutex
	g   fenced.Grant
	out *json.Encoder
}

func (a *agent) answer(q request) {
	a.mu.Lock()
	g := a.g
	a.mu.Unlock()
	p, next, err := a.do(q, g)
	p.ID = q.ID
	if err != nil {
		p.Err = err.Error()
		for name, sentinel := range sentinels {
			if errors.Is(err, sentinel) {
				p.Is = append(p.Is, name)
			}
		}
		var refusal *fenced.ConflictError
		if errors.As(err, &refusal) {
			p.Ended = refusal.Ended.String()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil && next.Generation != 0 {
		a.g = next
	}
	_ = a.out.Encode(p)
}

func (a *agent) do(q request, g fenced.Grant) (reply, fenced.Grant, error) {
	ctx, cancel := context.WithTimeout(context.Background(), q.Patience)
	defer cancel()
	var r fenced.Record
	var next fenced.Grant
	var outcome fencedsql.Outcome
	var err error
	switch q.Op {
	case "read":
		r, err = a.s.Read(ctx, q.Key)
	case "claim":
		next, err = a.s.TryAcquire(ctx, q.Key, q.Value, q.Lease)
		r = next.Record
	case "commit":
		next, err = a.s.Commit(ctx, g, []byte(q.Value))
		r = next.Record
	case "renew":
		next, err = a.s.Renew(ctx, g, q.Lease)
		r = next.Record
	case "release":
		err = a.s.Release(ctx, g)
	case "reclaim":
		r, err = a.s.Reclaim(ctx, q.Key, q.Seen)
	case "resolve":
		outcome, err = a.s.Resolve(ctx, g)
	case "context": // answers when it has ended
		under, leave := a.s.Context(ctx, g)
		defer leave()
		<-under.Done()
		err = context.Cause(under)
	default:
		err = fmt.Errorf("no such request: %+v", q)
	}
	return reply{Version: r.Version, Generation: r.Generation, Value: string(r.Value), Holder: r.Holder, Outcome: outcome.String()}, next, err
}

// remote is an agent as the test sees it.
type remote struct {
	t     *testing.T
	mu    sync.Mutex
	in    *json.Encoder
	next  int
	calls map[int]chan reply
}

// startAgent runs an agent under a command.
func startAgent(t *testing.T, dsn string, within ...string) *remote {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	words := append(within, self)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), agentDSN+"="+dsn)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	a := &remote{t: t, in: json.NewEncoder(in), calls: map[int]chan reply{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := json.NewDecoder(out); ; {
			var p reply
			if err := lines.Decode(&p); err != nil {
				return
			}
			a.mu.Lock()
			a.calls[p.ID] <- p
			a.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		_ = cmd.Wait()
	})
	return a
}

// begin sends a request and returns where its reply will be.
func (a *remote) begin(q request) <-chan reply {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next++
	q.ID = a.next
	if q.Patience == 0 {
		q.Patience = 30 * time.Second
	}
	c := make(chan reply, 1)
	a.calls[q.ID] = c
	require.NoError(a.t, a.in.Encode(q))
	return c
}

func (a *remote) await(c <-chan reply) reply {
	a.t.Helper()
	select {
	case p := <-c:
		return p
	case <-time.After(time.Minute):
		a.t.Fatal("no answer of an agent")
		return reply{}
	}
}

// do sends a request and waits for its reply.
func (a *remote) do(q request) reply {
	a.t.Helper()
	return a.await(a.begin(q))
}

// must is do where nothing is to go wrong.
func (a *remote) must(q request) reply {
	a.t.Helper()
	p := a.do(q)
	require.Empty(a.t, p.Err, "%+v", q)
	return p
}
