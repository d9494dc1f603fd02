package sqlite

import (
	"context"
	"errors"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

var selectUnfollowed = "SELECT " + columns.names() + " FROM tasks WHERE next IS NOT NULL ORDER BY taskId LIMIT ?"

func (s *taskStore) Unfollowed(ctx context.Context, limit int) (left []tasks.Task, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		left, err = columns.all(c.Stmt(selectUnfollowed).Int(int64(limit)))
		return err
	})
	return left, wrap(err, "find successors to come", "")
}

const (
	selectRow   = "SELECT row FROM tasks WHERE taskId = ?"
	deleteTask  = "DELETE FROM tasks WHERE row = ?"
	deleteWord  = "DELETE FROM task_words WHERE userId = ? AND word = ? AND row = ?"
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
	row, err := count(tx.Stmt(selectRow).Text(t.ID))
	if err != nil {
		return err
	}
	for _, w := range t.SearchWords() {
		if err := tx.Stmt(deleteWord).Text(t.UserID).Text(w).Int(int64(row)).Run(); err != nil {
			return err
		}
	}
	if err := tx.Stmt(deleteLines).Text(t.ID).Run(); err != nil {
		return err
	}
	tx.counts.add(t, -1)
	return tx.Stmt(deleteTask).Int(int64(row)).Run()
}
