package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/tasks"
)

// A slot is one that a claim may take: as it was found, nil where nobody ever had it.
type slot struct {
	n   int
	was *holdDoc
}

// A stock is what a lane has at one moment: who runs, and which slots that leaves.
type stock struct {
	usage map[string]int // slots by partition
	open  []slot
}

// takeStock learns what may be started in a lane of some capacity.
//
// Tasks may run without one of the lane's slots: registered as running, or in slots beyond a capacity that
// was lowered. Each of these keeps the highest free slot from being taken. As all claims leave the same
// ones, and those who run without a slot only grow fewer, no two claims can exceed the capacity together.
func (s *Tasks) takeStock(ctx context.Context, c tasks.Claim, capacity int) (stock, error) {
	known, err := s.running(ctx, append(bson.D{is("lane", c.Lane)}, leased(c.Now)...))
	if err != nil {
		return stock{}, err
	}
	held, err := all[holdDoc](ctx, s.db.holds, with("lane", c.Lane))
	if err != nil {
		return stock{}, err
	}
	if err := s.settle(ctx, c, known, held); err != nil {
		return stock{}, err
	}
	st, found := stock{usage: map[string]int{}}, make([]slot, capacity)
	taken, outside := make([]bool, capacity), map[string]bool{}
	for id, t := range known {
		if t.Leased(c.Now) {
			st.usage[t.PartitionKey]++
			outside[id] = true
		}
	}
	for i := range held {
		h := &held[i]
		t := known[h.TaskID]
		free, err := s.free(ctx, h, t, c.Now)
		if err != nil {
			return stock{}, err
		}
		if !free && !h.holds(t, c.Now) { // by a claim under way
			st.usage[t.PartitionKey]++
			outside[h.ID] = true
		}
		if h.N < capacity {
			found[h.N].was, taken[h.N] = h, !free
		}
		if !free && h.N < capacity {
			delete(outside, h.TaskID)
			delete(outside, h.ID)
		}
	}
	for n := range found {
		if found[n].n = n; !taken[n] {
			st.open = append(st.open, found[n])
		}
	}
	st.open = st.open[:max(0, len(st.open)-len(outside))]
	return st, nil
}

// settle reads again the tasks on which what runs and the slots, read one after the other, do not agree.
func (s *Tasks) settle(ctx context.Context, c tasks.Claim, known map[string]tasks.Task, held []holdDoc) error {
	named := map[string]bool{}
	var unsure []string
	for i := range held {
		if h := &held[i]; h.holds(known[h.TaskID], c.Now) {
			named[h.TaskID] = true
		} else {
			unsure = append(unsure, h.TaskID)
		}
	}
	for id := range known {
		if !named[id] {
			unsure = append(unsure, id)
		}
	}
	if len(unsure) == 0 {
		return nil
	}
	for _, id := range unsure {
		delete(known, id)
	}
	newest, err := s.running(ctx, with("_id", with("$in", unsure)))
	for id, t := range newest {
		known[id] = t
	}
	return err
}

// running reads of tasks what holding depends on.
func (s *Tasks) running(ctx context.Context, filter bson.D) (map[string]tasks.Task, error) {
	needed := bson.D{is("taskId", 1), is("status", 1), is("lease", 1), is("rev", 1), is("partitionKey", 1)}
	docs, err := all[taskDoc](ctx, s.db.tasks, filter, options.Find().SetProjection(needed))
	byID := make(map[string]tasks.Task, len(docs))
	for _, d := range docs {
		byID[d.ID] = d.Task
	}
	return byID, err
}
