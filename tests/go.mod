module github.com/fencedgo/fenced/tests

go 1.25

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/fencedgo/fenced v0.0.0
	github.com/google/go-cmp v0.7.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)

require (
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/fencedgo/fenced => ../
