package views

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"filmroom/tasks"
)

// Lanes is the page of lanes: what each has to do, how it is set, what runs and what failed. Everyone may
// read the lanes; settings, other people's tasks and failures are for administrators.
type Lanes struct {
	Frame
	Lanes       []Lane
	Running     []RunningTask
	RunningMore string // "and 40 more", "" when all are listed
	Failures    []FailureGroup
	FailureMore bool // only the newest failures were grouped
	Abandoned   string
	Error       string // why the last change was refused; Lane.Typed holds what was typed
}

// A Lane is one lane as it is set and what it has to do.
type Lane struct {
	Name      string
	Capacity  string // "2 at once"
	Rate      string // "at most 0.5 a second, 1 at once", "" for no limit
	Paused    bool
	State     LaneMark
	Waiting   string // due now
	Scheduled string // for later
	Running   string
	Oldest    When   // since when the one that waits longest could start; zero: none waits
	OldestFor string // how long that is
	Changed   When   // zero: as configured
	By        string // who changed it
	Reason    string
	Ended     Chart // tasks that ended, by minute
	Waited    Chart // how long they had waited when they started, by minute
	CanChange bool  // the viewer is an administrator
	Typed     LaneForm
}

// A LaneMark says in a word what a lane does, with the status whose icon and colour go with it.
type LaneMark struct {
	Name string // paused, closed, full, running, idle
	Word string
	Mark string
}

// A LaneForm is what a person types to change a lane.
type LaneForm struct {
	Capacity string
	Rate     string // "" or 0: no limit
	Burst    string
	Reason   string
	Error    string // why it was refused; the form is open then
}

// A RunningTask is a task that runs, whosever it is.
type RunningTask struct {
	TaskRow
	Lane    string
	Who     string
	Attempt string // "2 of 5", "" for the first
}

// LanesParts are what the page of lanes is made of. For those who are not administrators only States and
// History are filled in.
type LanesParts struct {
	States    []tasks.LaneState
	History   map[string]LaneHistory // by lane, from [NewLaneHistory]; a lane without draws empty charts
	Running   tasks.Page             // processing tasks of all users
	Failures  []FailureGroup         // from [GroupFailures], over the failures of the last day
	Cut       bool                   // there were more failures than were looked at
	Abandoned int                    // runners of this process that did not stop
	Typed     map[string]LaneForm    // by lane: a change that was refused
}

// NewLanes makes the page of lanes.
func NewLanes(f Frame, parts LanesParts) Lanes {
	f.title, f.section, f.stream = "Lanes", SectionLanes, LanesEventsURL
	p := Lanes{Frame: f, Failures: parts.Failures, FailureMore: parts.Cut}
	for _, s := range parts.States {
		l := NewLane(f, s, parts.History[s.Lane.Name])
		if typed, ok := parts.Typed[l.Name]; ok {
			l.Typed = typed
		}
		p.Lanes = append(p.Lanes, l)
		p.running += s.Processing
	}
	for _, t := range parts.Running.Items {
		p.Running = append(p.Running, newRunningTask(t, f.Now))
	}
	if more := parts.Running.Total - len(p.Running); more > 0 {
		p.RunningMore = "and " + Count(more) + " more"
	}
	if parts.Abandoned > 0 {
		p.Abandoned = Plural(parts.Abandoned, "attempt") + " did not stop when asked. Nothing of what still comes from there counts, but it takes memory until this process ends."
	}
	return p
}

// NewLane shows a lane as seen at f.Now.
func NewLane(f Frame, s tasks.LaneState, h LaneHistory) Lane {
	l := Lane{
		Name: s.Lane.Name, Capacity: strconv.Itoa(s.Capacity) + " at once", Paused: s.Paused, State: laneState(s),
		Rate: laneRate(s.Lane), Waiting: Count(s.Queued), Scheduled: Count(s.Scheduled), Running: laneRunning(s),
		Oldest: NewWhen(s.OldestQueuedAt, f.Now), By: s.By, Reason: s.Reason, CanChange: f.User.Admin,
		Ended: endedChart(s.Lane.Name, h), Waited: waitedChart(s.Lane.Name, h),
		Typed: LaneForm{Capacity: strconv.Itoa(s.Capacity), Rate: plainNumber(s.Rate)},
	}
	if s.By != "" {
		l.Changed = NewWhen(s.ChangedAt, f.Now)
	}
	if !s.OldestQueuedAt.IsZero() {
		l.OldestFor = Duration(f.Now.Sub(s.OldestQueuedAt))
	}
	if s.Rate > 0 {
		l.Typed.Burst = strconv.Itoa(s.Burst)
	}
	return l
}

func laneState(s tasks.LaneState) LaneMark {
	switch {
	case s.Paused:
		return LaneMark{"paused", "Paused", "paused"}
	case s.Capacity == 0:
		return LaneMark{"closed", "Starts nothing", "canceled"}
	case s.Queued > 0 && s.Processing >= s.Capacity:
		return LaneMark{"full", "Full", "processing"}
	case s.Processing > 0:
		return LaneMark{"running", "Running", "processing"}
	default:
		return LaneMark{"idle", "Idle", "queued"}
	}
}

func laneRunning(s tasks.LaneState) string {
	if s.Capacity == 0 {
		return Count(s.Processing)
	}
	return Count(s.Processing) + " of " + Count(s.Capacity)
}

func laneRate(l tasks.Lane) string {
	if l.Rate <= 0 {
		return ""
	}
	return "starts at most " + plainNumber(l.Rate) + " a second, " + strconv.Itoa(l.Burst) + " in a burst"
}

func plainNumber(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

func newRunningTask(t tasks.Task, now time.Time) RunningTask {
	r := RunningTask{TaskRow: NewTaskRow(t, now), Lane: t.Lane, Who: t.UserEmail}
	if t.Attempt > 1 {
		r.Attempt = "attempt " + strconv.Itoa(t.Attempt) + " of " + strconv.Itoa(t.MaxAttempts)
	}
	return r
}

const maxCapacity = tasks.MaxCapacity

// DOMID is the id of the lane's element. Names of lanes are the operator's; what is not plain in one is
// spelt in hex, because the id stands in selectors.
func (l Lane) DOMID() string { return laneDOMID(l.Name) }

func laneDOMID(name string) string {
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" {
		return "lane-" + name
	}
	return "lane_" + hex.EncodeToString([]byte(name))
}
