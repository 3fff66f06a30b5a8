package tests_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLawsAreSpecified looks in the specification for a formula of each law, and
// for a mutant that it catches. Isolation has none, as a model has no slices;
// Progress is a module of its own.
func TestLawsAreSpecified(t *testing.T) {
	specified := slices.DeleteFunc(slices.Clone(laws), func(law string) bool { return law == "Isolation" || law == "Progress" })
	spec, manifest := read(t, "../tla/Fenced.tla"), read(t, "../tla/manifest.txt")
	for _, law := range specified {
		require.Regexp(t, `(?m)^`+law+` ==`, spec, "no formula of the law %s", law)
		require.Regexp(t, `(?m)^\S+ +\S+ +[^ -]\S* +`+law+` +violated `, manifest, "no mutant that the law %s catches", law)
	}
	require.Regexp(t, `(?m)^-+ MODULE Progress -+$`, read(t, "../tla/Progress.tla"))
	require.Regexp(t, `(?m)^\S+ +Progress +[^ -]\S* +\S+ +violated `, manifest, "no mutant that Progress catches")

	// And the other way round: what is checked of every configuration is a law.
	_, checked, found := strings.Cut(read(t, "../tla/Story.cfg"), "INVARIANTS")
	require.True(t, found)
	names := regexp.MustCompile(`\b[A-Z][a-z]\w+`).FindAllString(checked, -1)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "TypeOK" })
	require.ElementsMatch(t, specified, names)
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
