package sqlite

import "filmroom/tasks"

// A claiming is one claim under way, in the writer's transaction: nobody comes between.
type claiming struct {
	tasks.Claim
	store   *taskStore
	tx      *tx
	now     int64
	want    int
	turns   int64            // lanes.turns
	slots   map[string]int   // that partitions hold
	served  map[string]int64 // the partitions served by this claim, and their turn
	held    map[string]bool  // what is known of locks
	claimed []tasks.Task
}

const (
	selectRoom  = "SELECT capacity, turns FROM lanes WHERE name = ? AND NOT paused"
	selectSlots = `SELECT partitionKey, count(*) FROM tasks WHERE status = 'processing' AND lane = ? AND leaseExpiresAt > ?
		GROUP BY partitionKey ORDER BY partitionKey`
	updateTurns  = "UPDATE lanes SET turns = ? WHERE name = ?"
	updateServed = "UPDATE lane_turns SET served = ? WHERE lane = ? AND partitionKey = ?"
	// What was served that long ago comes first anyway, as what was never served does.
	forgetTurns = "DELETE FROM lane_turns WHERE lane = ? AND taskId IS NULL AND served < ?"
)

// keptTurns is how many turns of a lane are remembered at least.
const keptTurns = 10_000

func (c *claiming) run() error {
	if err := c.room(); err != nil || c.want <= 0 {
		return err
	}
	if err := c.tx.lines.store(c.tx); err != nil {
		return err
	}
	err := priorities(c.tx.Conn, c.Lane, func(p int64) (bool, error) {
		q := queue{claiming: c, priority: int(p), reached: map[string]bool{}}
		err := q.serve()
		return len(c.claimed) == c.want, err
	})
	if err != nil || len(c.claimed) == 0 {
		return err
	}
	return c.remember()
}

// room finds how many tasks the lane may start.
func (c *claiming) room() error {
	s := c.tx.Stmt(selectRoom).Text(c.Lane)
	var capacity int
	if s.Next() {
		capacity, c.turns = int(s.ReadInt()), s.ReadInt()
	}
	if err := s.Err(); err != nil || capacity == 0 {
		return err
	}
	c.slots, c.served, c.held = map[string]int{}, map[string]int64{}, map[string]bool{}
	s = c.tx.Stmt(selectSlots).Text(c.Lane).Int(c.now)
	for s.Next() {
		partition, n := s.ReadText(), int(s.ReadInt())
		c.slots[partition] = n
		capacity -= n
	}
	c.want = min(c.Limit, capacity)
	return s.Err()
}

// remember keeps whose turn it was.
func (c *claiming) remember() error {
	before := c.turns - int64(len(c.claimed))
	if err := c.tx.Stmt(updateTurns).Int(c.turns).Text(c.Lane).Run(); err != nil {
		return err
	}
	for partition, turn := range c.served {
		if err := c.tx.Stmt(updateServed).Int(turn).Text(c.Lane).Text(partition).Run(); err != nil {
			return err
		}
	}
	if before/keptTurns == c.turns/keptTurns {
		return nil
	}
	return c.tx.Stmt(forgetTurns).Text(c.Lane).Int(c.turns - keptTurns).Run()
}

// take claims a task unless it refuses.
func (c *claiming) take(t *tasks.Task) (bool, error) {
	next, err := tasks.Apply(*t, c.Move)
	if err != nil {
		return false, nil
	}
	if _, err := c.store.replace(c.tx, t, &next); err != nil {
		return false, err
	}
	c.claimed = append(c.claimed, next)
	c.turns++
	c.served[t.PartitionKey] = c.turns
	c.slots[t.PartitionKey]++
	if t.LockKey != "" {
		c.held[t.LockKey] = true
	}
	return true, nil
}

const selectHeld = "SELECT 1 FROM tasks WHERE status = 'processing' AND lockKey <> '' AND lockKey = ? AND leaseExpiresAt > ? LIMIT 1"

// holds reports whether a task holds the lock.
func (c *claiming) holds(key string) (bool, error) {
	held, known := c.held[key]
	if !known {
		s := c.tx.Stmt(selectHeld).Text(key).Int(c.now)
		held = s.Next()
		if err := s.Err(); err != nil {
			return false, err
		}
		c.held[key] = held
	}
	return held, nil
}
