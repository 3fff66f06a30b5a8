package fencedtest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fencedgo/fenced"
	"github.com/fencedgo/fenced/fencedtest"
	"github.com/stretchr/testify/require"
)

func openStore(t *testing.T) fenced.Backend {
	s := fenced.NewStore(fenced.Options{})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestStore skips nothing: the in-process store is the yardstick.
func TestStore(t *testing.T) {
	fencedtest.Run(t, fencedtest.Harness{Open: openStore, Wrap: synctest.Test})
}

// TestNames holds the table to the package documentation: the same laws in the
// same order.
func TestNames(t *testing.T) {
	doc, err := os.ReadFile("../doc.go")
	require.NoError(t, err)
	var documented []string
	for _, law := range regexp.MustCompile(`(?m)^//   - ([A-Z]\w+(?:, [A-Z]\w+)*): `).FindAllStringSubmatch(string(doc), -1) {
		documented = append(documented, strings.Split(law[1], ", ")...)
	}
	var names []string
	seen := make(map[string]bool)
	note := func(name, sentence string) {
		require.False(t, seen[name], "%q is there twice", name)
		require.NotEmpty(t, sentence, name)
		seen[name] = true
	}
	for _, law := range fencedtest.Laws() {
		names = append(names, law.Name)
		require.NotEmpty(t, law.Checks, law.Name)
		for _, check := range law.Checks {
			note(law.Name+"/"+check.Name, law.Sentence)
		}
	}
	require.Equal(t, documented, names)
	for _, s := range fencedtest.Scenarios() {
		note("Scenario/"+s.Name, s.Right)
	}
}

// TestTableIsTheCallers changes what Laws and Scenarios returned.
func TestTableIsTheCallers(t *testing.T) {
	laws, scenarios := fencedtest.Laws(), fencedtest.Scenarios()
	name, check, report := laws[0].Name, laws[0].Checks[0].Name, scenarios[0].Report
	laws[0].Name, laws[0].Checks[0].Name, scenarios[0].Report = "x", "x", "x"
	require.Equal(t, name, fencedtest.Laws()[0].Name)
	require.Equal(t, check, fencedtest.Laws()[0].Checks[0].Name)
	require.Equal(t, report, fencedtest.Scenarios()[0].Report)
}
