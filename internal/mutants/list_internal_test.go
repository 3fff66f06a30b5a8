package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListsFitTheCode(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, list := range []string{ofLibrary, "backends/fencedsql/tests/mutants.txt"} {
		text, err := os.ReadFile(filepath.Join(root, list))
		require.NoError(t, err)
		all, err := parse(string(text))
		require.NoError(t, err, list)
		require.NotEmpty(t, all, list)
		for _, m := range all {
			src, err := os.ReadFile(filepath.Join(root, m.file))
			require.NoError(t, err, m.name)
			if _, err := m.apply(string(src)); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}

func TestApply(t *testing.T) {
	const src = "a\nb\nb\nc\nd\n"
	all, err := parse("# two places\nmutant m\nin f.go\ntest . TestX\n-a\n b\n@@\n c\n+new\n")
	require.NoError(t, err)
	require.Len(t, all, 1)
	got, err := all[0].apply(src)
	require.NoError(t, err)
	require.Equal(t, "b\nb\nc\nnew\nd\n", got)

	for name, old := range map[string]string{"twice": "b\n", "nowhere": "e\n", "half a line": "bb\n"} {
		m := mutation{hunks: []hunk{{old: old, new: "x\n"}}}
		_, err := m.apply(src)
		require.Error(t, err, name)
	}
	overlapping := mutation{hunks: []hunk{{old: "x\nx\n"}}}
	_, err = overlapping.apply("x\nx\nx\n")
	require.Error(t, err)
}

func TestApplyToPartOfALine(t *testing.T) {
	const src = "\ta := b + c\n\td := b - c\n"
	all, err := parse("mutant m\nin f.go\ntest . TestX\n<b + \n>\n< - c\n> * c\n")
	require.NoError(t, err)
	got, err := all[0].apply(src)
	require.NoError(t, err)
	require.Equal(t, "\ta := c\n\td := b * c\n", got)

	m := mutation{hunks: []hunk{{old: ":= b", part: true}}}
	_, err = m.apply(src)
	require.Error(t, err, "twice")
}

func TestParseRefuses(t *testing.T) {
	const rest = "in f.go\ntest . TestX\n-a\n"
	for name, list := range map[string]string{
		"no name":         rest,
		"no test":         "mutant m\nin f.go\n-a\n",
		"no change":       "mutant m\nin f.go\ntest . TestX\n",
		"changes nothing": "mutant m\nin f.go\ntest . TestX\n a\n",
		"comes for none":  "mutant m\nin f.go\ntest . TestX\n>a\n",
		"after a line":    "mutant m\nin f.go\ntest . TestX\n-a\n>b\n",
		"unknown line":    "mutant m\nbogus\n" + rest,
		"unknown flag":    "mutant m\nin f.go\ntest . TestX slow\n-a\n",
		"twice":           "mutant m\n" + rest + "\nmutant m\n" + rest,
	} {
		_, err := parse(list)
		require.Error(t, err, name)
	}
}

func TestJudge(t *testing.T) {
	const ran = "=== RUN   TestX\n"
	exit := errors.New("exit status 1")
	for name, c := range map[string]struct {
		hang bool
		out  string
		err  error
		want outcome
	}{
		"killed":     {out: ran + "--- FAIL: TestX (0.00s)\n", err: exit, want: outcome{killed: true}},
		"panic":      {out: ran + "panic: boom\n", err: exit, want: outcome{killed: true}},
		"survived":   {out: ran + "--- PASS: TestX (0.00s)\n", want: outcome{why: survived}},
		"hung":       {out: ran + "panic: test timed out after 1m\n--- FAIL: TestX (60s)\n", err: exit, want: outcome{why: "hung"}},
		"is to hang": {hang: true, out: ran + "panic: test timed out after 1m\n", err: exit, want: outcome{killed: true}},
	} {
		require.Equal(t, c.want, judge(&mutation{test: "TestX", hang: c.hang}, c.out, c.err), name)
	}
	for name, out := range map[string]string{
		"no such test": "testing: warning: no tests to run\n",
		"skipped":      ran + "--- SKIP: TestX (0.00s)\n",
		"elsewhere":    ran + "exit status 3\n",
		"another":      "=== RUN   TestXY\n--- FAIL: TestXY (0.00s)\n",
	} {
		require.False(t, judge(&mutation{test: "TestX"}, out, exit).killed, name)
	}
}
