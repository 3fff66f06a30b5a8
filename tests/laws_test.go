// Package tests_test checks that the laws and their tests have the same names.
package tests_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// laws are the names that the tests, the conformance kit and the specification
// share.
var laws = []string{
	"SingleWriter", "MonotonicVersion", "MonotonicGeneration", "NoLostUpdate", "NoStaleApply", "UniqueGeneration", "OneRule",
	"Sticky", "NoTrace", "NoClock", "ConditionalReclaim", "Isolation", "FailClosed", "Progress",
}

// TestLawsAreDocumented compares the list with the one in the documentation of
// the package.
func TestLawsAreDocumented(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../doc.go", nil, parser.ParseComments)
	require.NoError(t, err)
	_, section, found := strings.Cut(file.Doc.Text(), "# Laws\n")
	require.True(t, found, "doc.go has no section of laws")
	section, _, _ = strings.Cut(section, "\n# ")
	var documented []string
	for _, item := range regexp.MustCompile(`(?m)^ *- ((?:[A-Z]\w+(?:, )?)+): `).FindAllStringSubmatch(section, -1) {
		documented = append(documented, strings.Split(item[1], ", ")...)
	}
	require.Equal(t, laws, documented)
}

// TestLawsAreTested looks in the tests of the package for one of each law.
func TestLawsAreTested(t *testing.T) {
	names, err := filepath.Glob("../*_test.go")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	var tests []string
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				tests = append(tests, f.Name.Name)
			}
		}
	}
	for _, law := range laws {
		require.True(t, has(tests, "Test"+law), "no test of the law %s", law)
	}
}

// has reports whether any of names begins with prefix, as a word.
func has(names []string, prefix string) bool {
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, prefix); ok && (rest == "" || rest[0] == '_' || 'A' <= rest[0] && rest[0] <= 'Z') {
			return true
		}
	}
	return false
}
