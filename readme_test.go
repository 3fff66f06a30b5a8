package fenced_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The story that the README opens with is the first example of the package, and
// what it shows is the output of it, so that both have been run.
func TestReadmeStory(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	example, err := os.ReadFile("example_test.go")
	require.NoError(t, err)

	blocks := regexp.MustCompile("(?s)```(?:go)?\n(.*?)```").FindAllStringSubmatch(string(readme), 2)
	require.Len(t, blocks, 2)
	body := regexp.MustCompile(`(?s)func Example\(\) \{\n(.*?)\t// Output:\n(.*?)\}`).FindStringSubmatch(string(example))
	require.Len(t, body, 3)
	require.Equal(t, unindent(body[1], "\t"), blocks[0][1])
	require.Equal(t, unindent(body[2], "\t// "), blocks[1][1])
}

func unindent(s, indent string) string {
	lines := strings.SplitAfter(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, indent)
	}
	return strings.Join(lines, "")
}
