package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/tasks"
)

// narrow leaves out what a row of a list does not show.
var narrow = bson.D{is("journal", 0), is("failures", 0), is("sealed", 0), is("checkpoint", 0)}

// List implements [tasks.Store]. Its total is counted up to [tasks.CountLimit].
func (s *Tasks) List(ctx context.Context, q tasks.Query) (tasks.Page, error) {
	o := taskOrder(q.Sort)
	filter := taskFilter(q, o)
	page := tasks.Page{TotalExact: true}
	if !q.NoTotal {
		n, err := count(ctx, s.db.tasks, filter, tasks.CountLimit)
		if err != nil {
			return tasks.Page{}, wrap(err, "count tasks")
		}
		page.Total, page.TotalExact = min(n, tasks.CountLimit), n <= tasks.CountLimit
	}
	if q.Limit == 0 {
		return page, nil
	}
	if q.Sort == tasks.FirstEndedFirst && !q.EndedFrom.IsZero() {
		filter = bson.D{is("$and", bson.A{filter, with("endedAt", with("$gte", q.EndedFrom.Add(time.Millisecond-1)))})}
	}
	l := listing{filter, o, q.Cursor, q.Limit, narrow}
	rows, more, err := pageOf[taskDoc](ctx, s.db, s.db.tasks, l, tasks.ErrCursor)
	if err != nil {
		return tasks.Page{}, wrap(err, "list tasks")
	}
	page.Items = tasksOf(rows)
	if more {
		last := rows[len(rows)-1]
		page.NextCursor = s.db.seal.cursor(o.sort, place{millis(o.timeOf(last.Task)), last.ID})
	}
	return page, nil
}

func taskOrder(sort tasks.Sort) order {
	switch sort {
	case tasks.OldestFirst:
		return order{string(sort), "createdAt", true}
	case tasks.LastEndedFirst, tasks.FirstEndedFirst:
		return order{string(sort), "endedAt", true}
	default:
		return order{string(tasks.NewestFirst), "createdAt", true}
	}
}

func (o order) timeOf(t tasks.Task) time.Time {
	if o.field == "endedAt" {
		return t.EndedAt
	}
	return t.CreatedAt
}

func taskFilter(q tasks.Query, o order) bson.D {
	f := bson.D{}
	if q.UserID != "" {
		f = append(f, is("userId", q.UserID))
	}
	if len(q.Statuses) > 0 {
		f = append(f, is("status", with("$in", q.Statuses)))
	}
	if q.Kind != "" {
		f = append(f, is("kind", q.Kind))
	}
	if q.Lane != "" {
		f = append(f, is("lane", q.Lane))
	}
	if q.Dismissed != nil {
		f = append(f, is("dismissed", *q.Dismissed))
	}
	created := bson.D{}
	if !q.From.IsZero() || q.UserID == "" { // every task was created: naming it lets an index bound the list of all
		created = append(created, is("$gte", later(q.From, time.UnixMilli(0))))
	}
	if !q.To.IsZero() {
		created = append(created, is("$lt", q.To))
	}
	if len(created) > 0 {
		f = append(f, is("createdAt", created))
	}
	if o.field == "endedAt" {
		f = append(f, is("endedAt", with("$gt", time.UnixMilli(0))))
	}
	return append(f, prefixes(q.Words)...)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Counts implements [tasks.Store].
func (s *Tasks) Counts(ctx context.Context, userID string) ([]tasks.Count, error) {
	match := with("userId", userID)
	by := bson.D{is("status", "$status"), is("kind", "$kind"), is("dismissed", "$dismissed")}
	if userID == "" {
		match = with("status", with("$in", tasks.Statuses))
		by = append(by, is("lane", "$lane"))
	}
	cursor, err := s.db.tasks.Aggregate(ctx, driver.Pipeline{
		with("$match", match),
		with("$group", bson.D{is("_id", by), is("n", with("$sum", 1))}),
	})
	if err != nil {
		return nil, wrap(err, "count tasks by status")
	}
	var groups []struct {
		By tasks.Count `bson:"_id"`
		N  int         `bson:"n"`
	}
	if err := cursor.All(ctx, &groups); err != nil {
		return nil, wrap(err, "count tasks by status")
	}
	counts := make([]tasks.Count, len(groups))
	for i, g := range groups {
		counts[i], counts[i].N = g.By, g.N
	}
	return counts, nil
}

// AppendLog implements [tasks.Store].
func (s *Tasks) AppendLog(ctx context.Context, lines []tasks.LogLine) error {
	write, done, err := s.db.begun(ctx)
	if err != nil || len(lines) == 0 {
		return err
	}
	defer done()
	_, err = s.db.logs.InsertMany(write, lines)
	return wrap(err, "keep %d log lines", len(lines))
}

// Log implements [tasks.Store].
func (s *Tasks) Log(ctx context.Context, taskID string, after int64, limit int) ([]tasks.LogLine, error) {
	lines, err := all[tasks.LogLine](ctx, s.db.logs, bson.D{is("taskId", taskID), is("seq", with("$gt", after))},
		options.Find().SetSort(with("seq", 1)).SetLimit(int64(limit)))
	return lines, wrap(err, "read the log of task %s", taskID)
}
