package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/fencedgo/fenced/examples/thursday/internal/fleet"
)

// nested is the folder of the module with the drivers, beside this file.
func nested() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "sql")
}

// handOver builds the program in the module at dir and runs it with args. It
// returns its exit code. Where it cannot, it says what to run instead.
func handOver(ctx context.Context, dir string, args []string, stdout, stderr io.Writer) int {
	code, err := buildAndRun(ctx, dir, args, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "thursday: the drivers are in a module of their own: %v; in a checkout, run: cd examples/thursday/sql && go run .%s\n", err, quote(args))
		return fleet.ExitFailed
	}
	return code
}

// buildAndRun does so. To run what was built, and not go run, passes on
// interrupts and the exit code.
func buildAndRun(ctx context.Context, dir string, args []string, stdout, stderr io.Writer) (int, error) {
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return 0, err
	}
	fmt.Fprintln(stderr, "thursday: the drivers are in a module of their own: go run . in", dir)
	temp, err := os.MkdirTemp("", "thursday-build-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	program := filepath.Join(temp, "thursday.exe") // only Windows minds the name
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", program, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off")
	build.Stdout, build.Stderr = stderr, stderr
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("go build: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it cleans up
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	case err != nil:
		return 0, err
	default:
		return fleet.ExitOK, nil
	}
}

var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// quote returns args as a shell takes them, each after a space.
func quote(args []string) string {
	var line strings.Builder
	for _, arg := range args {
		if !plain.MatchString(arg) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		line.WriteString(" " + arg)
	}
	return line.String()
}
