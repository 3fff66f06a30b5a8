// Events logs what happens in a store with log/slog.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/fencedgo/fenced"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		slog.Error(err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	log := slog.New(slog.NewTextHandler(out, nil))
	store := fenced.NewStore(fenced.Options{OnEvent: func(e fenced.Event) {
		log.Info(e.Kind.String(), "key", e.Key, "holder", e.Holder, "generation", e.Generation, "version", e.Version, "err", e.Err)
	}})
	defer store.Close()

	a, err := store.TryAcquire(ctx, "orders/4412", "A", time.Minute)
	if err != nil {
		return err
	}
	if _, err := store.Reclaim(ctx, a.Key, a.Generation); err != nil {
		return err
	}
	if _, err := store.Commit(ctx, a, []byte("shipped")); !errors.Is(err, fenced.ErrStaleReadGeneration) {
		return fmt.Errorf("a late commit: %v", err)
	}
	return nil
}
