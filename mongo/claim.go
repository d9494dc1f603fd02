package mongo

import (
	"context"
	"errors"
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/v2/bson"

	"filmroom/tasks"
)

// Claim implements [tasks.Store]. What was claimed before an error is the answer: its lease runs.
func (s *Tasks) Claim(ctx context.Context, c tasks.Claim) ([]tasks.Task, error) {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	lane, err := one[laneDoc](write, s.db.lanes, with("_id", c.Lane), nil)
	if err != nil || lane.Paused || lane.Capacity == 0 || c.Limit == 0 {
		return nil, wrap(err, "read lane %s", c.Lane)
	}
	cl := claiming{store: s, Claim: c, capacity: lane.Capacity, share: newShare(), refused: map[string]bool{}, locked: map[string]bool{}}
	for again := true; again; {
		if again, err = cl.round(write); err != nil {
			break
		}
	}
	if len(cl.claimed) == 0 {
		return nil, wrap(err, "claim tasks of lane %s", c.Lane)
	}
	_ = s.served(write, c.Lane, cl.share.order) // else the next claim is a little less fair
	return cl.claimed, nil
}

// A claiming is one call of Claim.
type claiming struct {
	tasks.Claim
	store    *Tasks
	capacity int
	claimed  []tasks.Task
	share    share
	refused  map[string]bool // by the move: these stay due and come again
	locked   map[string]bool // keys that others have
	open     []slot          // that may still be taken in this round
	lost     bool            // somebody was quicker in this round
}

func (cl *claiming) full() bool { return len(cl.claimed) == cl.Limit || len(cl.open) == 0 }

// round claims what it finds due and free. It is worth another where others were quicker.
func (cl *claiming) round(ctx context.Context) (again bool, err error) {
	priority, due, err := cl.nextPriority(ctx, bson.D{})
	if err != nil || !due {
		return false, err
	}
	st, err := cl.store.takeStock(ctx, cl.Claim, cl.capacity)
	if err != nil {
		return false, err
	}
	cl.open, cl.lost, cl.share.usage = st.open, false, st.usage
	rand.Shuffle(len(cl.open), func(i, j int) { cl.open[i], cl.open[j] = cl.open[j], cl.open[i] })
	for due && !cl.full() {
		if err := cl.level(ctx, priority); err != nil {
			return false, err
		}
		if priority, due, err = cl.nextPriority(ctx, with("$gt", priority)); err != nil {
			return false, err
		}
	}
	return cl.lost && len(cl.claimed) < cl.Limit, nil
}

// level claims tasks of one priority, the partitions in turns.
func (cl *claiming) level(ctx context.Context, priority int) error {
	lines, err := cl.lines(ctx, priority)
	if err != nil {
		return err
	}
	for !cl.full() {
		for _, l := range lines {
			if err := cl.forward(ctx, l); err != nil {
				return err
			}
		}
		l := cl.share.next(lines)
		if l == nil {
			return nil
		}
		t := l.waiting[0]
		l.waiting = l.waiting[1:]
		if err := cl.try(ctx, t.ID); err != nil {
			return err
		}
	}
	return nil
}

// try claims one task: its slot, its lock, then itself. What was taken in vain is handed back; where the outcome
// is unknown it is left, to be free when it is known.
func (cl *claiming) try(ctx context.Context, id string) error {
	now, err := one[taskDoc](ctx, cl.store.db.tasks, with("_id", id), nil)
	if err != nil {
		return err
	}
	next, refusal := tasks.Apply(now.Task, cl.Move)
	if refusal != nil || next.Lease == nil {
		cl.refused[id] = true
		return nil
	}
	var lock *holdDoc
	if next.LockKey != "" {
		was, free, err := cl.store.lock(ctx, next.LockKey, cl.Now)
		if err != nil || !free {
			cl.locked[next.LockKey] = true
			return err
		}
		lock = was
	}
	h := holdDoc{TaskID: id, Claim: tasks.NewID(), Token: next.Lease.Token, Rev: now.Rev, ClaimUntil: tasks.Millis(cl.Now.Add(claimTakes))}
	slot, ok, err := cl.takeSlot(ctx, h)
	if err != nil || !ok {
		return err
	}
	if next.LockKey != "" {
		h.ID = lockID(next.LockKey)
		if ok, err := cl.store.take(ctx, lock, h); err != nil || !ok {
			cl.locked[next.LockKey] = true
			return errors.Join(err, cl.backOut(ctx, slot))
		}
	}
	written, err := cl.store.replace(ctx, now.Rev, next)
	if err != nil {
		return err
	}
	if written {
		cl.claimed = append(cl.claimed, next)
		cl.share.took(next.PartitionKey)
		return nil
	}
	cl.lost = true
	if next.LockKey != "" {
		err = cl.store.handBack(ctx, h)
	}
	return errors.Join(err, cl.backOut(ctx, slot))
}

// takeSlot takes a free slot, if others leave one.
func (cl *claiming) takeSlot(ctx context.Context, h holdDoc) (holdDoc, bool, error) {
	for len(cl.open) > 0 {
		free := cl.open[0]
		cl.open = cl.open[1:]
		h.ID, h.Lane, h.N = slotID(cl.Lane, free.n), cl.Lane, free.n
		if ok, err := cl.store.take(ctx, free.was, h); ok || err != nil {
			return h, ok, err
		}
		cl.lost = true
	}
	return h, false, nil
}

// backOut hands a slot back, to be taken for another task.
func (cl *claiming) backOut(ctx context.Context, taken holdDoc) error {
	err := cl.store.handBack(ctx, taken)
	if err == nil {
		cl.open = append(cl.open, slot{n: taken.N})
	}
	return err
}
