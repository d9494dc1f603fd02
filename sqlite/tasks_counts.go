package sqlite

import (
	"context"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// A group is tasks that are alike: a row of task_counts.
type group struct {
	userID    string
	status    tasks.Status
	kind      string
	lane      string
	dismissed bool
}

func groupOf(t *tasks.Task) group { return group{t.UserID, t.Status, t.Kind, t.Lane, t.Dismissed} }

func (g group) bind(s *lite.Stmt) *lite.Stmt {
	return s.Text(g.userID).Text(string(g.status)).Text(g.kind).Text(g.lane).Bool(g.dismissed)
}

// counts gathers how a transaction changes task_counts, so that many writes of a batch change a row once.
type counts map[group]int

func (c *counts) add(t *tasks.Task, n int) {
	if *c == nil {
		*c = counts{}
	}
	(*c)[groupOf(t)] += n
}

func (c *counts) move(was, next *tasks.Task) {
	if groupOf(was) != groupOf(next) {
		c.add(was, -1)
		c.add(next, 1)
	}
}

const addCount = `INSERT INTO task_counts (userId, status, kind, lane, dismissed, n) VALUES (?, ?, ?, ?, ?, ?)
	ON CONFLICT DO UPDATE SET n = n + excluded.n`

func (c counts) store(tx *tx) error {
	for g, n := range c {
		if n == 0 {
			continue
		}
		if err := g.bind(tx.Stmt(addCount)).Int(int64(n)).Run(); err != nil {
			return err
		}
	}
	return nil
}

const (
	selectGroups    = "SELECT userId, status, kind, lane, dismissed, n FROM task_counts WHERE userId = ? AND n > 0"
	selectAllGroups = "SELECT userId, status, kind, lane, dismissed, n FROM task_counts WHERE n > 0"
)

// groupsOf calls visit with each group of a user that has tasks; "" is everybody.
func groupsOf(c *lite.Conn, userID string, visit func(group, int)) error {
	s := c.Stmt(selectAllGroups)
	if userID != "" {
		s = c.Stmt(selectGroups).Text(userID)
	}
	for s.Next() {
		g := group{s.ReadText(), tasks.Status(s.ReadText()), s.ReadText(), s.ReadText(), s.ReadBool()}
		visit(g, int(s.ReadInt()))
	}
	return s.Err()
}

func (s *taskStore) Counts(ctx context.Context, userID string) ([]tasks.Count, error) {
	sums := map[tasks.Count]int{}
	err := s.db.read(ctx, func(c *lite.Conn) error {
		return groupsOf(c, userID, func(g group, n int) {
			key := tasks.Count{Status: g.status, Kind: g.kind, Dismissed: g.dismissed}
			if userID == "" {
				key.Lane = g.lane
			}
			sums[key] += n
		})
	})
	if err != nil {
		return nil, wrap(err, "count tasks", "")
	}
	out := make([]tasks.Count, 0, len(sums))
	for key, n := range sums {
		key.N = n
		out = append(out, key)
	}
	return out, nil
}
