package sqlite

import (
	"context"
	"time"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// Waiting tasks of one priority are a range of the index tasks_waiting in the order of their time, so
// both claims and the look-ahead go from one priority to the next and never walk over tasks that are not
// due.
var (
	nextPriority = "SELECT priority FROM tasks WHERE status = 'queued' AND lane = ? AND priority > ? ORDER BY priority LIMIT 1"

	firstOfPriority = "SELECT availableAt FROM tasks WHERE status = 'queued' AND lane = ? AND priority = ? ORDER BY availableAt LIMIT 1"

	dueOfPriority = "SELECT " + columns.names() + ` FROM tasks WHERE status = 'queued' AND lane = ? AND priority = ?
		AND (availableAt, taskId) > (?, ?) AND availableAt <= ? ORDER BY availableAt, taskId LIMIT ?`
)

// beforeAll is less than every priority.
const beforeAll = -1 << 63

// priorities calls visit with each priority of a lane's waiting tasks, the first to run first, until it
// says stop.
func priorities(c *lite.Conn, lane string, visit func(p int64) (stop bool, err error)) error {
	for p := int64(beforeAll); ; {
		s := c.Stmt(nextPriority).Text(lane).Int(p)
		if !s.Next() {
			return s.Err()
		}
		p = s.ReadInt()
		s.Done()
		if stop, err := visit(p); stop || err != nil {
			return err
		}
	}
}

func (s *taskStore) Claim(ctx context.Context, c tasks.Claim) (claimed []tasks.Task, err error) {
	if c.Limit <= 0 {
		return nil, ctx.Err()
	}
	err = s.db.write(ctx, func(tx *tx) error {
		claimed = nil
		return priorities(tx.Conn, c.Lane, func(p int64) (bool, error) {
			err := s.claimPriority(tx, c, p, &claimed)
			return len(claimed) == c.Limit, err
		})
	})
	if err != nil {
		return nil, wrap(err, "claim tasks of lane", c.Lane)
	}
	return claimed, nil
}

// claimPriority claims due tasks of one priority. A task that refuses its claim is passed over.
func (s *taskStore) claimPriority(tx *tx, c tasks.Claim, priority int64, claimed *[]tasks.Task) error {
	var after tasks.Task
	now := tasks.Millis(c.Now)
	for {
		want := c.Limit - len(*claimed)
		due, err := columns.all(tx.Stmt(dueOfPriority).Text(c.Lane).Int(priority).
			Int(afterMillis(after.AvailableAt)).Text(after.ID).Time(now).Int(int64(want)))
		if err != nil {
			return err
		}
		for i := range due {
			next, err := tasks.Apply(due[i], c.Move)
			if err != nil {
				continue
			}
			if _, err := s.replace(tx, &due[i], &next); err != nil {
				return err
			}
			*claimed = append(*claimed, next)
		}
		if len(due) < want || len(*claimed) == c.Limit {
			return nil
		}
		after = due[len(due)-1]
	}
}

func afterMillis(t time.Time) int64 {
	if t.IsZero() {
		return -1 << 63
	}
	return t.UnixMilli()
}

func (s *taskStore) NextAvailable(ctx context.Context, lane string) (at time.Time, ok bool, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		return priorities(c, lane, func(p int64) (bool, error) {
			first := c.Stmt(firstOfPriority).Text(lane).Int(p)
			if first.Next() {
				if t := first.ReadTime(); !ok || t.Before(at) {
					at, ok = t, true
				}
			}
			return false, first.Err()
		})
	})
	return at, ok, wrap(err, "look for the next task of lane", lane)
}
