package sqlite

import (
	"math"

	"filmroom/tasks"
)

// A walk goes through what a claim may take of one partition, in order: the tasks that need no lock, and of
// each lock that is free the first that waits for it. So what it passes over is bounded by the
// locks that are held, not by the tasks that wait for them.
type walk struct {
	*claiming
	partition
	free  []tasks.Task // need no lock; read ahead
	after head         // the last of them that was read
	ahead int
	ended bool

	locks     []lockHead // read ahead
	lastLock  head
	locksDone bool
	locked    *tasks.Task // the record of locks[0], when it was read
}

type lockHead struct {
	head
	key string
}

// Left alone, SQLite takes tasks_waiting for the bound of time, and walks over all other partitions.
var dueOfLine = "SELECT " + columns.names() + ` FROM tasks INDEXED BY tasks_lined WHERE status = 'queued' AND lane = ? AND priority = ? AND partitionKey = ?
	AND lockKey = '' AND (availableAt, taskId) > (?, ?) AND availableAt <= ? ORDER BY availableAt, taskId LIMIT ?`

const dueLocks = `SELECT availableAt, taskId, lockKey FROM lane_locks WHERE lane = ? AND priority = ? AND partitionKey = ?
	AND (availableAt, taskId) > (?, ?) AND availableAt <= ? ORDER BY availableAt, taskId LIMIT ?`

// locksAhead is how many locks are read at once.
const locksAhead = 16

// beforeFirst is before every head.
var beforeFirst = head{at: math.MinInt64}

func (c *claiming) walk(p partition) *walk {
	return &walk{claiming: c, partition: p, after: beforeFirst, lastLock: beforeFirst, ahead: 2}
}

// peek returns the next task, nil at the end. A lock may be taken between two calls.
func (w *walk) peek() (*tasks.Task, error) {
	if err := w.skipLocked(); err != nil {
		return nil, err
	}
	if err := w.readFree(); err != nil {
		return nil, err
	}
	if len(w.locks) > 0 && (len(w.free) == 0 || w.locks[0].before(headOf(&w.free[0]))) {
		return w.lockedTask()
	}
	if len(w.free) == 0 {
		return nil, nil
	}
	return &w.free[0], nil
}

// drop moves on from the task that peek returned.
func (w *walk) drop(t *tasks.Task) {
	if t.LockKey == "" {
		w.free = w.free[1:]
		return
	}
	w.locks, w.locked = w.locks[1:], nil
}

// skipLocked moves on to the next lock that is free.
func (w *walk) skipLocked() error {
	for {
		if len(w.locks) == 0 {
			if err := w.readLocks(); err != nil || len(w.locks) == 0 {
				return err
			}
		}
		held, err := w.holds(w.locks[0].key)
		if err != nil || !held {
			return err
		}
		w.locks, w.locked = w.locks[1:], nil
	}
}

func (w *walk) lockedTask() (*tasks.Task, error) {
	if w.locked == nil {
		t, err := one(w.tx.Stmt(selectTask).Text(w.locks[0].id))
		if err != nil {
			return nil, err
		}
		w.locked = &t
	}
	return w.locked, nil
}

func (w *walk) readFree() error {
	if len(w.free) > 0 || w.ended {
		return nil
	}
	n := min(w.ahead, w.want-len(w.claimed))
	s := w.partition.bind(w.tx.Stmt(dueOfLine)).Int(w.after.at).Text(w.after.id).Int(w.now).Int(int64(n))
	var err error
	if w.free, err = columns.all(s); err != nil {
		return err
	}
	w.ended = len(w.free) < n
	w.ahead *= 2
	if len(w.free) > 0 {
		w.after = headOf(&w.free[len(w.free)-1])
	}
	return nil
}

func (w *walk) readLocks() error {
	if w.locksDone {
		return nil
	}
	s := w.partition.bind(w.tx.Stmt(dueLocks)).Int(w.lastLock.at).Text(w.lastLock.id).Int(w.now).Int(locksAhead)
	w.locks = w.locks[:0]
	for s.Next() {
		w.locks = append(w.locks, lockHead{head{s.ReadInt(), s.ReadText()}, s.ReadText()})
	}
	w.locksDone = len(w.locks) < locksAhead
	if n := len(w.locks); n > 0 {
		w.lastLock = w.locks[n-1].head
	}
	return s.Err()
}
