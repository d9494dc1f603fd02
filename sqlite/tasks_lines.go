package sqlite

import (
	"cmp"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// Claims need the first task of each partition and lock without walking over those behind it. So two small
// tables keep these firsts: lane_turns for partitions, lane_locks for locks. They are not kept up by
// counting but read anew from the index tasks_lined wherever a write touched what waits, once a transaction.

// A line is the waiting tasks of one partition and lock ("" for those that need none), first to last.
type line struct {
	partition
	lockKey string
}

// A partition is the waiting tasks of one partition at one priority of a lane.
type partition struct {
	lane     string
	priority int
	key      string
}

func lineOf(t *tasks.Task) line {
	return line{partition{t.Lane, t.Priority, t.PartitionKey}, t.LockKey}
}

// lines are those that a transaction touched.
type lines map[line]bool

func (l *lines) touch(t *tasks.Task) {
	if t.Status != tasks.StatusQueued {
		return
	}
	if *l == nil {
		*l = lines{}
	}
	(*l)[lineOf(t)] = true
}

// move notes what a write to a task means for the lines.
func (l *lines) move(was, next *tasks.Task) {
	if was.Status == next.Status && was.AvailableAt.Equal(next.AvailableAt) && lineOf(was) == lineOf(next) {
		return
	}
	l.touch(was)
	l.touch(next)
}

// A head is the first of some waiting tasks; it has no id when there is none.
type head struct {
	at int64 // milliseconds
	id string
}

func headOf(t *tasks.Task) head { return head{t.AvailableAt.UnixMilli(), t.ID} }

func (h head) compare(o head) int { return cmp.Or(cmp.Compare(h.at, o.at), cmp.Compare(h.id, o.id)) }

func (h head) before(o head) bool { return h.id != "" && (o.id == "" || h.compare(o) < 0) }

func (h head) bind(s *lite.Stmt) *lite.Stmt {
	if h.id == "" {
		return s.Null().Null()
	}
	return s.Int(h.at).Text(h.id)
}

func readHead(s *lite.Stmt) (h head, err error) {
	if s.Next() {
		h = head{s.ReadInt(), s.ReadText()}
	}
	return h, s.Err()
}

// store brings both tables up to date.
func (l *lines) store(tx *tx) error {
	touched := map[partition]bool{}
	for one := range *l {
		touched[one.partition] = true
		if one.lockKey != "" {
			if err := one.store(tx); err != nil {
				return err
			}
		}
	}
	for p := range touched {
		if err := p.store(tx); err != nil {
			return err
		}
	}
	clear(*l)
	return nil
}

const (
	headOfLine = `SELECT availableAt, taskId FROM tasks INDEXED BY tasks_lined WHERE status = 'queued' AND lane = ? AND priority = ? AND partitionKey = ?
		AND lockKey = ? ORDER BY availableAt, taskId LIMIT 1`
	headOfLocks = "SELECT availableAt, taskId FROM lane_locks WHERE lane = ? AND priority = ? AND partitionKey = ? ORDER BY availableAt, taskId LIMIT 1"

	putLock = `INSERT INTO lane_locks (lane, priority, partitionKey, lockKey, availableAt, taskId) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET availableAt = excluded.availableAt, taskId = excluded.taskId WHERE taskId <> excluded.taskId OR availableAt <> excluded.availableAt`
	dropLock = "DELETE FROM lane_locks WHERE lane = ? AND priority = ? AND partitionKey = ? AND lockKey = ?"

	selectTurn = "SELECT availableAt, coalesce(taskId, '') FROM lane_turns WHERE lane = ? AND priority = ? AND partitionKey = ?"
	updateTurn = "UPDATE lane_turns SET availableAt = ?, taskId = ? WHERE lane = ? AND priority = ? AND partitionKey = ?"
	// A partition is served over all priorities.
	insertTurn = `INSERT INTO lane_turns (availableAt, taskId, lane, priority, partitionKey, served)
		VALUES (?, ?, ?, ?, ?, coalesce((SELECT served FROM lane_turns WHERE lane = ? AND partitionKey = ? LIMIT 1), 0))`
)

// bind binds a partition, in the order in which the indexes have it.
func (p partition) bind(s *lite.Stmt) *lite.Stmt {
	return s.Text(p.lane).Int(int64(p.priority)).Text(p.key)
}

func (l line) bind(s *lite.Stmt) *lite.Stmt { return l.partition.bind(s).Text(l.lockKey) }

// store keeps the first task that waits for a lock.
func (l line) store(tx *tx) error {
	first, err := readHead(l.bind(tx.Stmt(headOfLine)))
	if err != nil {
		return err
	}
	if first.id == "" {
		return l.bind(tx.Stmt(dropLock)).Run()
	}
	return l.bind(tx.Stmt(putLock)).Int(first.at).Text(first.id).Run()
}

// store keeps the first task of a partition. Mostly it is the one that was first before.
func (p partition) store(tx *tx) error {
	first, err := readHead(line{p, ""}.bind(tx.Stmt(headOfLine)))
	if err != nil {
		return err
	}
	locked, err := readHead(p.bind(tx.Stmt(headOfLocks)))
	if err != nil {
		return err
	}
	if locked.before(first) {
		first = locked
	}
	s := p.bind(tx.Stmt(selectTurn))
	known := s.Next()
	var was head
	if known {
		was = head{s.ReadInt(), s.ReadText()}
	}
	if err := s.Err(); err != nil || was == first {
		return err
	}
	if known {
		return p.bind(first.bind(tx.Stmt(updateTurn))).Run()
	}
	return p.bind(first.bind(tx.Stmt(insertTurn))).Text(p.lane).Text(p.key).Run()
}
