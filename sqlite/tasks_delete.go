package sqlite

import (
	"context"
	"errors"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

var selectUnfollowed = "SELECT " + columns.names() + " FROM tasks WHERE next IS NOT NULL AND taskId > ? ORDER BY taskId LIMIT ?"

func (s *taskStore) Unfollowed(ctx context.Context, after string, limit int) (left []tasks.Task, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		left, err = columns.all(c.Stmt(selectUnfollowed).Text(after).Int(int64(limit)))
		return err
	})
	return left, wrap(err, "find successors to come", "")
}

const (
	deleteTask  = "DELETE FROM tasks WHERE row = ?"
	deleteLines = "DELETE FROM task_logs WHERE taskId = ?"
)

func (s *taskStore) Delete(ctx context.Context, t tasks.Task) error {
	err := s.db.write(ctx, func(tx *tx) error {
		stored, err := one(tx.Stmt(selectTask).Text(t.ID))
		if errors.Is(err, tasks.ErrNotFound) || err == nil && (stored.Rev != t.Rev || !stored.Status.Final()) {
			return tasks.ErrConflict
		}
		if err != nil {
			return err
		}
		return remove(tx, &stored)
	})
	return wrap(err, "delete task", t.ID)
}

// remove takes back what insert and the log have written.
func remove(tx *tx, t *tasks.Task) error {
	row, err := rowOf(tx.Conn, t.ID)
	if err != nil {
		return err
	}
	if err := tx.sets.remove(tx.Conn, row, t); err != nil {
		return err
	}
	if err := tx.Stmt(deleteLines).Text(t.ID).Run(); err != nil {
		return err
	}
	tx.counts.add(t, -1)
	return tx.Stmt(deleteTask).Int(row).Run()
}
