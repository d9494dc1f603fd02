package taskstest

import (
	"context"
	"testing"
	"time"

	"filmroom/tasks"
)

// reopening is a store that goes through a restart between each write and whatever follows it, so that
// nothing which a scenario relies on can live in memory alone.
type reopening struct {
	t       testing.TB
	harness Harness
	store   tasks.Store
	written bool // since it was opened
}

// again reopens the store if it may have come to know something since it was opened.
func (r *reopening) again() tasks.Store {
	if r.written {
		r.store, r.written = r.harness.Reopen(r.t, r.store), false
	}
	return r.store
}

// writing is again before a write.
func (r *reopening) writing() tasks.Store {
	store := r.again()
	r.written = true
	return store
}

func (r *reopening) Insert(ctx context.Context, t tasks.Task) (tasks.Task, error) {
	return r.writing().Insert(ctx, t)
}

func (r *reopening) Get(ctx context.Context, id string) (tasks.Task, error) {
	return r.again().Get(ctx, id)
}

func (r *reopening) Update(ctx context.Context, known tasks.Task, m tasks.Move) (tasks.Task, error) {
	return r.writing().Update(ctx, known, m)
}

func (r *reopening) Claim(ctx context.Context, c tasks.Claim) ([]tasks.Task, error) {
	return r.writing().Claim(ctx, c)
}

func (r *reopening) NextAvailable(ctx context.Context, lane string) (time.Time, bool, error) {
	return r.again().NextAvailable(ctx, lane)
}

func (r *reopening) Renew(ctx context.Context, beats []tasks.Beat, until, now time.Time) ([]tasks.Renewal, error) {
	return r.writing().Renew(ctx, beats, until, now)
}

func (r *reopening) Stale(ctx context.Context, owner string, now time.Time, limit int) ([]tasks.Task, error) {
	return r.again().Stale(ctx, owner, now, limit)
}

func (r *reopening) Keyed(ctx context.Context, userID, key string) (tasks.Task, error) {
	return r.again().Keyed(ctx, userID, key)
}

func (r *reopening) List(ctx context.Context, q tasks.Query) (tasks.Page, error) {
	return r.again().List(ctx, q)
}

func (r *reopening) Counts(ctx context.Context, userID string) ([]tasks.Count, error) {
	return r.again().Counts(ctx, userID)
}

func (r *reopening) AppendLog(ctx context.Context, lines []tasks.LogLine) error {
	return r.writing().AppendLog(ctx, lines)
}

func (r *reopening) Log(ctx context.Context, taskID string, after int64, limit int) ([]tasks.LogLine, error) {
	return r.again().Log(ctx, taskID, after, limit)
}

func (r *reopening) Lanes(ctx context.Context) ([]tasks.Lane, error) { return r.again().Lanes(ctx) }

func (r *reopening) PutLane(ctx context.Context, l tasks.Lane) error {
	return r.again().PutLane(ctx, l)
}

func (r *reopening) Loads(ctx context.Context, now time.Time) ([]tasks.Load, error) {
	return r.again().Loads(ctx, now)
}

func (r *reopening) Ahead(ctx context.Context, t tasks.Task, now time.Time) (int, error) {
	return r.again().Ahead(ctx, t, now)
}

func (r *reopening) Holder(ctx context.Context, lockKey string, now time.Time) (tasks.Task, error) {
	return r.again().Holder(ctx, lockKey, now)
}

func (r *reopening) Unfollowed(ctx context.Context, after string, limit int) ([]tasks.Task, error) {
	return r.again().Unfollowed(ctx, after, limit)
}

func (r *reopening) Delete(ctx context.Context, t tasks.Task) error { return r.again().Delete(ctx, t) }
