package fleet

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows how a run comes along: one line that is updated, on a terminal,
// and a line a second elsewhere.
type progress struct {
	out      io.Writer
	terminal bool
	printed  time.Duration // into the run, when the last plain line was
}

const barWidth = 10 // and a line of 79 columns

func newProgress(out io.Writer) *progress {
	return &progress{out: out, terminal: isTerminal(out)}
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) show(s snapshot) {
	switch {
	case p.terminal:
		done := barWidth * s.settled / max(s.of, 1)
		bar := strings.Repeat("█", done) + strings.Repeat("░", barWidth-done)
		fmt.Fprintf(p.out, "\r%-8s%s %s\x1b[K", s.mechanism, bar, s)
	case s.took-p.printed >= time.Second:
		p.printed = s.took
		fmt.Fprintf(p.out, "%-8s%s\n", s.mechanism, s)
	}
}

// done leaves the last line as it is for the run to be remembered by.
func (p *progress) done(s snapshot) {
	if p.terminal {
		p.show(s)
		fmt.Fprintln(p.out)
	} else {
		fmt.Fprintf(p.out, "%-8s%s\n", s.mechanism, s)
	}
	p.printed = 0
}

func (s snapshot) String() string {
	return fmt.Sprintf("%3d/%d settled, %2d stalled, %2d reclaimed, %2d refused, %4.1f s",
		s.settled, s.of, s.stalled, s.lost, s.refused, s.took.Seconds())
}
