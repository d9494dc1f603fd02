package views

import (
	"time"

	"filmroom/tasks"
)

// A Wait says in words why a task has not started.
type Wait struct {
	Reason  string // "Others come first: lane import runs 2 tasks at a time"
	Holder  string // name of the task that it waits for, "" for none or another person's
	GoTo    string // its page
	Done    string // how far that is: "62 %", "" unknown
	Who     string // who holds the task or its lane back
	Why     string // what they gave as the reason
	Since   When   // since when they do
	Place   string // "number 6 in lane import", "" where others do not matter
	Start   When   // probably; zero: unknown
	Range   string // "between 3 min and 7 min from now"
	Unknown bool   // it will start by itself, nobody can say when

	Priority    int
	MinPriority int // the least the viewer may ask for
	MaxPriority int
	CanPause    bool
	CanResume   bool
}

// Bounds of what people who are not administrators may ask of the order.
const (
	MinPriority = 100
	MaxPriority = 1000
)

// NewWait words why t waits, for the viewer of the page.
func NewWait(f Frame, t tasks.Task, w tasks.Wait) Wait {
	p := Wait{
		Priority: t.Priority, MinPriority: MinPriority, MaxPriority: MaxPriority,
		CanPause: t.Status == tasks.StatusQueued, CanResume: t.Status == tasks.StatusPaused,
	}
	if f.User.Admin {
		p.MinPriority = 1
	}
	p.reason(t, w, f.Now)
	if w.For != tasks.WaitsForPerson && w.For != tasks.WaitsForTime {
		p.Place = waitPlace(t.Lane, w)
	}
	if w.For != tasks.WaitsForPerson && w.For != tasks.WaitsForLane {
		p.Start, p.Range = NewWhen(w.Start, f.Now), waitRange(w, f.Now)
		p.Unknown = w.Start.IsZero()
	}
	return p
}

func (p *Wait) reason(t tasks.Task, w tasks.Wait, now time.Time) {
	switch w.For {
	case tasks.WaitsForTime:
		p.Reason = "It is to start at a time of its own"
		if t.Attempt > 0 {
			p.Reason = "The last attempt failed, and the next waits a little"
		}
		p.Since = NewWhen(w.Until, now)
	case tasks.WaitsForPerson:
		p.Reason = "It is held back until somebody resumes it"
		p.Who, p.Since = pausedBy(t, now)
	case tasks.WaitsForLane:
		p.Reason = "Lane " + t.Lane + " is paused"
		if !w.Lane.Paused {
			p.Reason = "Lane " + t.Lane + " is set to start nothing"
		}
		p.Who, p.Why, p.Since = w.Lane.By, w.Lane.Reason, NewWhen(w.Lane.ChangedAt, now)
	case tasks.WaitsForLock:
		p.waitsForLock(w)
	case tasks.WaitsForRate:
		p.Reason = "Lane " + t.Lane + " " + laneRate(w.Lane)
	default:
		p.Reason = waitSlot(t.Lane, w)
	}
}

func (p *Wait) waitsForLock(w tasks.Wait) {
	p.Reason = "It must not run together with another person's task, which is under way"
	if w.Holder == nil {
		return
	}
	p.Reason = "It must not run together with another task, which is under way"
	p.Holder, p.GoTo = orElse(w.Holder.Name, KindWord(w.Holder.Kind)), TaskURL(w.Holder.ID)
	if w.Holder.Status == tasks.StatusProcessing {
		p.Done = newBar(*w.Holder).Percent
	}
}

func pausedBy(t tasks.Task, now time.Time) (string, When) {
	for i := len(t.Journal) - 1; i >= 0; i-- {
		if e := t.Journal[i]; e.Event == tasks.EventPaused {
			return e.By, NewWhen(e.At, now)
		}
	}
	return "", When{}
}

func waitSlot(lane string, w tasks.Wait) string {
	width := Plural(w.Lane.Capacity, "task") + " at a time"
	if w.Ahead > 0 {
		return "Others come first: lane " + lane + " runs " + width
	}
	return "Lane " + lane + " runs " + width + ", and no place is free"
}

func waitPlace(lane string, w tasks.Wait) string {
	switch {
	case !w.AheadExact:
		return "after more than " + Plural(w.Ahead, "task") + " of lane " + lane
	case w.Ahead == 0:
		return "next in lane " + lane
	default:
		return "number " + Count(w.Ahead+1) + " in lane " + lane
	}
}

// waitRange words the range of an estimate, "" when it is a point.
func waitRange(w tasks.Wait, now time.Time) string {
	from, to := coarse(max(w.Earliest.Sub(now), 0), true), coarse(max(w.Latest.Sub(now), 0), true)
	if w.Start.IsZero() || from == to {
		return ""
	}
	return "between " + from + " and " + to + " from now"
}
