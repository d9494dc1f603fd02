package sqlite

import (
	"cmp"
	"context"
	"slices"

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

// countWords counts up to one more than the limit. Groups whose kind alone has the words are counted by
// the counters. Of the others, a small part of the user's tasks is walked; of a large part so many match,
// or so few tasks have the word, that going through the word's own index ends sooner.
func (l *listing) countWords(ctx context.Context) (n int, err error) {
	rest, left := l.groups, l.sum
	if l.q.From.IsZero() && l.q.To.IsZero() {
		rest, left = nil, 0
		for i, g := range l.groups {
			if haveWords(g.kind, l.q.Words) {
				n += l.sizes[i]
			} else {
				rest, left = append(rest, g), left+l.sizes[i]
			}
		}
	}
	if n > tasks.CountLimit || left == 0 {
		return n, nil
	}
	more := 0
	if left > l.tuning.dense*l.all/left {
		more, err = l.countByWord(ctx, rest, tasks.CountLimit+1-n)
	} else {
		more, err = l.countByWalk(ctx, rest, tasks.CountLimit+1-n)
	}
	return n + more, err
}

// countByWalk counts matches in groups, up to a limit.
func (l *listing) countByWalk(ctx context.Context, groups []group, limit int) (n int, err error) {
	m := newMerge(l.c, l.order, groups, l.everywhere(), limit)
	m.named = true
	for n < limit {
		p, ok, err := m.next()
		if err != nil || !ok {
			return n, err
		}
		if haveWords(p.name+" "+p.kind, l.q.Words) {
			n++
		} else if err := ctx.Err(); err != nil {
			return n, err
		}
	}
	return n, nil
}

const selectFactsByWord = "SELECT " + factsColumns + ` FROM task_words CROSS JOIN tasks ON tasks.row = task_words.row
	WHERE task_words.userId = ? AND word >= ? AND word < ?`

// countByWord counts matches in groups among the tasks that have the longest of the words, up to a limit.
func (l *listing) countByWord(ctx context.Context, groups []group, limit int) (int, error) {
	longest := slices.MaxFunc(l.q.Words, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	seen := map[int64]bool{} // two words of a task may begin alike
	for _, user := range l.users() {
		s := l.c.Stmt(selectFactsByWord).Text(user).Text(longest).Text(beyond(longest))
		for len(seen) < limit && ctx.Err() == nil && s.Next() {
			if f := readFacts(s); slices.Contains(groups, f.group) && l.accepts(&f) {
				seen[f.row] = true
			}
		}
		if err := cmp.Or(s.Err(), ctx.Err()); err != nil {
			return 0, err
		}
	}
	return len(seen), nil
}
