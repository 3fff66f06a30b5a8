package harness

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Output runs cmd and returns what it prints; an error says what it complained
// of.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, complaint.String())
	}
	return out, nil
}

// Progress shows what is being done, on one line, where somebody looks.
func Progress(format string, args ...any) {
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintf(os.Stderr, "\r\033[K"+format, args...)
	}
}
