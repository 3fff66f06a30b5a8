// Worker is the smallest complete program that wraps a loop over shared records.
// It prints:
//
//	orders/4412 is refused: fenced: stale generation
//	orders/4411 is "shipped" at version 1
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/fencedgo/fenced"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	store := fenced.NewStore(fenced.Options{})
	defer store.Close()
	worker := fenced.Worker{Backend: store, Name: "w1"}
	orders := slices.Values([]string{"orders/4411", "orders/4412", "orders/4413"})
	err := worker.Run(ctx, orders, func(ctx context.Context, g fenced.Grant) ([]byte, error) {
		switch g.Key {
		case "orders/4412": // slow: a supervisor gives the worker up
			_, err := store.Reclaim(ctx, g.Key, g.Generation)
			return []byte("shipped"), err
		case "orders/4413": // cancelled: no write applies
			return nil, fenced.ErrSkip
		}
		return []byte("shipped"), nil
	})
	var refused *fenced.ConflictError
	if !errors.As(err, &refused) {
		return err
	}
	fmt.Fprintf(out, "%s is refused: %v\n", refused.Key, refused.Reasons[0])
	for r := range store.All() {
		fmt.Fprintf(out, "%s is %q at version %d\n", r.Key, r.Value, r.Version)
	}
	return nil
}
