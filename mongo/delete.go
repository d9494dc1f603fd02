package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/tasks"
)

// A deletionDoc stands while a task is being deleted, so that a crash leaves none of its lines behind.
type deletionDoc struct {
	ID      string `bson:"_id"` // the task's
	LockKey string `bson:"lockKey"`
}

// Delete implements [tasks.Store]. The record goes in the one write that decides; what belongs to it follows.
func (s *Tasks) Delete(ctx context.Context, t tasks.Task) error {
	if !t.Status.Final() {
		return tasks.ErrConflict
	}
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return err
	}
	defer done()
	d := deletionDoc{ID: t.ID, LockKey: t.LockKey}
	if _, err := s.db.deletions.ReplaceOne(write, with("_id", d.ID), d, options.Replace().SetUpsert(true)); err != nil {
		return wrap(err, "begin to delete task %s", t.ID)
	}
	result, err := s.db.tasks.DeleteOne(write, bson.D{is("_id", t.ID), is("rev", t.Rev), is("status", t.Status)})
	if err != nil {
		return wrap(err, "delete task %s", t.ID)
	}
	if err := s.clear(write, d, result.DeletedCount == 1); err != nil {
		return wrap(err, "delete what belongs to task %s", t.ID)
	}
	if result.DeletedCount == 0 {
		return tasks.ErrConflict
	}
	return nil
}

// clear ends a deletion: the lines of a task that is gone go as well, and the lock that it had last.
func (s *Tasks) clear(ctx context.Context, d deletionDoc, gone bool) error {
	if gone {
		if _, err := s.db.logs.DeleteMany(ctx, with("taskId", d.ID)); err != nil {
			return err
		}
		if d.LockKey != "" {
			if _, err := s.db.holds.DeleteOne(ctx, bson.D{is("_id", lockID(d.LockKey)), is("taskId", d.ID)}); err != nil {
				return err
			}
		}
	}
	_, err := s.db.deletions.DeleteOne(ctx, with("_id", d.ID))
	return err
}

// finishDeletions completes what a crash left of deletions.
func (s *Tasks) finishDeletions(ctx context.Context) error {
	left, err := all[deletionDoc](ctx, s.db.deletions, with("_id", with("$gte", "")))
	for _, d := range left {
		_, err := s.Get(ctx, d.ID)
		if err != nil && !errors.Is(err, tasks.ErrNotFound) {
			return err
		}
		if err := s.clear(ctx, d, err != nil); err != nil {
			return wrap(err, "finish deleting task %s", d.ID)
		}
	}
	return wrap(err, "find tasks that are half deleted")
}
