package database

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Own is a PostgreSQL server of a test's own, that may be killed.
type Own struct {
	tb        testing.TB
	bin, data string
	port      int
	within    []string // the command that the server runs under
	options   string
}

// binaries returns the directory of the newest server that is installed.
func binaries(tb testing.TB) string {
	tb.Helper()
	Server(tb) // whoever has set no server wants none
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	version := func(dir string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		return n
	}
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("pg_ctl"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir
		}
	}
	tb.Skip("no initdb and pg_ctl for a server of the test's own: install PostgreSQL's server (Debian: postgresql), or put its programs in PATH")
	return ""
}

// Start makes and starts a server that listens on loopback and, where it is not
// "", on an address, in a directory that goes away with tb. within is a command
// to run it under, as "ip netns exec …", or nothing.
func Start(tb testing.TB, port int, address string, within ...string) *Own {
	tb.Helper()
	o := &Own{tb: tb, bin: binaries(tb), port: port, within: within}
	dir, err := os.MkdirTemp("", "fencedsql-own-") //nolint:usetesting // its path is short enough for a socket, and others may enter it
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if os.Getuid() == 0 {
		require.NoError(tb, run(exec.Command("chown", "postgres", dir)))
	}
	o.data = filepath.Join(dir, "data")
	require.NoError(tb, run(o.as("initdb", "--no-sync", "-D", o.data, "-U", "fenced", "-A", "trust", "-E", "UTF8", "--locale=C")))
	listen := loopback
	if address != "" {
		listen += "," + address
		f, err := os.OpenFile(filepath.Join(o.data, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(tb, err)
		_, err = fmt.Fprintf(f, "host all all %s/24 trust\n", address)
		require.NoError(tb, err)
		require.NoError(tb, f.Close())
	}
	o.options = fmt.Sprintf("-c listen_addresses=%s -p %d -k %s", listen, port, dir)
	require.NoError(tb, o.Up())
	tb.Cleanup(func() { _ = o.Crash() })
	return o
}

const loopback = "127.0.0.1"

// DSN is that of the server at an address, "" for loopback.
func (o *Own) DSN(address string) string {
	return fmt.Sprintf("postgres://fenced@%s:%d/postgres?sslmode=disable", cmp.Or(address, loopback), o.port)
}

// Up starts the server again.
func (o *Own) Up() error {
	return run(o.as("pg_ctl", "-D", o.data, "-l", filepath.Join(o.data, "server.log"), "-w", "-t", "60", "-o", o.options, "start"))
}

// Crash ends the server without letting it finish anything. Up has to recover
// from its log.
func (o *Own) Crash() error {
	return run(o.as("pg_ctl", "-D", o.data, "-m", "immediate", "-w", "stop"))
}

// KillProcess kills, as with kill -9, a process of the server that serves the
// given application_name, if there is one.
func (o *Own) KillProcess(application string) error {
	db, err := sql.Open("pgx", o.DSN(""))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var pid int
	err = db.QueryRowContext(ctx, `SELECT pid FROM pg_stat_activity WHERE application_name = $1 ORDER BY state = 'active' DESC LIMIT 1`, application).Scan(&pid)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// as returns the command of a server's program, under its owner, who is not root.
func (o *Own) as(program string, args ...string) *exec.Cmd {
	words := slices.Clone(o.within)
	if os.Getuid() == 0 {
		words = append(words, "setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups")
	}
	words = append(append(words, filepath.Join(o.bin, program)), args...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = "/"
	return cmd
}

// run runs cmd, for a minute and a half at most. The server that it leaves behind
// keeps none of its files.
func run(cmd *exec.Cmd) error {
	out, err := os.CreateTemp("", "fencedsql-out-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	stop()
	if err != nil {
		said, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, said)
	}
	return nil
}
