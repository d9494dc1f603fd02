package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTeardownRunsBackwardsAndSkipsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var down teardown
		var mu sync.Mutex
		var order []string
		failed, stuck := errors.New("the disk is gone"), make(chan struct{})
		add := func(name string, end func(context.Context) error) {
			down.add(name, time.Second, func(ctx context.Context) error {
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				return end(ctx)
			})
		}
		add("lock", func(context.Context) error { return nil })
		add("stores", func(context.Context) error { return failed })
		add("tasks", func(context.Context) error { <-stuck; return nil }) // heeds no context
		add("requests", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		began := time.Now()
		err := down.run(slog.New(slog.DiscardHandler))
		close(stuck)
		if want := []string{"requests", "tasks", "stores", "lock"}; !slices.Equal(order, want) {
			t.Errorf("stopped %q, want %q", order, want)
		}
		if !errors.Is(err, failed) {
			t.Errorf("the failure is lost: %v", err)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("two stuck steps of a second took %v", took)
		}
	})
}
