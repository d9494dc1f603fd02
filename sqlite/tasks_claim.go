package sqlite

import (
	"context"
	"time"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// Waiting tasks of one priority are a range of the index tasks_waiting in the order of their time, so
// claims and the look-ahead go from one priority to the next and never walk over tasks that are not due.
const (
	nextPriority    = "SELECT priority FROM tasks WHERE status = 'queued' AND lane = ? AND priority > ? ORDER BY priority LIMIT 1"
	firstOfPriority = "SELECT availableAt FROM tasks WHERE status = 'queued' AND lane = ? AND priority = ? ORDER BY availableAt LIMIT 1"
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

func (s *taskStore) Claim(ctx context.Context, c tasks.Claim) (claimed []tasks.Task, err error) {
	if c.Limit <= 0 {
		return nil, ctx.Err()
	}
	// Late, so that it finds the slots and locks that ends beside it free.
	err = s.db.writeLate(ctx, func(tx *tx) error {
		cl := claiming{store: s, tx: tx, Claim: c, now: c.Now.UnixMilli()}
		err := cl.run()
		claimed = cl.claimed
		return err
	})
	if err != nil {
		return nil, wrap(err, "claim tasks of lane", c.Lane)
	}
	return claimed, nil
}
