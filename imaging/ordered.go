package imaging

import (
	"context"
	"iter"
	"sync"
)

// inOrder works on items in parallel and hands the outcomes on in the order of the items. At most ahead
// outcomes wait, which bounds memory. On an error of commit it stops; outcomes that were not committed
// are given to drop. It returns when all that it started has ended; work must come back when ctx ends.
func inOrder[T, R any](ctx context.Context, workers, ahead int, items iter.Seq[T], work func(context.Context, T) R, commit func(context.Context, R) error, drop func(R)) error {
	if workers == 1 {
		return oneByOne(ctx, items, work, commit)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type job struct {
		item T
		came chan R
	}
	jobs, ordered := make(chan job), make(chan chan R, ahead)
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		defer close(ordered)
		defer close(jobs)
		for item := range items {
			j := job{item, make(chan R, 1)}
			select {
			case ordered <- j.came:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- j:
			case <-ctx.Done():
				close(j.came)
				return
			}
		}
	})
	for range workers {
		running.Go(func() {
			for j := range jobs {
				j.came <- work(ctx, j.item)
			}
		})
	}
	var err error
	for came := range ordered {
		outcome, ok := <-came
		switch {
		case !ok:
		case err != nil:
			drop(outcome)
		default:
			if err = commit(ctx, outcome); err != nil {
				stop()
			}
		}
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// oneByOne is inOrder for a single worker, which has nobody to wait for.
func oneByOne[T, R any](ctx context.Context, items iter.Seq[T], work func(context.Context, T) R, commit func(context.Context, R) error) error {
	for item := range items {
		if ctx.Err() != nil {
			break
		}
		if err := commit(ctx, work(ctx, item)); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}
