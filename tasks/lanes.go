package tasks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// A LaneChange is what a person wants of a lane; nil leaves a setting as it is.
type LaneChange struct {
	Capacity *int
	Paused   *bool
	Rate     *float64 // tasks a second, 0 for no limit
	Burst    *int
	Reason   string // for those who wonder later
}

// ErrLaneChange: a setting that a lane cannot have; the error says which.
var ErrLaneChange = errors.New("the lane cannot be set so")

// MaxCapacity bounds a lane's capacity.
const MaxCapacity = 1000

func (c LaneChange) apply(l Lane) (Lane, error) {
	if c.Capacity != nil {
		l.Capacity = *c.Capacity
	}
	if c.Paused != nil {
		l.Paused = *c.Paused
	}
	if c.Rate != nil {
		l.Rate = *c.Rate
	}
	if c.Burst != nil {
		l.Burst = *c.Burst
	}
	if l.Rate > 0 && l.Burst < 1 {
		l.Burst = max(1, int(math.Ceil(l.Rate)))
	}
	switch {
	case l.Capacity < 0 || l.Capacity > MaxCapacity:
		return l, fmt.Errorf("%w: capacity is %d, it must be from 0 to %d", ErrLaneChange, l.Capacity, MaxCapacity)
	case l.Rate < 0 || math.IsNaN(l.Rate) || l.Rate > 1e6:
		return l, fmt.Errorf("%w: rate is %g a second, it must be from 0 (no limit) to 1000000", ErrLaneChange, l.Rate)
	case l.Burst < 0 || l.Burst > 1e6:
		return l, fmt.Errorf("%w: burst is %d, it must be from 1 to 1000000", ErrLaneChange, l.Burst)
	}
	return l, nil
}

// SetLane changes a lane for all processes while it runs: raising its capacity starts waiting work at once,
// lowering stops nothing that runs, 0 or a pause starts nothing. [ErrNotFound]: there is no such lane, or the
// person is no administrator.
func (m *Manager) SetLane(ctx context.Context, p Person, name string, c LaneChange) (Lane, error) {
	if !p.Admin {
		return Lane{}, ErrNotFound
	}
	for {
		l, err := m.storedLane(ctx, name)
		if err != nil {
			return l, err
		}
		next, err := c.apply(l)
		if err != nil {
			return l, err
		}
		next.By, next.Reason = p.Email, printable(c.Reason, 500)
		next.ChangedAt = Millis(m.now())
		next.Rev++
		err = m.cfg.Store.PutLane(ctx, next)
		if errors.Is(err, ErrConflict) {
			continue // somebody changed another setting at the same moment
		}
		if err != nil {
			return l, err
		}
		m.changed(next)
		return next, nil
	}
}

// changed puts a stored setting in force here. The look at the lanes does so too, should this process not
// live to see that the setting is stored.
func (m *Manager) changed(set Lane) {
	if l := m.lanes[set.Name]; l != nil {
		l.setting(set, l.shared())
	}
}

func (m *Manager) storedLane(ctx context.Context, name string) (Lane, error) {
	all, err := m.cfg.Store.Lanes(ctx)
	for _, l := range all {
		if l.Name == name {
			return l, err
		}
	}
	if err == nil {
		err = ErrNotFound
	}
	return Lane{}, err
}

// LaneState is a lane as it is set and what it has to do.
type LaneState struct {
	Lane
	Load
}

// Lanes returns all lanes with their loads, by name. Everyone may know.
func (m *Manager) Lanes(ctx context.Context) ([]LaneState, error) {
	if err := m.rescue(ctx, ""); err != nil {
		return nil, err
	}
	lanes, err := m.cfg.Store.Lanes(ctx)
	if err != nil {
		return nil, err
	}
	loads, err := m.cfg.Store.Loads(ctx, m.now())
	if err != nil {
		return nil, err
	}
	byName := make(map[string]Load, len(loads))
	for _, l := range loads {
		byName[l.Lane] = l
	}
	states := make([]LaneState, len(lanes))
	for i, l := range lanes {
		states[i] = LaneState{l, byName[l.Name]}
	}
	return states, nil
}

// storeLanes stores the configured lanes that are not stored yet; for the others stored settings win.
func (m *Manager) storeLanes(ctx context.Context) error {
	for name, capacity := range m.cfg.Lanes {
		err := m.cfg.Store.PutLane(ctx, Lane{Name: name, Capacity: capacity, ChangedAt: Millis(m.now()), Rev: 1})
		if err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return m.refreshLanes(ctx)
}

// refreshLanes takes in the stored settings.
func (m *Manager) refreshLanes(ctx context.Context) error {
	stored, err := m.cfg.Store.Lanes(ctx)
	if err != nil {
		return fmt.Errorf("read lanes: %w", err)
	}
	processes := 1
	if w, ok := m.cfg.Store.(Watcher); ok {
		if processes, err = w.Processes(ctx); err != nil {
			return fmt.Errorf("count processes: %w", err)
		}
	}
	for _, set := range stored {
		if l := m.lanes[set.Name]; l != nil {
			l.setting(set, max(processes, 1))
		}
	}
	return nil
}

// wakeLanes lets all lanes look for work.
func (m *Manager) wakeLanes() {
	for _, l := range m.lanes {
		l.wake()
	}
}

// Pause holds a waiting task back; Resume lets it wait in its lane again.
func (m *Manager) Pause(ctx context.Context, p Person, id string) (Task, error) {
	return m.move(ctx, p, id, func(now time.Time) Move { return PausedBy(p.Email, now) })
}

// Resume ends what Pause began.
func (m *Manager) Resume(ctx context.Context, p Person, id string) (Task, error) {
	return m.move(ctx, p, id, func(now time.Time) Move { return ResumedBy(p.Email, now) })
}

// Prioritize changes when a task that has not started will run; lower runs first.
func (m *Manager) Prioritize(ctx context.Context, p Person, id string, priority int) (Task, error) {
	return m.move(ctx, p, id, func(now time.Time) Move { return Reprioritised(p.Email, priority, now) })
}
