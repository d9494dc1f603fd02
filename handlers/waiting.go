package handlers

import (
	"context"

	"filmroom/tasks"
)

// waitingJSON explains why a task has not started.
type waitingJSON struct {
	For        tasks.WaitReason `json:"for"`
	Until      stamp            `json:"until"` // of its own time
	Lane       waitingLaneJSON  `json:"lane"`
	Ahead      int              `json:"ahead"`
	AheadExact bool             `json:"aheadExact"`
	Holder     *holderJSON      `json:"holder"`   // of the lock
	Start      stamp            `json:"start"`    // probably; null: unknown
	Earliest   stamp            `json:"earliest"` // if those before it are quick
	Latest     stamp            `json:"latest"`   // and if they are slow
}

type waitingLaneJSON struct {
	Name      string  `json:"name"`
	Capacity  int     `json:"capacity"`
	Paused    bool    `json:"paused"`
	Rate      float64 `json:"rate"`
	ChangedBy *string `json:"changedBy"`
	Reason    *string `json:"reason"`
}

// holderJSON is the task that has a lock; of somebody else's, no more than that there is one.
type holderJSON struct {
	TaskID *string `json:"taskId"`
	Name   string  `json:"name"`
}

// anothers is how a task is called before those who may not see it.
const anothers = "another person's task"

// explain adds to a task that waits what it waits for.
func (s *Server) explain(ctx context.Context, p tasks.Person, t tasks.Task, j *taskJSON) error {
	w, waits, err := s.cfg.Tasks.Waiting(ctx, p, t)
	if err != nil || !waits {
		return err
	}
	j.Waiting = &waitingJSON{
		For: w.For, Until: stamp(w.Until), Ahead: w.Ahead, AheadExact: w.AheadExact,
		Lane: waitingLaneJSON{Name: t.Lane, Capacity: w.Lane.Capacity, Paused: w.Lane.Paused, Rate: w.Lane.Rate,
			ChangedBy: orNull(w.Lane.By), Reason: orNull(w.Lane.Reason)},
		Start: stamp(w.Start), Earliest: stamp(w.Earliest), Latest: stamp(w.Latest),
	}
	if w.For == tasks.WaitsForLock {
		j.Waiting.Holder = &holderJSON{Name: anothers}
		if w.Holder != nil {
			j.Waiting.Holder = &holderJSON{&w.Holder.ID, w.Holder.Name}
		}
	}
	return nil
}
