package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// worker returns the command that runs the worker on a package of the tests, since
// tests install nothing.
func worker(t *testing.T, registry string, env ...string) *exec.Cmd {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 in PATH to run the worker with: install Python 3")
	}
	cmd := exec.Command(python, "-B", "-c", coherenceWorker, registry)
	cmd.Env = append(append(os.Environ(), "PYTHONPATH=testdata"), env...)
	return cmd
}

func TestCoherenceWorks(t *testing.T) {
	for _, registry := range []string{"memory", "sqlite"} {
		t.Run(registry, func(t *testing.T) {
			s, err := startCoherence(worker(t, registry))
			if err != nil {
				t.Fatal(err)
			}
			if s.resident() <= 0 && runtime.GOOS == "linux" {
				t.Error("it is not known how much memory the worker takes")
			}
			s.load(5, 64)
			if _, err := s.tell("collect"); err != nil {
				t.Fatal(err)
			}
			for _, on := range []setting{{N: 5}, {N: 5, Hot: true}} {
				s.updating(on)(make([]int32, 12))
			}
			if err := s.close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A registry that lets an old version win is not measured.
func TestCoherenceChecksWhatItMeasures(t *testing.T) {
	cmd := worker(t, "memory", "FENCED_BROKEN=1")
	s, err := startCoherence(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.tell("load 5 64"); err == nil {
		t.Fatal("the worker does not object")
	}
	if err := s.close(); err == nil {
		t.Fatal("the worker ends well")
	}
}

// What is not known is an error, and no answer.
func TestCoherenceProtocol(t *testing.T) {
	s, err := startCoherence(worker(t, "memory"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.tell("dance"); err == nil {
		t.Fatal("it dances")
	}
	if err := s.close(); err == nil {
		t.Fatal("the worker ends well")
	}
}

func TestCoherenceNeedsPython(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("PATH", "")
	_, err := coherencePython()
	if err == nil {
		t.Fatal("Python was found nowhere")
	}
	if line, _, _ := strings.Cut(err.Error(), "\n"); line != "there is no python3 that makes a virtual environment" {
		t.Fatalf("the table would say %q", line)
	}
}

// Where Python is missing, the table says so wherever it would have had a figure.
func TestCoherenceIsMissed(t *testing.T) {
	each, once := full.jobs()
	for _, j := range append(each, once...) {
		p, _ := peerOf(j.Peer)
		if p.module != coherence {
			continue
		}
		left := j.skipped(full, "why")
		if want := map[string]int{comparing: 4, memory: 1}[j.Kind]; len(left) != want {
			t.Errorf("%s: %d cells are left out, want %d", j, len(left), want)
		}
		for _, s := range left {
			if s.Left != "why" || s.Peer != j.Peer {
				t.Errorf("%s: left out %+v", j, s)
			}
		}
	}
}
