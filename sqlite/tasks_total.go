package sqlite

import (
	"context"

	"filmroom/tasks"
)

const countRange = `SELECT count(*) FROM (SELECT 1 FROM tasks
	WHERE userId = ? AND status = ? AND kind = ? AND lane = ? AND dismissed = ? AND createdAt >= ? AND createdAt < ? LIMIT ?)`

// total counts the list over all its pages: from the counters where they know, else up to
// [tasks.CountLimit].
func (l *listing) total(ctx context.Context) (total int, exact bool, err error) {
	switch {
	case l.q.NoTotal:
		return 0, false, nil
	case len(l.q.Words) > 0:
		total, err = l.countWords(ctx)
	case !l.q.From.IsZero() || !l.q.To.IsZero():
		total, err = l.countRange()
	default:
		return l.sum, true, nil
	}
	return min(total, tasks.CountLimit), total <= tasks.CountLimit, err
}

// countRange counts up to one more than the limit.
func (l *listing) countRange() (n int, err error) {
	for _, g := range l.groups {
		s := g.bind(l.c.Stmt(countRange)).Int(l.reach.from).Int(l.reach.to).Int(int64(tasks.CountLimit + 1 - n))
		if s.Next() {
			n += int(s.ReadInt())
		}
		if err := s.Err(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// countWords counts up to one more than the limit.
func (l *listing) countWords(ctx context.Context) (n int, err error) {
	m := newMerge(l.c, l.order, l.groups, l.everywhere(), tasks.CountLimit)
	for n <= tasks.CountLimit {
		p, ok, err := m.next()
		if err != nil || !ok {
			return n, err
		}
		if err := ctx.Err(); err != nil {
			return n, err
		}
		match, err := l.matches(p.row)
		if err != nil {
			return n, err
		}
		if match {
			n++
		}
	}
	return n, nil
}
