module github.com/fencedgo/fenced/bench

go 1.25.0

require (
	github.com/fencedgo/fenced v0.0.0
	golang.org/x/sync v0.20.0
)

require go.uber.org/atomic v1.12.0 // indirect

replace github.com/fencedgo/fenced => ../
