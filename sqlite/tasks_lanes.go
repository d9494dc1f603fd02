package sqlite

import (
	"cmp"
	"context"
	"slices"
	"time"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

var laneColumns = codec[tasks.Lane]{
	textColumn("name", func(l *tasks.Lane) *string { return &l.Name }),
	intColumn("capacity", func(l *tasks.Lane) *int { return &l.Capacity }),
	boolColumn("paused", func(l *tasks.Lane) *bool { return &l.Paused }),
	{
		name: "rate",
		bind: func(s *lite.Stmt, l *tasks.Lane) { s.Float(l.Rate) },
		read: func(s *lite.Stmt, l *tasks.Lane) { l.Rate = s.ReadFloat() },
	},
	intColumn("burst", func(l *tasks.Lane) *int { return &l.Burst }),
	textColumn(`"by"`, func(l *tasks.Lane) *string { return &l.By }),
	textColumn("reason", func(l *tasks.Lane) *string { return &l.Reason }),
	timeColumn("changedAt", func(l *tasks.Lane) *time.Time { return &l.ChangedAt }),
	intColumn("rev", func(l *tasks.Lane) *int64 { return &l.Rev }),
}

var (
	selectLanes = "SELECT " + laneColumns.names() + " FROM lanes ORDER BY name"
	insertLane  = laneColumns.insertInto("lanes") + " ON CONFLICT DO NOTHING"
	updateLane  = "UPDATE lanes SET " + laneColumns.assignments() + " WHERE name = ? AND rev = ?"
)

func (s *taskStore) Lanes(ctx context.Context) (lanes []tasks.Lane, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		lanes, err = laneColumns.all(c.Stmt(selectLanes))
		return err
	})
	return lanes, wrap(err, "read lanes", "")
}

func (s *taskStore) PutLane(ctx context.Context, l tasks.Lane) error {
	err := s.db.write(ctx, func(tx *tx) error {
		put := func() *lite.Stmt { return laneColumns.bind(tx.Stmt(insertLane), &l) }
		if l.Rev > 1 {
			put = func() *lite.Stmt { return laneColumns.bind(tx.Stmt(updateLane), &l).Text(l.Name).Int(l.Rev - 1) }
		}
		n, err := put().Changes()
		if err == nil && n == 0 {
			err = tasks.ErrConflict
		}
		return err
	})
	return wrap(err, "store lane", l.Name)
}

const (
	countRunning   = "SELECT count(*) FROM tasks WHERE status = 'processing' AND lane = ? AND leaseExpiresAt > ?"
	countScheduled = "SELECT count(*) FROM tasks WHERE status = 'queued' AND lane = ? AND priority = ? AND availableAt > ?"
)

// Loads takes from the counters how many tasks wait, for they may be many, and counts those that are not due.
func (s *taskStore) Loads(ctx context.Context, now time.Time) (loads []tasks.Load, err error) {
	at := tasks.Millis(now)
	err = s.db.read(ctx, func(c *lite.Conn) error {
		byLane := map[string]*tasks.Load{}
		err := groupsOf(c, "", func(g group, n int) {
			if g.status != tasks.StatusQueued && g.status != tasks.StatusProcessing {
				return
			}
			if byLane[g.lane] == nil {
				byLane[g.lane] = &tasks.Load{Lane: g.lane}
			}
			if g.status == tasks.StatusQueued {
				byLane[g.lane].Queued += n
			}
		})
		if err != nil {
			return err
		}
		loads = nil
		for _, l := range byLane {
			if err := weigh(c, l, at); err != nil {
				return err
			}
			if l.Queued+l.Scheduled+l.Processing > 0 {
				loads = append(loads, *l)
			}
		}
		return nil
	})
	slices.SortFunc(loads, func(a, b tasks.Load) int { return cmp.Compare(a.Lane, b.Lane) })
	return loads, wrap(err, "read the loads of lanes", "")
}

// weigh tells what runs from what is due and what is not; l.Queued holds all that wait.
func weigh(c *lite.Conn, l *tasks.Load, now time.Time) (err error) {
	if l.Processing, err = count(c.Stmt(countRunning).Text(l.Lane).Time(now)); err != nil {
		return err
	}
	return priorities(c, l.Lane, func(p int64) (bool, error) {
		first := c.Stmt(firstOfPriority).Text(l.Lane).Int(p)
		if first.Next() {
			if at := first.ReadTime(); !at.After(now) && (l.OldestQueuedAt.IsZero() || at.Before(l.OldestQueuedAt)) {
				l.OldestQueuedAt = at
			}
		}
		if err := first.Err(); err != nil {
			return true, err
		}
		n, err := count(c.Stmt(countScheduled).Text(l.Lane).Int(p).Time(now))
		l.Scheduled += n
		l.Queued -= n
		return false, err
	})
}

func count(s *lite.Stmt) (n int, err error) {
	if s.Next() {
		n = int(s.ReadInt())
	}
	return n, s.Err()
}

var selectHolder = "SELECT " + columns.names() + " FROM tasks WHERE status = 'processing' AND lockKey <> '' AND lockKey = ? AND leaseExpiresAt > ? LIMIT 1"

func (s *taskStore) Holder(ctx context.Context, lockKey string, now time.Time) (t tasks.Task, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		t, err = one(c.Stmt(selectHolder).Text(lockKey).Time(tasks.Millis(now)))
		return err
	})
	return t, wrap(err, "find the holder of a lock", "")
}
