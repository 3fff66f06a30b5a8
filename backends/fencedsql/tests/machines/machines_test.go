// Package machines_test has a holder on one machine and PostgreSQL on another,
// which are two network namespaces, and cuts the wire between them.
package machines_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fencedgo/fenced/backends/fencedsql/tests/database"
)

// The addresses of the two machines, which nobody else can see.
const (
	serverAddress = "10.89.7.1"
	holderAddress = "10.89.7.2"
)

// wire is two machines with a wire between them.
type wire struct {
	t              *testing.T
	server, holder string // namespaces
}

func newWire(t *testing.T) *wire {
	t.Helper()
	database.Server(t) // whoever has set none wants no server at all
	if os.Getuid() != 0 {
		t.Skip("network namespaces are made by root alone: run this package as root, with FENCEDSQL_POSTGRES set")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("no ip command in PATH to make network namespaces with: install iproute2, and run with FENCEDSQL_POSTGRES set")
	}
	w := &wire{t, fmt.Sprintf("fenced-%d-s", os.Getpid()), fmt.Sprintf("fenced-%d-h", os.Getpid())}
	for _, ns := range []string{w.server, w.holder} {
		if out, err := exec.Command("ip", "netns", "add", ns).CombinedOutput(); err != nil {
			t.Skipf("network namespaces cannot be made here: run this package with CAP_SYS_ADMIN and CAP_NET_ADMIN, as docker run --privileged gives, and FENCEDSQL_POSTGRES set: %s", out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", ns).Run() })
	}
	w.ip("link", "add", "wire", "netns", w.server, "type", "veth", "peer", "name", "wire", "netns", w.holder)
	for ns, address := range map[string]string{w.server: serverAddress, w.holder: holderAddress} {
		w.ip("-n", ns, "address", "add", address+"/24", "dev", "wire")
		w.ip("-n", ns, "link", "set", "lo", "up")
		w.ip("-n", ns, "link", "set", "wire", "up")
	}
	return w
}

func (w *wire) ip(args ...string) {
	w.t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	require.NoError(w.t, err, "ip %s: %s", strings.Join(args, " "), out)
}

func (w *wire) cut()  { w.t.Helper(); w.ip("-n", w.server, "link", "set", "wire", "down") }
func (w *wire) heal() { w.t.Helper(); w.ip("-n", w.server, "link", "set", "wire", "up") }

func on(ns string) []string { return []string{"ip", "netns", "exec", ns} }

// TestCutOff cuts a holder off with a commit on its way. The other side reclaims
// and decides; the cut heals, and the commit arrives.
func TestCutOff(t *testing.T) {
	const (
		key   = "orders/4412"
		lease = 2 * time.Second
	)
	w := newWire(t)
	server := database.Start(t, 5432, serverAddress, on(w.server)...)
	holder := startAgent(t, server.DSN(serverAddress), on(w.holder)...)
	other := startAgent(t, server.DSN(""), on(w.server)...)

	a := holder.must(request{Op: "claim", Key: key, Value: "A", Lease: lease})
	holder.must(request{Op: "commit", Value: "begun"})
	holder.must(request{Op: "renew", Lease: lease})
	under := holder.begin(request{Op: "context"})

	w.cut()
	late := holder.begin(request{Op: "commit", Value: "late"})
	renewal := holder.do(request{Op: "renew", Lease: time.Hour, Patience: lease / 4})
	t.Log(renewal.Err)
	require.NotEmpty(t, renewal.Err)
	require.Subset(t, []string{"deadline", "uncertain"}, renewal.Is, "to be cut off is no refusal: %+v", renewal)
	require.Equal(t, []string{"deadline"}, holder.await(under).Is, "the holder stops by itself")

	seen := other.must(request{Op: "read", Key: key})
	require.Equal(t, "A", seen.Holder)
	other.must(request{Op: "reclaim", Key: key, Seen: seen.Generation})
	b := other.must(request{Op: "claim", Key: key, Value: "B", Lease: time.Hour})
	require.Equal(t, a.Generation+1, b.Generation)
	decided := other.must(request{Op: "commit", Value: "decided"})
	select {
	case p := <-late:
		t.Fatalf("the holder was not cut off: %+v", p)
	default:
	}

	w.heal()
	refused := holder.await(late)
	require.ElementsMatch(t, []string{"version", "stale"}, refused.Is, "%+v", refused)
	require.Equal(t, "reclaimed", refused.Ended)
	for _, op := range []string{"commit", "renew", "release"} {
		p := holder.do(request{Op: op, Value: "again", Lease: lease})
		require.Contains(t, p.Is, "stale", "%s: %+v", op, p)
	}
	require.Equal(t, "not landed", holder.must(request{Op: "resolve"}).Outcome)
	require.Equal(t, []string{"held"}, holder.do(request{Op: "claim", Key: key, Value: "A", Lease: lease}).Is)
	is := other.must(request{Op: "read", Key: key})
	require.Equal(t, "decided", is.Value)
	require.Equal(t, decided.Version, is.Version)
	require.Equal(t, "B", is.Holder)

	other.must(request{Op: "release"})
	again := holder.must(request{Op: "claim", Key: key, Value: "A", Lease: lease})
	require.Equal(t, b.Generation+1, again.Generation)
	require.Equal(t, "decided", again.Value)
}
