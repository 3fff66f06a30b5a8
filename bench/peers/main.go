// Command peers does the same work with fenced and with what people would use
// instead, and says how far ahead or behind it is.
//
//	go run ./peers [-quick] [-render] [-o directory]
//
// It writes results.json, and from that RESULTS.md, commit.svg and growth.svg;
// with -render these three alone. README.md says how it is measured.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("peers: ")
	var (
		isQuick = flag.Bool("quick", false, "a tenth of the records, one process, few rounds: a first look, which by default is printed and not written")
		render  = flag.Bool("render", false, "measure nothing, and render the results file again")
		inside  = flag.String("inside", "", "do one `job`, as JSON, in this process and print what it measured; for the command itself and for profiling")
		to      = flag.String("o", "", "the `directory` to write to, by default this one")
		profile = flag.String("cpuprofile", "", "with -inside, write a CPU profile to this `file`")
		jobs    = flag.Bool("jobs", false, "print the jobs, as -inside takes them, and exit")
	)
	flag.Parse()
	r := run{full, effort{rounds: 7, turns: 6, turn: 2 * time.Millisecond}, 2}
	if *isQuick {
		r = run{quick, effort{rounds: 5, turns: 2, turn: time.Millisecond}, 1}
	}
	var err error
	switch {
	case *inside != "":
		err = harness.Profile(*profile, func() error { return r.inside(*inside) })
	case *jobs:
		err = r.list()
	case *render:
		var got *report
		if got, err = load(filepath.Join(*to, resultsFile)); err == nil {
			err = got.render(*to)
		}
	default:
		err = r.report(*to, *isQuick && *to == "")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run is a whole measurement.
type run struct {
	scale     scale
	effort    effort
	processes int // that do each job
}

func (r run) list() error {
	each, once := r.scale.jobs()
	for _, j := range append(each, once...) {
		if err := json.NewEncoder(os.Stdout).Encode(j); err != nil {
			return err
		}
	}
	return nil
}

// inside does one job, for a parent to read.
func (r run) inside(text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	got, err := j.run(r.scale, r.effort)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(got)
}

// report measures, and writes to dir or prints.
func (r run) report(dir string, print bool) error {
	started := time.Now()
	got := &report{
		Go: runtime.Version(), Processor: harness.Processor(), Commit: harness.Revision(), Procs: runtime.GOMAXPROCS(0),
		Versions: versions(),
	}
	got.Cores[0] = rounded(harness.EffectiveCores())
	all, err := r.measure()
	if err != nil {
		return err
	}
	harness.Progress("")
	got.Results = pool(all)
	got.Cores[1] = rounded(harness.EffectiveCores())
	got.Effort = fmt.Sprintf("%d process(es), %s, %d rounds in each, %d turns in a round, of about %v; %v in all",
		r.processes, r.once(), r.effort.rounds, r.effort.turns, r.effort.turn, time.Since(started).Round(time.Second))
	if print {
		return got.table(os.Stdout)
	}
	if err := got.save(filepath.Join(dir, resultsFile)); err != nil {
		return err
	}
	return got.render(dir)
}

// once says what is measured in one process, however many there are.
func (r run) once() string {
	var slow []string
	for _, p := range all() {
		if p.slow {
			slow = append(slow, p.name)
		}
	}
	return fmt.Sprintf("but one for memory, Python, %s records, and %s records in %s",
		harness.Short(r.scale.huge), harness.Short(r.scale.large), strings.Join(slow, "; "))
}

// measure does all jobs, each in fresh processes of binaries that the linker has
// laid out anew.
func (r run) measure() ([]samples, error) {
	dir, err := os.MkdirTemp("", "fenced-peers-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	_, missing := coherencePython()
	var reason string
	if missing != nil {
		log.Print(missing)
		reason, _, _ = strings.Cut("skipped: "+missing.Error(), "\n")
	}
	each, once := r.scale.jobs()
	var all []samples
	for p := range r.processes {
		harness.Progress("building layout %d", p+1)
		bin := filepath.Join(dir, fmt.Sprint("peers-", p))
		if _, err := harness.Output(exec.Command("go", "build", fmt.Sprint("-ldflags=-randlayout=", p+1), "-o", bin, selfPath)); err != nil {
			return nil, err
		}
		todo := each
		if p == 0 {
			todo = append(todo, once...)
		}
		for i, j := range todo {
			harness.Progress("process %d of %d, %d of %d: %s", p+1, r.processes, i+1, len(todo), j)
			if peer, ok := peerOf(j.Peer); ok && peer.module == coherence && missing != nil {
				all = append(all, j.skipped(r.scale, reason)...)
				continue
			}
			got, err := r.outside(bin, j)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", j, err)
			}
			all = append(all, got...)
		}
	}
	return all, nil
}

const (
	selfPath    = "github.com/fencedgo/fenced/bench/peers"
	resultsFile = "results.json"
)

// outside does a job in a fresh process. One that was killed has run out of
// memory, and that is a result.
func (r run) outside(bin string, j job) ([]samples, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	args := []string{"-inside", string(text)}
	if r.scale == quick {
		args = append(args, "-quick")
	}
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Dir(bin)) // which is removed in the end, whatever is left there
	out, err := harness.Output(cmd)
	if killed(err) {
		return j.skipped(r.scale, "did not fit into memory"), nil
	}
	if err != nil {
		return nil, err
	}
	var got []samples
	return got, json.Unmarshal(out, &got)
}

// killed reports whether err is of a process that was, as one is that asks for
// more memory than there is. Other signals are faults.
func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// versions returns the versions of the contenders, as linked in.
func versions() map[string]string {
	found := map[string]string{coherence: coherenceVersion}
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		for _, p := range all() {
			if p.module == dep.Path {
				found[dep.Path] = dep.Version
			}
		}
		for _, q := range queues {
			if q.module == dep.Path {
				found[dep.Path] = dep.Version
			}
		}
	}
	return found
}
