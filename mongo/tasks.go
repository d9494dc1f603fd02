package mongo

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"filmroom/tasks"
)

// Tasks returns the store of tasks, which is a [tasks.Watcher] as well.
func (db *DB) Tasks() *Tasks { return &Tasks{db} }

// Tasks is a [tasks.Store] of one document a task.
type Tasks struct{ db *DB }

var (
	_ tasks.Store   = (*Tasks)(nil)
	_ tasks.Watcher = (*Tasks)(nil)
)

// Insert implements [tasks.Store].
func (s *Tasks) Insert(ctx context.Context, t tasks.Task) (tasks.Task, error) {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return tasks.Task{}, err
	}
	defer done()
	for {
		_, err := s.db.tasks.InsertOne(write, docOfTask(t))
		if !driver.IsDuplicateKeyError(err) {
			return t, wrap(err, "insert task %s", t.ID)
		}
		holder, found, findErr := s.holder(write, t)
		if findErr != nil {
			return tasks.Task{}, wrap(findErr, "find the task that has a key of task %s", t.ID)
		}
		if found {
			return holder, tasks.ErrDuplicate
		}
		// Nobody holds a key any more: a task ended in between and gave it back. Unless it is the id itself
		// that is taken, which no further try can change.
		if _, err := s.Get(write, t.ID); err == nil {
			return tasks.Task{}, fmt.Errorf("insert task %s: another user's task has this id", t.ID)
		}
	}
}

// holder returns the task of the same user that holds a key of t.
func (s *Tasks) holder(ctx context.Context, t tasks.Task) (tasks.Task, bool, error) {
	for _, key := range []bson.E{is("idempotencyKey", t.IdempotencyKey), is("dedupeKey", t.DedupeKey)} {
		found, err := all[taskDoc](ctx, s.db.tasks, bson.D{is("userId", t.UserID), key})
		if err != nil {
			return tasks.Task{}, false, err
		}
		if len(found) > 0 {
			return found[0].Task, true, nil
		}
	}
	return tasks.Task{}, false, nil
}

// Get implements [tasks.Store].
func (s *Tasks) Get(ctx context.Context, id string) (tasks.Task, error) {
	doc, err := one[taskDoc](ctx, s.db.tasks, with("_id", id), tasks.ErrNotFound)
	return doc.Task, wrap(err, "get task %s", id)
}

// Keyed implements [tasks.Store]. A record without a caller's key has its own id as one.
func (s *Tasks) Keyed(ctx context.Context, userID, key string) (tasks.Task, error) {
	doc, err := one[taskDoc](ctx, s.db.tasks, bson.D{is("userId", userID), is("idempotencyKey", key)}, tasks.ErrNotFound)
	if err == nil && doc.Task.ID == key {
		return tasks.Task{}, tasks.ErrNotFound
	}
	return doc.Task, wrap(err, "get a task by its idempotency key")
}

// Update implements [tasks.Store]. A record that came from a list lacks what lists leave out, its journal for
// one, and would overwrite it: such a one is read first.
func (s *Tasks) Update(ctx context.Context, known tasks.Task, m tasks.Move) (tasks.Task, error) {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return known, err
	}
	defer done()
	now, fresh := known, false
	for {
		if !fresh && len(now.Journal) == 0 {
			if now, err = s.Get(write, known.ID); err != nil {
				return known, err
			}
			fresh = true
		}
		next, refusal := tasks.Apply(now, m)
		if refusal == nil {
			written, err := s.move(write, now, next)
			if fresh && errors.Is(err, tasks.ErrDuplicate) {
				return now, err
			}
			if written || err != nil && !errors.Is(err, tasks.ErrDuplicate) {
				return next, err
			}
		} else if fresh {
			return now, refusal
		}
		if now, err = s.Get(write, known.ID); err != nil {
			return known, err
		}
		fresh = true
	}
}

// move writes what a move made of a record. Where that takes a key that another has, the index refuses it; a server
// that answers so in words of its own alone is asked beforehand.
func (s *Tasks) move(ctx context.Context, was, next tasks.Task) (written bool, err error) {
	if next.DedupeKey != was.DedupeKey && next.DedupeKey != next.ID {
		held, err := all[taskDoc](ctx, s.db.tasks, bson.D{is("userId", next.UserID), is("dedupeKey", next.DedupeKey), is("_id", with("$ne", next.ID))})
		if err != nil || len(held) > 0 {
			return false, cmp.Or(wrap(err, "find the task that has a key of task %s", next.ID), tasks.ErrDuplicate)
		}
	}
	return s.replace(ctx, was.Rev, next)
}

// replace writes next where the revision still is rev.
func (s *Tasks) replace(ctx context.Context, rev int64, next tasks.Task) (written bool, err error) {
	was := bson.D{is("_id", next.ID), is("rev", rev)}
	result, err := s.db.tasks.ReplaceOne(ctx, was, docOfTask(next))
	if driver.IsDuplicateKeyError(err) {
		return false, tasks.ErrDuplicate
	}
	if err != nil {
		return false, wrap(err, "write task %s", next.ID)
	}
	return result.MatchedCount == 1, nil
}
