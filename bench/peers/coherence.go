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
	"runtime"
	"strings"
	"time"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

// coherence is the Python package that is measured.
const coherence, coherenceVersion = "agent-coherence", "0.15.0"

var (
	coherenceMemory = coherencePeer("memory", "in memory", func(setting) string { return "" }, unweighedCoherence,
		"`get_artifact`, `get_content`, `commit_cas` with the content and its hash, by one agent")
	coherenceSQLite = coherencePeer("sqlite", "SQLite", func(s setting) string {
		if s.N > 200_000 && s.Size > little {
			return "registering " + harness.Short(s.N) + " artifacts, a transaction each, takes about a minute, and was done once, with values of " + size(little)
		}
		return ""
	}, func(int) string { return "it keeps its records in a file, and their contents nowhere" },
		"the same, on a file in the temporary directory; it keeps the hash of the content and no content")
)

func coherencePeer(registry, title string, limit func(setting) string, unweighed func(int) string, how string) peer {
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
				return "one worker process is measured, which runs one thread at a time"
			}
			return limit(s)
		},
		turn: 20 * time.Millisecond, // beside which what passes through the pipe is nothing

		unweighed: unweighed,
	}
}

func unweighedCoherence(n int) string {
	switch {
	case runtime.GOOS != "linux":
		return "the memory of another process is read where there is /proc"
	case n > 1_000_000:
		return "registering " + harness.Short(n) + " artifacts takes minutes"
	}
	return ""
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
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	empty int64 // its memory while it has no records
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
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &coherenceStore{cmd: cmd, in: in, out: bufio.NewReader(out)}
	if _, err := s.tell("collect"); err != nil { // by then it has been set up
		return nil, errors.Join(err, s.close())
	}
	s.empty = s.resident()
	return s, nil
}

// tell has the worker do something, and returns when it has, with the processor
// time that it took, in ms.
func (s *coherenceStore) tell(format string, args ...any) (took float64, err error) {
	if _, err := fmt.Fprintf(s.in, format+"\n", args...); err != nil {
		return 0, err
	}
	answer, err := s.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Sscanf(answer, "done %g", &took); err != nil {
		return 0, fmt.Errorf("%s: %q", coherence, answer)
	}
	return took, nil
}

func (s *coherenceStore) collect() float64 { return harness.Must(s.tell("collect")) }

// bytes is what the process has grown by since it was empty.
func (s *coherenceStore) bytes() int64 {
	harness.Must(s.tell("collect"))
	return s.resident() - s.empty
}

// resident returns the memory of the process, 0 where there is no /proc.
func (s *coherenceStore) resident() int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	for line := range strings.Lines(string(status)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	return 0
}

func (s *coherenceStore) load(n, size int) { harness.Must(s.tell("load %d %d", n, size)) }

func (s *coherenceStore) updating(on setting) loop {
	order := "uniform"
	if on.Hot {
		order = "hot"
	}
	return func(part []int32) { harness.Must(s.tell("update %d %s", len(part), order)) }
}

func (s *coherenceStore) close() error {
	return errors.Join(s.in.Close(), s.cmd.Wait())
}
