package mongo

import (
	"context"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/tasks"
)

// lineBatch is how many waiting tasks are read at once.
const lineBatch = 64

// A line is a partition's waiting tasks of one priority, the first of them read.
type line struct {
	partition string
	priority  int
	waiting   []tasks.Task // in order: id, time and lock alone
	last      tasks.Task   // that was read
	more      bool         // there may be some behind it
}

// A share says whose turn it is.
type share struct {
	usage map[string]int   // slots by partition
	turns map[string]int64 // when a partition was served, as far as it was asked for
	order []string         // whom this claim served, the last one last
}

func newShare() share { return share{turns: map[string]int64{}} }

// next returns the line whose turn it is, or nil when all are empty.
func (s *share) next(lines []*line) *line {
	var first *line
	for _, l := range lines {
		if len(l.waiting) > 0 && (first == nil || s.before(l, first)) {
			first = l
		}
	}
	return first
}

func (s *share) before(a, b *line) bool {
	if s.usage[a.partition] != s.usage[b.partition] {
		return s.usage[a.partition] < s.usage[b.partition]
	}
	if s.turns[a.partition] != s.turns[b.partition] {
		return s.turns[a.partition] < s.turns[b.partition]
	}
	t, u := a.waiting[0], b.waiting[0]
	if !t.AvailableAt.Equal(u.AvailableAt) {
		return t.AvailableAt.Before(u.AvailableAt)
	}
	return t.ID < u.ID
}

// took notes that a partition was served, later than all others.
func (s *share) took(partition string) {
	s.usage[partition]++
	s.turns[partition] = math.MaxInt64/2 + int64(len(s.order))
	s.order = append(s.order, partition)
}

// due is the filter of what may be claimed.
func (cl *claiming) due(more ...bson.E) bson.D {
	f := bson.D{is("lane", cl.Lane), is("status", tasks.StatusQueued), is("availableAt", with("$lte", cl.Now))}
	return append(f, more...)
}

// nextPriority returns the lowest priority of the tasks that are due, within a bound.
func (cl *claiming) nextPriority(ctx context.Context, within bson.D) (priority int, ok bool, err error) {
	filter := cl.due()
	if len(within) > 0 {
		filter = cl.due(is("priority", within))
	}
	first := bson.D{is("priority", 1), is("availableAt", 1), is("_id", 1)}
	found, err := all[taskDoc](ctx, cl.store.db.tasks, filter, options.Find().SetSort(first).SetLimit(1).SetProjection(with("priority", 1)))
	if err != nil || len(found) == 0 {
		return 0, false, err
	}
	return found[0].Priority, true, nil
}

// lines reads who waits at a priority: the partitions, each with the first of its tasks. It skips from one
// partition to the next, however many tasks one of them has.
func (cl *claiming) lines(ctx context.Context, priority int) ([]*line, error) {
	var lines []*line
	from := with("$gte", "")
	for {
		docs, err := cl.read(ctx, cl.due(is("priority", priority), is("partitionKey", from)), "partitionKey", "availableAt", "_id")
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			if n := len(lines); n == 0 || lines[n-1].partition != d.PartitionKey {
				lines = append(lines, &line{partition: d.PartitionKey, priority: priority})
			}
			last := lines[len(lines)-1]
			last.waiting, last.last = append(last.waiting, d.Task), d.Task
		}
		if len(docs) < lineBatch {
			return lines, cl.learnTurns(ctx, lines)
		}
		last := lines[len(lines)-1]
		last.more = true
		from = with("$gt", last.partition)
	}
}

// forward brings a line to a task that may be tried: past those that were refused or wait for a lock.
func (cl *claiming) forward(ctx context.Context, l *line) error {
	for {
		l.waiting = slices.DeleteFunc(l.waiting, func(t tasks.Task) bool { return cl.refused[t.ID] || cl.locked[t.LockKey] })
		if len(l.waiting) > 0 || !l.more {
			return nil
		}
		docs, err := cl.read(ctx, cl.due(is("priority", l.priority), is("partitionKey", l.partition), is("$or", bson.A{
			with("availableAt", with("$gt", l.last.AvailableAt)),
			bson.D{is("availableAt", l.last.AvailableAt), is("_id", with("$gt", l.last.ID))},
		})), "availableAt", "_id")
		if err != nil {
			return err
		}
		l.waiting, l.more = tasksOf(docs), len(docs) == lineBatch
		if len(docs) > 0 {
			l.last = docs[len(docs)-1].Task
		}
	}
}

// read reads waiting tasks, without those whose lock is known to be held: a thousand of them must not be
// in the way.
func (cl *claiming) read(ctx context.Context, filter bson.D, order ...string) ([]taskDoc, error) {
	if len(cl.locked) > 0 {
		var keys bson.A
		for key := range cl.locked {
			keys = append(keys, key)
		}
		filter = append(filter, is("lockKey", with("$nin", keys)))
	}
	var by bson.D
	for _, field := range order {
		by = append(by, is(field, 1))
	}
	needed := bson.D{is("taskId", 1), is("partitionKey", 1), is("availableAt", 1), is("lockKey", 1)}
	return all[taskDoc](ctx, cl.store.db.tasks, filter, options.Find().SetSort(by).SetLimit(lineBatch).SetProjection(needed))
}

// A turnDoc is when a partition of a lane was served last.
type turnDoc struct {
	ID        string `bson:"_id"`
	Lane      string `bson:"lane"`
	Partition string `bson:"partition"`
	Turn      int64  `bson:"turn"` // later ones are higher; two claims at once may give the same
}

func turnID(lane, partition string) string { return lane + "/" + partition }

// learnTurns reads when the partitions of lines were served.
func (cl *claiming) learnTurns(ctx context.Context, lines []*line) error {
	if len(lines) < 2 {
		return nil // alone, it is its turn
	}
	var ids []string
	for _, l := range lines {
		if _, known := cl.share.turns[l.partition]; !known {
			ids = append(ids, turnID(cl.Lane, l.partition))
		}
	}
	for ids := range slices.Chunk(ids, 1000) {
		docs, err := all[turnDoc](ctx, cl.store.db.turns, with("_id", with("$in", ids)))
		if err != nil {
			return err
		}
		for _, d := range docs {
			cl.share.turns[d.Partition] = d.Turn
		}
	}
	return nil
}

// served stores that partitions of a lane were served, the last one last.
func (s *Tasks) served(ctx context.Context, lane string, order []string) error {
	latest, err := all[turnDoc](ctx, s.db.turns, with("lane", lane), options.Find().SetSort(with("turn", -1)).SetLimit(1))
	if err != nil {
		return err
	}
	turn := int64(0)
	if len(latest) > 0 {
		turn = latest[0].Turn
	}
	turns := map[string]int64{}
	for i, partition := range order {
		turns[partition] = turn + int64(i) + 1
	}
	var writes []driver.WriteModel
	for partition, turn := range turns {
		doc := turnDoc{ID: turnID(lane, partition), Lane: lane, Partition: partition, Turn: turn}
		writes = append(writes, driver.NewReplaceOneModel().SetFilter(with("_id", doc.ID)).SetReplacement(doc).SetUpsert(true))
	}
	_, err = s.db.turns.BulkWrite(ctx, writes, options.BulkWrite().SetOrdered(false))
	return err
}
