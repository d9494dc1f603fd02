package sqlite

import (
	"context"
	"math"
	"time"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

const (
	countDue     = "SELECT count(*) FROM (SELECT 1 FROM tasks WHERE status = 'queued' AND lane = ? AND priority = ? AND availableAt <= ? LIMIT ?)"
	selectServed = "SELECT served FROM lane_turns WHERE lane = ? AND partitionKey = ? LIMIT 1"
	countOfLine  = `SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY tasks_lined WHERE status = 'queued' AND lane = ? AND priority = ? AND partitionKey = ?
		AND lockKey = '' AND (availableAt, taskId) < (?, ?) AND availableAt <= ? LIMIT ?)`
	countOfLocks = `SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY tasks_lined WHERE status = 'queued' AND lane = ? AND priority = ? AND partitionKey = ?
		AND lockKey > '' AND (availableAt, taskId) < (?, ?) AND availableAt <= ? LIMIT ?)`
)

// Ahead reads one row a partition and counts only in those that have more than one turn before t's.
func (s *taskStore) Ahead(ctx context.Context, t tasks.Task, now time.Time) (ahead int, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		ahead, err = countAhead(c, &t, tasks.Millis(now).UnixMilli())
		return err
	})
	return ahead, wrap(err, "count what is ahead of task", t.ID)
}

func countAhead(c *lite.Conn, t *tasks.Task, now int64) (ahead int, err error) {
	err = priorities(c, t.Lane, func(p int64) (bool, error) {
		if ahead >= tasks.CountLimit || p >= int64(t.Priority) {
			return true, nil
		}
		n, err := count(c.Stmt(countDue).Text(t.Lane).Int(p).Int(now).Int(int64(tasks.CountLimit - ahead)))
		ahead += n
		return false, err
	})
	if err != nil || ahead >= tasks.CountLimit {
		return ahead, err
	}
	own, err := lineOf(t).partition.waiting(c, headOf(t), now, tasks.CountLimit)
	if err != nil || ahead+own >= tasks.CountLimit {
		return min(ahead+own, tasks.CountLimit), err
	}
	others, err := countRivals(c, t, own, now, tasks.CountLimit-ahead-own)
	return min(ahead+own+others, tasks.CountLimit), err
}

// waiting counts up to limit tasks of a partition that are due and come before another.
func (p partition) waiting(c *lite.Conn, before head, now int64, limit int) (total int, err error) {
	for _, sql := range []string{countOfLine, countOfLocks} {
		n, err := count(p.bind(c.Stmt(sql)).Int(before.at).Text(before.id).Int(now).Int(int64(limit - total)))
		if total += n; err != nil || total >= limit {
			return total, err
		}
	}
	return total, nil
}

// countRivals counts what other partitions have before t, which has own of its own before it; no further than
// limit, but for the last of them.
func countRivals(c *lite.Conn, t *tasks.Task, own int, now int64, limit int) (total int, err error) {
	slots := map[string]int{}
	s := c.Stmt(selectSlots).Text(t.Lane).Int(now)
	for s.Next() {
		key := s.ReadText()
		slots[key] = int(s.ReadInt())
	}
	if err := s.Err(); err != nil {
		return 0, err
	}
	mine, err := ownTurn(c, t, slots[t.PartitionKey])
	if err != nil {
		return 0, err
	}
	rivals := c.Stmt(selectFree).Text(t.Lane).Int(int64(t.Priority)).Int(now)
	defer rivals.Done()
	for total < limit && rivals.Next() {
		r := readTurn(rivals)
		if r.key == t.PartitionKey {
			continue
		}
		r.slots = slots[r.key]
		n := mine.Lets(r.contender(), own)
		if n > 1 {
			if n, err = (partition{t.Lane, t.Priority, r.key}).waiting(c, head{at: math.MaxInt64}, now, n); err != nil {
				return 0, err
			}
		}
		total += n
	}
	return total, rivals.Err()
}

// ownTurn is what the turn of t's partition depends on.
func ownTurn(c *lite.Conn, t *tasks.Task, slots int) (tasks.Contender, error) {
	own := turn{slots: slots, first: headOf(t)}
	s := c.Stmt(selectServed).Text(t.Lane).Text(t.PartitionKey)
	if s.Next() {
		own.served = s.ReadInt()
	}
	if err := s.Err(); err != nil {
		return tasks.Contender{}, err
	}
	first, err := readHead(lineOf(t).partition.bind(c.Stmt(selectTurn)))
	if err == nil && first.before(own.first) {
		own.first = first
	}
	return own.contender(), err
}

func (t *turn) contender() tasks.Contender {
	return tasks.Contender{Slots: t.slots, Served: t.served, At: time.UnixMilli(t.first.at), ID: t.first.id}
}
