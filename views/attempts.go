package views

import (
	"strconv"
	"time"

	"filmroom/tasks"
)

// An Attempt is one run of a task: when, how it ended, and what it had to say. Attempts stand side by side,
// the newest first.
type Attempt struct {
	Title   string // "Attempt 2"
	Started When   // zero: not in the journal any more
	Lasted  string // "" while it is not known
	Open    bool   // it runs: Lasted still grows from Started
	Outcome string // "running", "finished", "failed", "lost with its process"
	Message string // why it failed
	Failed  bool
	Lines   []LogLine
}

// NewAttempts puts together what the journal, the failures and the log know of each attempt.
func NewAttempts(t tasks.Task, lines []tasks.LogLine, now time.Time) []Attempt {
	all := map[int]*Attempt{}
	last := 0
	of := func(n int) *Attempt {
		if all[n] == nil {
			all[n] = &Attempt{Title: "Attempt " + strconv.Itoa(n)}
		}
		last = max(last, n)
		return all[n]
	}
	attemptTimes(t, now, of)
	for _, f := range t.Failures {
		a := of(f.Attempt)
		a.Outcome, a.Message, a.Failed = causeWords[f.Cause], f.Message, true
	}
	for _, l := range lines {
		a := of(l.Attempt)
		a.Lines = append(a.Lines, newLogLine(l))
	}
	var newestFirst []Attempt
	for n := last; n >= 0; n-- {
		if a := all[n]; a != nil {
			newestFirst = append(newestFirst, *a)
		}
	}
	return newestFirst
}

// attemptTimes reads the beginnings and ends of attempts from the journal.
func attemptTimes(t tasks.Task, now time.Time, of func(int) *Attempt) {
	var open *Attempt
	var begun time.Time
	for _, e := range t.Journal {
		switch e.Event {
		case tasks.EventClaimed, tasks.EventRegistered:
			open, begun = of(max(e.Attempt, 1)), e.At
			open.Started, open.Outcome = NewWhen(e.At, now), "running"
		case tasks.EventRetryScheduled, tasks.EventHandedBack, tasks.EventRescued, tasks.EventCanceled,
			tasks.EventFinished, tasks.EventFailed, tasks.EventInterrupted:
			if open != nil {
				open.Lasted, open.Outcome = Duration(e.At.Sub(begun)), attemptEnds[e.Event]
				open = nil
			}
		}
	}
	if open != nil {
		open.Lasted, open.Open = Duration(now.Sub(begun)), true
	}
}

var attemptEnds = map[tasks.Event]string{
	tasks.EventRetryScheduled: "failed", tasks.EventHandedBack: "handed back at shutdown", tasks.EventRescued: "lost with its process",
	tasks.EventCanceled: "canceled", tasks.EventFinished: "finished", tasks.EventFailed: "failed", tasks.EventInterrupted: "interrupted",
}
