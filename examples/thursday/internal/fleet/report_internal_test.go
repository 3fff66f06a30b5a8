package fleet

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

func sampleOutcome() *outcome {
	hold := decision{state: "hold: fraud check", by: claim{"orders/4412", 2}}
	return &outcome{
		mechanism: "version",
		orders:    300,
		wrong: []finding{
			{order: "4412", decided: hold, record: "ship: Leipzig", tale: []string{"written by w3 1.2 s after it had lost the order"}, kind: "wrong"},
			{order: "4413", decided: hold, record: "ship: Lyon", tale: []string{"written by w4"}, kind: "wrong"},
		},
		stuck:   []finding{{order: "4230", record: "paid", tale: []string{"w2 was given up and never let go"}, kind: "stuck"}},
		refused: refusals{version: 12, fence: 3, both: 4},
		stats:   &fenced.Stats{Overruns: 7, Held: fenced.Distribution{P50: .19, P99: 1.6, Max: 1.9}},
	}
}

func TestReport(t *testing.T) {
	var out bytes.Buffer
	printReport(&out, sampleOutcome())
	require.Equal(t, `
records wrong       2   are not what the last owner of the order decided
records stuck       1   were never settled
writes refused     19   by the version alone 12, by the fence alone 3, by both 4
overruns            7   claims were let go after their lease had lapsed
leeway           81 %   of the lease was left at the median, none at P99

order 4412  decided "hold: fraud check", record says "ship: Leipzig"
            written by w3 1.2 s after it had lost the order

order 4230  nothing decided, record says "paid"
            w2 was given up and never let go

version: 300 records, 2 wrong, 1 stuck
`, out.String())
}

func TestReportOfAStoreWithoutStats(t *testing.T) {
	o := sampleOutcome()
	o.stats = nil
	var out bytes.Buffer
	printReport(&out, o)
	require.Contains(t, out.String(), `
writes refused     19   by the version alone 12, by the fence alone 3, by both 4
overruns            -   claims were let go after their lease had lapsed
leeway              -   of the lease was left at the median, - at P99
                    -   is not counted by this store
`)
}

func TestComparison(t *testing.T) {
	var out bytes.Buffer
	printComparison(&out, []*outcome{sampleOutcome(), {mechanism: "fence", orders: 300, refused: refusals{both: 24}}})
	require.Equal(t, `
        wrong  stuck   refused  version alone  fence alone  both  overruns
version     2      1        19             12            3     4         7
fence       0      0        24              0            0    24         -

wrong: not what the last owner of the order decided; stuck: never settled;
refused: by the version alone, by the fence alone, or by both

under version
order 4412  decided "hold: fraud check", record says "ship: Leipzig"
            written by w3 1.2 s after it had lost the order
`, out.String())
}

func TestProgress(t *testing.T) {
	s := snapshot{mechanism: "version", settled: 161, of: 300, stalled: 15, lost: 11, refused: 4, took: 1040 * time.Millisecond}
	line := "161/300 settled, 15 stalled, 11 reclaimed,  4 refused,  1.0 s"

	var plain bytes.Buffer
	p := progress{out: &plain}
	p.show(s)
	s.took += 500 * time.Millisecond
	p.show(s)
	require.Equal(t, "version "+line+"\n", plain.String(), "a line a second")

	var terminal bytes.Buffer
	p = progress{out: &terminal, terminal: true}
	s.took = 1040 * time.Millisecond
	p.show(s)
	p.done(s)
	bar := "█████░░░░░ "
	require.Equal(t, strings.Repeat("\rversion "+bar+line+"\x1b[K", 2)+"\n", terminal.String())
	requireNarrow(t, "version "+bar+line)
}
