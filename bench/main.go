// Command bench measures the in-process store against the floor, a striped
// mutex and map doing the same versioned compare-and-swap with no grants at all,
// and prints ratios.
//
//	go run . [-quick] [-rows regexp]
//
// Contenders are interleaved in rounds and the ratio is taken within a round,
// over several shuffled access orders. Every row runs in several fresh
// processes, each of a binary whose functions the linker has laid out anew, and
// the rounds are pooled. A bar that is missed is said so and is no failure of
// the command: machines are noisy.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fencedgo/fenced/bench/internal/harness"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	var (
		quick   = flag.Bool("quick", false, "one process and few rounds: about half a minute, for a first look")
		only    = flag.String("rows", "", "measure only the rows whose name matches this `regexp`")
		list    = flag.Bool("list", false, "print the names of the rows and exit")
		inside  = flag.String("inside", "", "measure one `row` in this process and print JSON; for the command itself and for profiling")
		rounds  = flag.Int("rounds", 15, "rounds in a process")
		turns   = flag.Int("turns", 20, "turns of each contender in a round")
		profile = flag.String("cpuprofile", "", "with -inside, write a CPU profile to this `file`")
	)
	flag.Parse()
	e, processes := effort{rounds: *rounds, turns: *turns, batch: 5_000}, 3
	if *quick {
		e, processes = effort{rounds: 7, turns: 10, batch: 5_000}, 1
	}
	selected, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal(err)
	}
	var table []row
	for _, r := range rows(full) {
		switch {
		case *list:
			fmt.Printf("%-14s %s\n", r.name, r.what)
		case *inside == r.name:
			if err := measureInside(r, e, *profile); err != nil {
				log.Fatal(err)
			}
			return
		case selected.MatchString(r.name):
			table = append(table, r)
		}
	}
	switch {
	case *list:
	case *inside != "":
		log.Fatalf("no row %q", *inside)
	default:
		if err := measureAll(table, e, processes); err != nil {
			log.Fatal(err)
		}
	}
}

// measureInside measures r here, for a parent to read.
func measureInside(r row, e effort, profile string) error {
	return harness.Profile(profile, func() error {
		return json.NewEncoder(os.Stdout).Encode(r.measure(e))
	})
}

// measureAll measures the table in fresh processes and prints it.
func measureAll(table []row, e effort, processes int) error {
	started := time.Now()
	dir, err := os.MkdirTemp("", "fenced-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println(machine())
	results := make([]result, len(table))
	for i := range results {
		results[i].Allocs = -1
	}
	for p := range processes {
		b, err := build(dir, p+1)
		if err != nil {
			return err
		}
		for i, r := range table {
			harness.Progress("process %d of %d: %s", p+1, processes, r.name)
			one, err := b.measure(r, e)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			results[i].merge(one)
		}
	}
	harness.Progress("")
	printTable(os.Stdout, table, results)
	fmt.Printf("\n%d processes of %d rounds of %d turns of %d operations; %s; effective cores now %.2f\n",
		processes, e.rounds, e.turns, e.batch, time.Since(started).Round(time.Second), harness.EffectiveCores())
	return nil
}

// binaries are the harness and the tests of the store, laid out by the linker in
// an order of their own. The layout alone moves a function by a quarter.
type binaries struct{ bench, tests string }

func build(dir string, layout int) (binaries, error) {
	harness.Progress("building layout %d", layout)
	b := binaries{filepath.Join(dir, fmt.Sprint("bench-", layout)), filepath.Join(dir, fmt.Sprint("tests-", layout))}
	flags := fmt.Sprint("-ldflags=-randlayout=", layout)
	if _, err := harness.Output(exec.Command("go", "build", flags, "-o", b.bench, ".")); err != nil {
		return b, err
	}
	root, err := harness.Output(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/fencedgo/fenced"))
	if err != nil {
		return b, err
	}
	test := exec.Command("go", "test", "-c", flags, "-o", b.tests, ".")
	test.Dir = strings.TrimSpace(string(root))
	_, err = harness.Output(test)
	return b, err
}

// measure measures r in a fresh process.
func (b binaries) measure(r row, e effort) (result, error) {
	if r.measure == nil {
		return b.benchmark(r, e)
	}
	cmd := exec.Command(b.bench, "-inside", r.name, fmt.Sprint("-rounds=", e.rounds), fmt.Sprint("-turns=", e.turns))
	if r.procs > 0 {
		cmd.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", r.procs))
	}
	out, err := harness.Output(cmd)
	if err != nil {
		return result{}, err
	}
	var one result
	return one, json.Unmarshal(out, &one)
}

// benchmark measures a row that only the store's own tests can measure: they have
// a commit without a fence. A run of the benchmark counts as a round.
func (b binaries) benchmark(r row, e effort) (result, error) {
	out, err := harness.Output(exec.Command(b.tests, "-test.run=^$", "-test.bench=^BenchmarkFence$/^"+strings.TrimPrefix(r.name, "fence-")+"$",
		fmt.Sprintf("-test.benchtime=%dx", e.turns), fmt.Sprint("-test.count=", e.rounds)))
	if err != nil {
		return result{}, err
	}
	one := result{Allocs: -1}
	for _, m := range regexp.MustCompile(`([0-9.]+) ns/commit\s+([0-9.]+) ratio`).FindAllSubmatch(out, -1) {
		ns, _ := strconv.ParseFloat(string(m[1]), 64)
		ratio, _ := strconv.ParseFloat(string(m[2]), 64)
		one.Ns = append(one.Ns, ns)
		one.Values = append(one.Values, ratio)
	}
	if len(one.Values) == 0 {
		return one, fmt.Errorf("no ratio in the output of %s:\n%s", b.tests, out)
	}
	return one, nil
}
