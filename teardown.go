package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// A teardown is what must be ended, in the order in which it was begun. It is run backwards, each step
// within its time, none skipped because another failed.
type teardown struct{ steps []step }

type step struct {
	name   string
	within time.Duration
	end    func(context.Context) error
}

func (t *teardown) add(name string, within time.Duration, end func(context.Context) error) {
	t.steps = append(t.steps, step{name, within, end})
}

func (t *teardown) run(log *slog.Logger) error {
	var errs []error
	for _, s := range slices.Backward(t.steps) {
		began := time.Now()
		err := s.run()
		if err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", s.name, err))
		}
		log.Debug("stopped", "what", s.name, "took", time.Since(began), "error", err)
	}
	return errors.Join(errs...)
}

// run does not wait for a step beyond its time, even if that does not heed its context.
func (s step) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.within)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.end(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("still busy after %v", s.within)
	}
}
