package views

import (
	"slices"
	"strconv"
	"time"

	"filmroom/tasks"
)

// A Queue is what the board says waits by: the lanes, and the place of each task that is due among those of its lane, by
// id and from 1. Places is nil where too many wait to tell.
type Queue struct {
	Lanes  []tasks.LaneState
	Places map[string]int
}

// Due reports whether t waits for something other than its own time.
func Due(t tasks.Task, now time.Time) bool {
	return t.Status == tasks.StatusQueued && !t.AvailableAt.After(now)
}

// ExplainWait says in the row of a task that is due, in a few words, why it has not started. Its own page tells more.
func (r *TaskRow) ExplainWait(t tasks.Task, q Queue) {
	i := slices.IndexFunc(q.Lanes, func(l tasks.LaneState) bool { return l.Name == t.Lane })
	if i < 0 || !Due(t, time.UnixMilli(r.At)) {
		return
	}
	if why := laneWait(q.Lanes[i], q.Places[t.ID]); why != "" {
		r.Detail = why + nextAttempt(t)
	}
}

// laneWait is "" where the lane is not the reason.
func laneWait(l tasks.LaneState, place int) string {
	switch {
	case l.Paused:
		return "Its lane, " + l.Name + ", is paused"
	case l.Capacity == 0:
		return "Its lane, " + l.Name + ", is set to start nothing"
	case l.Processing >= l.Capacity && place == 0:
		return "Waits for a slot in lane " + l.Name
	case l.Processing >= l.Capacity:
		return "Waits for a slot in lane " + l.Name + ", place " + strconv.Itoa(place)
	case l.Rate > 0:
		return "Lane " + l.Name + " " + laneRate(l.Lane)
	default:
		return ""
	}
}
