package taskstest

import (
	"time"

	"pgregory.net/rapid"

	"filmroom/tasks"
)

// What a play asks of the stores without changing them, and what it demands whatever happened.

// ask compares what one task, one lane and one lock come to.
func (p *play) ask(rt *rapid.T) {
	ctx := p.t.Context()
	lane, lock := rapid.SampledFrom(modelLanes).Draw(rt, "lane"), rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "lock")
	type next struct {
		At time.Time
		OK bool
	}
	_, _ = both(p, "next available", func(s tasks.Store) (n next, err error) {
		n.At, n.OK, err = s.NextAvailable(ctx, lane)
		return n, err
	})
	_, _ = both(p, "holder", func(s tasks.Store) (tasks.Task, error) { return s.Holder(ctx, lock, p.now) })
	_, _ = both(p, "unfollowed", func(s tasks.Store) ([]tasks.Task, error) { return s.Unfollowed(ctx, "", 100) })
	if id, ok := p.one(rt); ok {
		_, _ = both(p, "ahead", func(s tasks.Store) (int, error) {
			t, err := s.Get(ctx, id)
			if err != nil {
				return 0, err
			}
			return s.Ahead(ctx, t, p.now)
		})
	}
}

// followed is perhaps an end that names a successor.
func followed(rt *rapid.T, end tasks.Move) tasks.Move {
	if !rapid.Bool().Draw(rt, "followed") {
		return end
	}
	return tasks.EndedWith(&tasks.Successor{ID: ID(), Kind: "tell", Name: "Tell", Args: []byte(`{"n":1}`), Sealed: []byte{1}}, end)
}

// follow submits what ended tasks are followed by, as a process does that starts.
func (p *play) follow(rt *rapid.T) {
	left, _ := both(p, "unfollowed", func(s tasks.Store) ([]tasks.Task, error) { return s.Unfollowed(p.t.Context(), "", 2) })
	for _, t := range left {
		next := Queued(In("export"), func(n *tasks.Task) { n.ID, n.UserID, n.AvailableAt = t.Next.ID, t.UserID, p.now })
		if _, err := both(p, "insert", func(s tasks.Store) (tasks.Task, error) { return s.Insert(p.t.Context(), next) }); err == nil {
			p.ids = append(p.ids, next.ID)
		}
		if rapid.Bool().Draw(rt, "crash") {
			return // between the two writes: the successor is stored, and will be tried again
		}
		p.update(t.ID, "followed", tasks.Followed(next.ID))
	}
}

// slots counts what holds a slot of a lane now, in the store under test.
func (p *play) slots(lane string) int {
	loads, err := p.store.Loads(p.t.Context(), p.now)
	if err != nil {
		p.rt.Fatalf("loads: %v", err)
	}
	for _, l := range loads {
		if l.Lane == lane {
			return l.Processing
		}
	}
	return 0
}

// withinCapacity fails when a claim left more leases than the lane allows, unless they were there before it:
// lowering a lane stops nothing, and a clock that is set back makes old leases valid again.
func (p *play) withinCapacity(lane string, before int) {
	lanes, err := p.store.Lanes(p.t.Context())
	if err != nil {
		p.rt.Fatalf("lanes: %v", err)
	}
	for _, l := range lanes {
		if after := p.slots(lane); l.Name == lane && after > max(before, l.Capacity) {
			p.rt.Fatalf("%d leases of lane %s are valid after a claim, %d before it: it has %d slots", after, lane, before, l.Capacity)
		}
	}
}
