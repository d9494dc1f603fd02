package tasks

import (
	"context"
	"errors"
	"slices"
	"time"
)

// recentEnds is how many finished tasks of a kind an estimate is made from, fewEnds how many are too few.
const (
	recentEnds = 50
	fewEnds    = 5
)

// A WaitReason says in a word what a waiting task waits for.
type WaitReason string

const (
	WaitsForTime   WaitReason = "time"   // its own; Wait.Until
	WaitsForPerson WaitReason = "paused" // somebody holds the task back
	WaitsForLane   WaitReason = "lane"   // its lane is paused, or has no capacity
	WaitsForLock   WaitReason = "lock"   // Wait.Holder has it
	WaitsForSlot   WaitReason = "slot"   // all of its lane's are taken, or others come first
	WaitsForRate   WaitReason = "rate"   // its lane starts so many a second and no more
)

// A Wait explains why a task has not started.
type Wait struct {
	For        WaitReason
	Until      time.Time // for time
	Lane       Lane      // as it is set: who paused it, and why
	Ahead      int       // tasks of the lane that come before it, the partitions in turns
	AheadExact bool
	Holder     *Task // for lock; nil when it is another person's, which the asker may not see

	// When it will probably start, from how long recent tasks of its kind took: the middle, and a range from
	// the shorter of them, a fifth left out, to the longer. Zero: unknown.
	Start, Earliest, Latest time.Time
}

// Waiting explains what a task that is queued or paused waits for; ok is false for all others.
func (m *Manager) Waiting(ctx context.Context, p Person, t Task) (w Wait, ok bool, err error) {
	if t.Status != StatusQueued && t.Status != StatusPaused {
		return w, false, nil
	}
	if w.Lane, err = m.storedLane(ctx, t.Lane); err != nil && !errors.Is(err, ErrNotFound) {
		return w, false, err
	}
	now := m.now()
	if w.Ahead, err = m.cfg.Store.Ahead(ctx, t, now); err != nil {
		return w, false, err
	}
	w.AheadExact = w.Ahead < CountLimit
	if err := m.reason(ctx, p, t, now, &w); err != nil {
		return w, false, err
	}
	if w.For == WaitsForTime || w.For == WaitsForSlot || w.For == WaitsForRate {
		err = m.estimate(ctx, t, now, &w)
	}
	return w, true, err
}

func (m *Manager) reason(ctx context.Context, p Person, t Task, now time.Time, w *Wait) error {
	switch {
	case t.Status == StatusPaused:
		w.For = WaitsForPerson
	case w.Lane.Paused || w.Lane.Capacity == 0:
		w.For = WaitsForLane
	case t.AvailableAt.After(now):
		w.For, w.Until = WaitsForTime, t.AvailableAt
	default:
		return m.contention(ctx, p, t, now, w)
	}
	return nil
}

// contention tells a lock from a slot from a rate.
func (m *Manager) contention(ctx context.Context, p Person, t Task, now time.Time, w *Wait) error {
	w.For = WaitsForSlot
	if t.LockKey != "" {
		holder, err := m.cfg.Store.Holder(ctx, t.LockKey, now)
		if err == nil {
			w.For = WaitsForLock
			if p.sees(holder) {
				w.Holder = &holder
			}
			return nil
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	loads, err := m.cfg.Store.Loads(ctx, now)
	for _, l := range loads {
		if l.Lane == t.Lane && l.Processing < w.Lane.Capacity && w.Lane.Rate > 0 {
			w.For = WaitsForRate
		}
	}
	return err
}

// estimate guesses the start: what is ahead, in rounds as wide as the lane, each as long as recent tasks took. The
// round that runs now is half over, on average; it may as well end now, or have just begun.
func (m *Manager) estimate(ctx context.Context, t Task, now time.Time, w *Wait) error {
	page, err := m.cfg.Store.List(ctx, Query{Kind: t.Kind, Statuses: []Status{StatusFinished}, Sort: LastEndedFirst, Limit: recentEnds, NoTotal: true})
	if err != nil || len(page.Items) < fewEnds || !w.AheadExact {
		return err
	}
	took := make([]time.Duration, len(page.Items))
	for i, done := range page.Items {
		took[i] = done.EndedAt.Sub(done.StartedAt)
	}
	slices.Sort(took)
	from := later(now, t.AvailableAt)
	guess := func(quantile int, running float64) time.Time {
		rounds := float64(w.Ahead)/float64(w.Lane.Capacity) + running
		at := from.Add(time.Duration(rounds * float64(took[len(took)*quantile/100])))
		if w.Lane.Rate > 0 {
			at = later(at, from.Add(time.Duration(float64(w.Ahead)/w.Lane.Rate*float64(time.Second))))
		}
		return Millis(at)
	}
	w.Earliest, w.Start, w.Latest = guess(20, 0), guess(50, 0.5), guess(80, 1)
	return nil
}
