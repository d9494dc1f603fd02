package mongo

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"filmroom/tasks"
)

// Ahead implements [tasks.Store]. It reads who waits at t's priority as a claim does, and counts only in
// partitions that have more than one turn before t's. Each count has an index that bounds it.
func (s *Tasks) Ahead(ctx context.Context, t tasks.Task, now time.Time) (int, error) {
	q := ahead{claiming{store: s, Claim: tasks.Claim{Lane: t.Lane, Now: now}, share: newShare()}, t}
	n, err := q.urgent(ctx)
	if err == nil && n < tasks.CountLimit {
		var own int
		own, err = q.own(ctx)
		n += own
		if err == nil && n < tasks.CountLimit {
			var others int
			others, err = q.others(ctx, own, tasks.CountLimit-n)
			n += others
		}
	}
	return min(n, tasks.CountLimit), wrap(err, "count what comes before task %s", t.ID)
}

// An ahead is one call of Ahead: it looks at a lane as a claim would.
type ahead struct {
	claiming
	task tasks.Task
}

func (q *ahead) count(ctx context.Context, filter bson.D, limit int) (int, error) {
	n, err := count(ctx, q.store.db.tasks, filter, limit)
	return min(n, limit), err
}

func (q *ahead) urgent(ctx context.Context) (int, error) {
	return q.count(ctx, q.due(is("priority", with("$lt", q.task.Priority))), tasks.CountLimit)
}

// own counts what is due of the task's own partition before it.
func (q *ahead) own(ctx context.Context) (total int, err error) {
	partition := bson.D{is("priority", q.task.Priority), is("partitionKey", q.task.PartitionKey)}
	parts := []bson.D{q.due(partition...)}
	if at := q.task.AvailableAt; !at.After(q.Now) {
		in := append(partition, is("lane", q.Lane))
		parts = []bson.D{slices.Concat(in, queued("$lt", at)), slices.Concat(in, queued("$eq", at), with("_id", with("$lt", q.task.ID)))}
	}
	for _, part := range parts {
		n, err := q.count(ctx, part, tasks.CountLimit)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// others counts what other partitions have before the task; no further than limit, but for the last of them.
func (q *ahead) others(ctx context.Context, own, limit int) (total int, err error) {
	lines, err := q.lines(ctx, q.task.Priority)
	if err != nil {
		return 0, err
	}
	mine := &line{partition: q.task.PartitionKey, waiting: []tasks.Task{q.task}}
	if err := q.learnTurns(ctx, append(slices.Clone(lines), mine)); err != nil {
		return 0, err
	}
	running, err := q.store.running(ctx, append(bson.D{is("lane", q.Lane)}, leased(q.Now)...))
	if err != nil {
		return 0, err
	}
	q.share.usage = map[string]int{}
	for _, t := range running {
		q.share.usage[t.PartitionKey]++
	}
	for _, l := range lines {
		if l.partition == mine.partition && q.share.before(l, mine) {
			mine = l
		}
	}
	for _, l := range lines {
		if l.partition == mine.partition || total >= limit {
			continue
		}
		n := q.share.contender(mine).Lets(q.share.contender(l), own)
		if n > 1 {
			if n, err = q.count(ctx, q.due(is("priority", l.priority), is("partitionKey", l.partition)), n); err != nil {
				return 0, err
			}
		}
		total += n
	}
	return total, nil
}

func (s *share) contender(l *line) tasks.Contender {
	first := l.waiting[0]
	return tasks.Contender{Slots: s.usage[l.partition], Served: s.turns[l.partition], At: first.AvailableAt, ID: first.ID}
}
