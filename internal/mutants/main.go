// Command mutants breaks the library on purpose, one mutation at a time, and
// wants a named test to fail for each that a list has. It works on copies of the
// tree, prints a table, and exits with 1 if any mutation survives or the list no
// longer fits the code. Run it at the root of the repository:
//
//	go run ./internal/mutants [-list FILE] [-only REGEXP] [-jobs N]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// ofLibrary is the list of mutations of the root module.
const ofLibrary = "internal/mutants/mutants.txt"

// patience is how long a test may take, and a test that is to hang.
const (
	patience      = 60 * time.Second
	patienceHangs = 10 * time.Second
)

// chances is how often a mutation is tried before it has survived: those that
// tear a step in two are noticed where goroutines happen to meet.
const chances = 5

func main() {
	list := flag.String("list", ofLibrary, "take the mutations from `FILE`")
	only := flag.String("only", "", "run only the mutations whose name matches `REGEXP`")
	jobs := flag.Int("jobs", 2, "run `N` mutations at a time")
	flag.Parse()
	if err := run(*list, *only, *jobs); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(list, only string, jobs int) error {
	mutations, err := choose(list, only)
	if err != nil {
		return err
	}
	start := time.Now()
	trees, cleanup, err := plant(max(jobs, 1))
	defer cleanup()
	if err != nil {
		return err
	}
	if err := control(trees[0], mutations); err != nil {
		return err
	}
	outcomes := make([]chan outcome, len(mutations))
	for i := range outcomes {
		outcomes[i] = make(chan outcome, 1)
	}
	next := make(chan int)
	for _, t := range trees {
		go func() {
			for i := range next {
				outcomes[i] <- t.try(&mutations[i])
			}
		}()
	}
	go func() {
		defer close(next)
		for i := range mutations {
			next <- i
		}
	}()
	bad := print(mutations, outcomes)
	fmt.Printf("\n%d mutations, %d killed, %d not, %v\n", len(mutations), len(mutations)-bad, bad, time.Since(start).Round(time.Second))
	if bad > 0 {
		return fmt.Errorf("%d of %d mutations were not killed by the test that the list names", bad, len(mutations))
	}
	return nil
}

// choose returns the mutations of the list in a file whose name matches only.
func choose(list, only string) ([]mutation, error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	all, err := parse(string(text))
	if err != nil {
		return nil, err
	}
	var chosen []mutation
	for _, m := range all {
		if match.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no mutation to run")
	}
	return chosen, nil
}

// print prints the table, in the order of the list, and returns how many
// mutations were not killed.
func print(mutations []mutation, outcomes []chan outcome) (bad int) {
	wide := [2]int{len("mutation"), len("file")}
	for _, m := range mutations {
		wide[0], wide[1] = max(wide[0], len(m.name)), max(wide[1], len(m.file))
	}
	row := func(cells ...any) {
		fmt.Printf("%-*s | %-*s | %6s | %s\n", append([]any{wide[0], cells[0], wide[1]}, cells[1:]...)...)
	}
	row("mutation", "file", "time", "killed by")
	for i, m := range mutations {
		o := <-outcomes[i]
		by := m.dir + " " + m.test
		if !o.killed {
			bad++
			by = strings.ToUpper(o.why) + ": " + by
		}
		row(m.name, m.file, fmt.Sprintf("%.1fs", o.took.Seconds()), by)
		if o.detail != "" {
			fmt.Println(o.detail)
		}
	}
	return bad
}

// control runs every named test on the code as it is, where all must pass.
func control(t *tree, mutations []mutation) error {
	seen := map[string]bool{}
	for _, m := range mutations {
		m.hang = false
		id := fmt.Sprint(m.dir, m.test, m.checks)
		if seen[id] {
			continue
		}
		seen[id] = true
		if o := t.test(&m); o.killed || o.why != survived {
			return fmt.Errorf("%s %s does not pass on the code as it is: %s\n%s", m.dir, m.test, o.why, o.detail)
		}
	}
	return nil
}

// tree is a copy of the repository.
type tree struct{ root string }

// plant makes n copies of the repository, which cleanup removes.
func plant(n int) (trees []*tree, cleanup func(), err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, func() {}, err
	}
	cleanup = func() { _ = os.RemoveAll(dir) }
	for i := range n {
		t := &tree{root: filepath.Join(dir, fmt.Sprint(i))}
		if err := replicate(t.root, "."); err != nil {
			return nil, cleanup, err
		}
		trees = append(trees, t)
	}
	return trees, cleanup, nil
}

// replicate copies what is in from to to, but for hidden files and built ones.
func replicate(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != from && (name[0] == '.' || name == "bin"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, path), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, path), b, 0o644)
	})
}

// outcome is what became of a mutation.
type outcome struct {
	killed bool
	why    string // not killed
	detail string // the output, where it helps
	took   time.Duration
}

const survived = "survived"

// try applies m to the tree, runs its test and puts the tree right again.
func (t *tree) try(m *mutation) (o outcome) {
	start := time.Now()
	defer func() { o.took = time.Since(start) }()
	file := filepath.Join(t.root, m.file)
	src, err := os.ReadFile(file)
	if err != nil {
		return outcome{why: "no file", detail: err.Error()}
	}
	mutated, err := m.apply(string(src))
	if err != nil {
		return outcome{why: "does not apply", detail: err.Error()}
	}
	if err := os.WriteFile(file, []byte(mutated), 0o644); err != nil {
		return outcome{why: "not written", detail: err.Error()}
	}
	for range chances {
		if o = t.test(m); o.killed || o.why != survived {
			break
		}
	}
	if err := os.WriteFile(file, src, 0o644); err != nil {
		return outcome{why: "not put right", detail: err.Error()}
	}
	return o
}

// test builds and runs the test of m in the tree as it is. What does not
// compile is not killed.
func (t *tree) test(m *mutation) outcome {
	dir := filepath.Join(t.root, m.dir)
	binary := filepath.Join(t.root, ".test")
	build := []string{"test", "-c", "-trimpath", "-ldflags=-s -w", "-o", binary}
	if m.checks {
		build = append(build, "-tags=invariants")
	}
	if out, err := command(dir, 10*patience, "go", append(build, ".")...); err != nil {
		return outcome{why: "does not compile", detail: out}
	}
	limit := patience
	if m.hang {
		limit = patienceHangs
	}
	out, err := command(dir, limit+10*time.Second, binary,
		"-test.run", pattern(m.test), "-test.v", "-test.count=1", "-test.timeout", limit.String())
	return judge(m, out, err)
}

// judge says what the output of the test of m, and how it exited, amount to.
func judge(m *mutation, out string, err error) outcome {
	ran := strings.Contains(out, "=== RUN   "+m.test+"\n")
	switch {
	case !ran:
		return outcome{why: "no such test", detail: out}
	case strings.Contains(out, "--- SKIP: "):
		return outcome{why: "skipped", detail: out}
	case err == nil:
		return outcome{why: survived}
	case strings.Contains(out, "panic: test timed out after "):
		if m.hang {
			return outcome{killed: true}
		}
		return outcome{why: "hung"}
	case strings.Contains(out, "--- FAIL: "+m.test+" ") || strings.Contains(out, "panic: ") || strings.Contains(out, "fatal error: "):
		return outcome{killed: true} // no other test was running
	default:
		return outcome{why: "failed elsewhere", detail: out}
	}
}

// command runs a command and returns all that it printed.
func command(dir string, limit time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
