package fenced_test

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

// BenchmarkFence measures what the fence costs: a commit against one that judges
// the version alone, in turns. An iteration is a turn of each; the ratio is that
// of the medians.
func BenchmarkFence(b *testing.B) {
	b.Run("hot", func(b *testing.B) { benchmarkFence(b, 1) })
	b.Run("mid", func(b *testing.B) { benchmarkFence(b, 100_000) })
}

func benchmarkFence(b *testing.B, n int) {
	const batch = 5_000
	s := fenced.NewStore(fenced.Options{})
	grants := make([]fenced.Grant, n)
	value := bytes.Repeat([]byte("v"), 64)
	for i := range grants {
		g, err := s.TryAcquire(context.Background(), fmt.Sprintf("orders/%09d", i), "worker-1", time.Hour)
		require.NoError(b, err)
		grants[i], err = s.Commit(context.Background(), g, value)
		require.NoError(b, err)
	}
	var order []int
	for len(order) < n+batch {
		order = append(order, rand.Perm(n)...)
	}
	run := [...]func(order []int){
		func(order []int) {
			for _, i := range order {
				g, err := s.Commit(context.Background(), grants[i], value)
				if err != nil {
					panic(err)
				}
				grants[i] = g
			}
		},
		func(order []int) {
			for _, i := range order {
				g, err := s.CommitUnfenced(context.Background(), grants[i], value)
				if err != nil {
					panic(err)
				}
				grants[i] = g
			}
		},
	}
	run[0](order)
	run[1](order)
	runtime.GC()
	var took [2][]float64
	for b.Loop() {
		for _, which := range rand.Perm(2) {
			from := rand.IntN(len(order) - batch)
			start := time.Now()
			run[which](order[from : from+batch])
			took[which] = append(took[which], float64(time.Since(start).Nanoseconds())/batch)
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	commit, unfenced := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(commit, "ns/commit")
	b.ReportMetric(commit/unfenced, "ratio")
}

// The twin that BenchmarkFence measures against differs from the real commit in
// the fence and in nothing else.
func TestUnfencedTwin(t *testing.T) {
	fence := source(t, "fence.go")
	twin := source(t, "export_bench_test.go")
	for name, fenced := range map[string]string{
		"Commit": strings.Replace(fence["Commit"], "s.commit(", "s.commitUnfenced(", 1),
		"commit": strings.Replace(fence["commit"], "st.admits(", "st.admitsUnfenced(", 1),
		"admits": strings.Replace(fence["admits"], "r.holds(g)", "r != nil", 1),
	} {
		require.NotEmpty(t, fenced)
		require.NotEqual(t, fence[name], fenced, "%s has no fence", name)
		require.Equal(t, fenced, twin[name+"Unfenced"])
	}
}

// source returns the bodies of the functions in a file, by name.
func source(t *testing.T, file string) map[string]string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	bodies := make(map[string]string)
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			var b strings.Builder
			require.NoError(t, printer.Fprint(&b, fset, fn.Body))
			bodies[fn.Name.Name] = b.String()
		}
	}
	return bodies
}
