package mongo

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/tasks"
)

// Lanes implements [tasks.Store].
func (s *Tasks) Lanes(ctx context.Context) ([]tasks.Lane, error) {
	docs, err := all[laneDoc](ctx, s.db.lanes, with("_id", with("$gte", "")), options.Find().SetSort(with("_id", 1)))
	lanes := make([]tasks.Lane, len(docs))
	for i, d := range docs {
		lanes[i] = d.Lane
	}
	return lanes, wrap(err, "list lanes")
}

// PutLane implements [tasks.Store].
func (s *Tasks) PutLane(ctx context.Context, l tasks.Lane) error {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return err
	}
	defer done()
	doc := laneDoc{ID: l.Name, Lane: l}
	if l.Rev == 1 {
		_, err := s.db.lanes.InsertOne(write, doc)
		if driver.IsDuplicateKeyError(err) {
			return tasks.ErrConflict
		}
		return wrap(err, "store lane %s", l.Name)
	}
	result, err := s.db.lanes.ReplaceOne(write, bson.D{is("_id", l.Name), is("rev", l.Rev-1)}, doc)
	if err == nil && result.MatchedCount == 0 {
		return tasks.ErrConflict
	}
	return wrap(err, "store lane %s", l.Name)
}

// Loads implements [tasks.Store].
func (s *Tasks) Loads(ctx context.Context, now time.Time) ([]tasks.Load, error) {
	byLane := map[string]*tasks.Load{}
	of := func(lane string) *tasks.Load {
		if byLane[lane] == nil {
			byLane[lane] = &tasks.Load{Lane: lane}
		}
		return byLane[lane]
	}
	for _, part := range []struct {
		match bson.D
		field func(*tasks.Load) *int
	}{
		{queued("$lte", now), func(l *tasks.Load) *int { return &l.Queued }},
		{queued("$gt", now), func(l *tasks.Load) *int { return &l.Scheduled }},
		{leased(now), func(l *tasks.Load) *int { return &l.Processing }},
	} {
		counts, err := s.countByLane(ctx, part.match)
		if err != nil {
			return nil, wrap(err, "count what lanes have to do")
		}
		for lane, n := range counts {
			*part.field(of(lane)) = n
		}
	}
	loads := make([]tasks.Load, 0, len(byLane))
	for _, l := range byLane {
		if err := s.oldest(ctx, l, now); err != nil {
			return nil, wrap(err, "find what waits longest in lane %s", l.Lane)
		}
		loads = append(loads, *l)
	}
	slices.SortFunc(loads, func(a, b tasks.Load) int { return strings.Compare(a.Lane, b.Lane) })
	return loads, nil
}

// queued is the filter for waiting tasks by their time.
func queued(compared string, at time.Time) bson.D {
	return bson.D{is("status", tasks.StatusQueued), is("availableAt", with(compared, at))}
}

func (s *Tasks) countByLane(ctx context.Context, match bson.D) (map[string]int, error) {
	cursor, err := s.db.tasks.Aggregate(ctx, driver.Pipeline{
		with("$match", match),
		with("$group", bson.D{is("_id", "$lane"), is("n", with("$sum", 1))}),
	})
	if err != nil {
		return nil, err
	}
	var groups []struct {
		Lane string `bson:"_id"`
		N    int    `bson:"n"`
	}
	err = cursor.All(ctx, &groups)
	counts := make(map[string]int, len(groups))
	for _, g := range groups {
		counts[g.Lane] = g.N
	}
	return counts, err
}

func (s *Tasks) oldest(ctx context.Context, l *tasks.Load, now time.Time) error {
	if l.Queued == 0 {
		return nil
	}
	first, err := all[taskDoc](ctx, s.db.tasks, append(bson.D{is("lane", l.Lane)}, queued("$lte", now)...),
		options.Find().SetSort(with("availableAt", 1)).SetLimit(1).SetProjection(with("availableAt", 1)))
	if len(first) > 0 {
		l.OldestQueuedAt = first[0].AvailableAt
	}
	return err
}

// Unfollowed implements [tasks.Store].
func (s *Tasks) Unfollowed(ctx context.Context, after string, limit int) ([]tasks.Task, error) {
	docs, err := all[taskDoc](ctx, s.db.tasks, bson.D{is("unfollowed", true), is("_id", with("$gt", after))}, options.Find().SetSort(with("_id", 1)).SetLimit(int64(limit)))
	return tasksOf(docs), wrap(err, "find tasks whose successor is to come")
}
