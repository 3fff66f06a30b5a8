package main

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// coherence is the Python package that is measured.
const coherence, coherenceVersion = "agent-coherence", "0.15.0"

var (
	coherenceMemory = coherencePeer("memory", "in memory", func(setting) string { return "" },
		"`get_artifact`, `get_content`, `commit_cas` with the content and its hash, by one agent")
	coherenceSQLite = coherencePeer("sqlite", "SQLite", func(s setting) string {
		if s.N > 200_000 {
			return "registering " + harness.Short(s.N) + " artifacts, a transaction each, takes minutes"
		}
		return ""
	}, "the same, on a file in the temporary directory; it keeps the hash of the content and no content")
)

func coherencePeer(registry, title string, limit func(setting) string, how string) peer {
	return peer{
		name:   coherence + ", " + title,
		module: coherence,
		how:    how,
		open: func() (store, error) {
			python, err := coherencePython()
			if err != nil {
				return nil, err
			}
			return startCoherence(exec.Command(python, "-c", coherenceWorker, registry))
		},
		loops: map[string]maker{update: func(s store, on setting) loop { return s.(*coherenceStore).updating(on) }},
		limit: func(s setting) string {
			if s.Procs > 1 {
				return "Python runs one thread at a time"
			}
			return limit(s)
		},
		turn: 20 * time.Millisecond, // beside which what passes through the pipe is nothing
	}
}

// coherenceWorker is the program that works on a registry as it is told.
//
//go:embed agentcoherence/worker.py
var coherenceWorker string

// coherencePython returns the interpreter that has the package: of a virtual
// environment of its own, made the first time. The first line of an error is for
// the table, the rest names what is on this machine.
func coherencePython() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "fenced-bench", coherence+"-"+coherenceVersion)
	python, installed := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "installed")
	if _, err := os.Stat(installed); err == nil {
		return python, nil
	}
	harness.Progress("installing %s %s", coherence, coherenceVersion)
	if _, err := harness.Output(exec.Command("python3", "-m", "venv", "--clear", dir)); err != nil {
		return "", fmt.Errorf("there is no python3 that makes a virtual environment\n%w", err)
	}
	if _, err := harness.Output(exec.Command(python, "-m", "pip", "install", "--quiet", coherence+"=="+coherenceVersion)); err != nil {
		return "", fmt.Errorf("%s %s cannot be installed\n%w", coherence, coherenceVersion, err)
	}
	return python, os.WriteFile(installed, nil, 0o600)
}

// coherenceStore is a registry in a process of its own.
type coherenceStore struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startCoherence runs the worker as cmd says.
func startCoherence(cmd *exec.Cmd) (*coherenceStore, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	return &coherenceStore{cmd, in, bufio.NewReader(out)}, cmd.Start()
}

// tell has the worker do something, and returns when it has.
func (s *coherenceStore) tell(format string, args ...any) error {
	if _, err := fmt.Fprintf(s.in, format+"\n", args...); err != nil {
		return err
	}
	answer, err := s.out.ReadString('\n')
	if err == nil && answer != "done\n" {
		err = fmt.Errorf("%s: %q", coherence, answer)
	}
	return err
}

func (s *coherenceStore) load(n, size int) { must(s.tell("load %d %d", n, size)) }

func (s *coherenceStore) updating(on setting) loop {
	order := "uniform"
	if on.Hot {
		order = "hot"
	}
	return func(part []int32) { must(s.tell("update %d %s", len(part), order)) }
}

func (s *coherenceStore) close() error {
	return errors.Join(s.in.Close(), s.cmd.Wait())
}
