module github.com/fencedgo/fenced/tests

go 1.25

require (
	github.com/fencedgo/fenced v0.0.0
	github.com/google/go-cmp v0.7.0
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)

require go.uber.org/atomic v1.12.0 // indirect

replace github.com/fencedgo/fenced => ../
