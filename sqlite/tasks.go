package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// Tasks returns the store of tasks.
func (db *DB) Tasks() tasks.Store { return &taskStore{db: db, sql: map[uint64]string{}} }

type taskStore struct {
	db  *DB
	sql map[uint64]string // statements that update sets of columns; the writer's goroutine alone uses it
}

var insertTask = columns.insertInto("tasks")

func (s *taskStore) Insert(ctx context.Context, t tasks.Task) (tasks.Task, error) {
	result := t
	err := s.db.write(ctx, func(tx *tx) error {
		err := insert(tx, &t)
		if !lite.Unique(err) {
			return err
		}
		result, err = holder(tx.Conn, &t)
		return errors.Join(tasks.ErrDuplicate, err)
	})
	return result, wrap(err, "insert task", t.ID)
}

func insert(tx *tx, t *tasks.Task) error {
	if err := columns.bind(tx.Stmt(insertTask), t).Run(); err != nil {
		return err
	}
	tx.counts.add(t, 1)
	tx.lines.touch(t)
	return tx.sets.insert(tx.Conn, tx.LastRow(), t)
}

// holder is the record that keeps t from being inserted: itself, or one of the same user under its keys.
func holder(c *lite.Conn, t *tasks.Task) (tasks.Task, error) {
	for _, s := range []func() *lite.Stmt{
		func() *lite.Stmt { return c.Stmt(selectTask).Text(t.ID) },
		func() *lite.Stmt { return c.Stmt(selectByIdempotencyKey).Text(t.UserID).Text(t.IdempotencyKey) },
		func() *lite.Stmt { return c.Stmt(selectByDedupeKey).Text(t.UserID).Text(t.DedupeKey) },
	} {
		if found, err := one(s()); !errors.Is(err, tasks.ErrNotFound) {
			return found, err
		}
	}
	return tasks.Task{}, tasks.ErrNotFound
}

var (
	selectTask             = "SELECT " + columns.names() + " FROM tasks WHERE taskId = ?"
	selectByIdempotencyKey = "SELECT " + columns.names() + " FROM tasks WHERE userId = ? AND idempotencyKey = ? AND idempotencyKey <> taskId"
	selectByDedupeKey      = "SELECT " + columns.names() + " FROM tasks WHERE userId = ? AND dedupeKey = ? AND dedupeKey <> taskId"
)

func one(s *lite.Stmt) (tasks.Task, error) { return columns.one(s, tasks.ErrNotFound) }

func (s *taskStore) Get(ctx context.Context, id string) (t tasks.Task, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		t, err = one(c.Stmt(selectTask).Text(id))
		return err
	})
	return t, wrap(err, "get task", id)
}

func (s *taskStore) Keyed(ctx context.Context, userID, key string) (t tasks.Task, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		t, err = one(c.Stmt(selectByIdempotencyKey).Text(userID).Text(key))
		return err
	})
	return t, wrap(err, "get task by its idempotency key", "")
}

func (s *taskStore) Update(ctx context.Context, known tasks.Task, m tasks.Move) (result tasks.Task, err error) {
	next, refusal := tasks.Apply(known, m)
	err = s.db.write(ctx, func(tx *tx) error {
		if refusal == nil && whole(&known) {
			done, err := s.replace(tx, &known, &next)
			if done || err != nil && !errors.Is(err, tasks.ErrDuplicate) {
				result = next
				return err
			}
		}
		result, err = s.move(tx, known.ID, m)
		return err
	})
	return result, wrap(err, "update task", known.ID)
}

// whole reports whether a record can be the basis of a write. A row of a list has no journal, which each
// record has from its first moment; what a move adds to that would replace the journal.
func whole(t *tasks.Task) bool { return len(t.Journal) > 0 }

// move reads a record and makes a move on it. In the writer's transaction nobody comes between.
func (s *taskStore) move(tx *tx, id string, m tasks.Move) (tasks.Task, error) {
	newest, err := one(tx.Stmt(selectTask).Text(id))
	if err != nil {
		return tasks.Task{}, err
	}
	next, err := tasks.Apply(newest, m)
	if err != nil {
		return newest, err
	}
	if _, err = s.replace(tx, &newest, &next); errors.Is(err, tasks.ErrDuplicate) {
		return newest, err
	}
	return next, err
}

// replace writes what differs between two states of a record, if its revision still is the first's.
func (s *taskStore) replace(tx *tx, was, next *tasks.Task) (bool, error) {
	if next.DedupeKey != was.DedupeKey && next.DedupeKey != next.ID {
		_, err := one(tx.Stmt(selectByDedupeKey).Text(next.UserID).Text(next.DedupeKey))
		if !errors.Is(err, tasks.ErrNotFound) {
			return false, cmp.Or(err, tasks.ErrDuplicate)
		}
	}
	mask := differences(was, next)
	stmt := tx.Stmt(s.updateOf(mask))
	for i := range columns {
		if mask&(1<<i) != 0 {
			columns[i].bind(stmt, next)
		}
	}
	n, err := stmt.Text(was.ID).Int(was.Rev).Changes()
	if n == 0 || err != nil {
		return false, err
	}
	tx.counts.move(was, next)
	tx.lines.move(was, next)
	return true, tx.sets.move(tx.Conn, was, next)
}

// updateOf is the statement that writes a set of columns. A write that leaves the columns of an index
// alone does not touch the index, and there are only about as many sets as there are moves.
func (s *taskStore) updateOf(mask uint64) string {
	if sql := s.sql[mask]; sql != "" {
		return sql
	}
	var set []string
	for i := range columns {
		if mask&(1<<i) != 0 {
			set = append(set, columns[i].name+" = ?")
		}
	}
	sql := "UPDATE tasks SET " + strings.Join(set, ", ") + " WHERE taskId = ? AND rev = ?"
	s.sql[mask] = sql
	return sql
}

func (s *taskStore) Renew(ctx context.Context, beats []tasks.Beat, until, now time.Time) ([]tasks.Renewal, error) {
	answers := make([]tasks.Renewal, len(beats))
	if len(beats) == 0 {
		return answers, nil
	}
	err := s.db.write(ctx, func(tx *tx) error {
		for i, b := range beats {
			t, err := s.move(tx, b.TaskID, tasks.Renewed(b.Token, b.Progress, until, now))
			switch {
			case errors.Is(err, tasks.ErrLeaseLost), errors.Is(err, tasks.ErrNotFound):
				answers[i] = tasks.Renewal{Lost: true}
			case err != nil:
				return err
			default:
				answers[i] = tasks.Renewal{CancelRequested: !t.CancelRequestedAt.IsZero()}
			}
		}
		return nil
	})
	return answers, wrapN(err, "renew leases", len(beats))
}

var (
	selectExpired = "SELECT " + columns.names() + " FROM tasks WHERE status = 'processing' AND leaseExpiresAt <= ? ORDER BY leaseExpiresAt, taskId LIMIT ?"
	selectForeign = "SELECT " + columns.names() + " FROM tasks WHERE status = 'processing' AND leaseExpiresAt > ? AND leaseOwner NOT IN (?, ?) ORDER BY leaseExpiresAt, taskId LIMIT ?"
)

func (s *taskStore) Stale(ctx context.Context, owner string, now time.Time, limit int) (stale []tasks.Task, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		at := tasks.Millis(now)
		stale, err = columns.all(c.Stmt(selectExpired).Time(at).Int(int64(limit)))
		if err != nil || owner == "" || len(stale) >= limit {
			return err
		}
		foreign, err := columns.all(c.Stmt(selectForeign).Time(at).Text(owner).Text(tasks.External).Int(int64(limit - len(stale))))
		stale = append(stale, foreign...)
		return err
	})
	return stale, wrap(err, "find stale tasks", "")
}

// wrap says what was tried; what callers compare with stays findable.
func wrap(err error, what, id string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", strings.TrimSpace(what+" "+id), err)
}

func wrapN(err error, what string, n int) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s (%d): %w", what, n, err)
}
