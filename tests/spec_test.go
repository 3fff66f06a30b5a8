package tests_test

import (
	"os"
	"path/filepath"
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
	for name, text := range files(t, "../tla/*.cfg") {
		if !strings.HasPrefix(text, "\\* module Fenced\n") {
			continue
		}
		_, checked, found := strings.Cut(text, "INVARIANTS")
		require.True(t, found, "%s has no invariants", name)
		names := regexp.MustCompile(`\b[A-Z][a-z]\w+`).FindAllString(checked, -1)
		require.ElementsMatch(t, append([]string{"TypeOK"}, specified...), names, name)
	}
}

// TestManifestIsWhole looks in the manifest for a line of each configuration, of
// each guard that can be taken out, and of each denial of what must be able to
// happen.
func TestManifestIsWhole(t *testing.T) {
	manifest := read(t, "../tla/manifest.txt")
	for name := range files(t, "../tla/*.cfg") {
		if name != "Trace.cfg" { // is for recorded events
			config := strings.TrimSuffix(name, ".cfg")
			require.Regexp(t, `(?m)^\S+ +`+config+` +- +all +holds +[1-9]`, manifest, "%s is not checked", name)
		}
	}

	guard := regexp.MustCompile(`\bOn\("([\w.]+)"\)|"(bump\.\w+)"`)
	denial := regexp.MustCompile(`(?m)^(Never\w+) ==`)
	// Of these, Fenced puts the names together from that of the call.
	guards := []string{
		"commit.fence", "delete.fence", "renew.fence", "release.fence",
		"commit.version", "delete.version", "bump.commit", "bump.delete",
	}
	var denials []string
	for _, text := range files(t, "../tla/*.tla") {
		for _, found := range guard.FindAllStringSubmatch(text, -1) {
			guards = append(guards, found[1]+found[2])
		}
		for _, found := range denial.FindAllStringSubmatch(text, -1) {
			denials = append(denials, found[1])
		}
	}
	for _, name := range guards {
		require.Regexp(t, `(?m)^\S+ +\S+ +`+regexp.QuoteMeta(name)+` +\S+ +violated `, manifest, "no mutant without %s", name)
	}
	for _, name := range denials {
		require.Regexp(t, `(?m)^\S+ +\S+ +\S+ +`+name+` +violated `, manifest, "%s is not refuted", name)
	}
}

// files are the texts of the files that match, by their base names.
func files(t *testing.T, pattern string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, names)
	texts := map[string]string{}
	for _, name := range names {
		texts[filepath.Base(name)] = read(t, name)
	}
	return texts
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
