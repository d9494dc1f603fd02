package views

import (
	"fmt"
	"time"

	"filmroom/tasks"
)

// A JournalRow is one thing that happened to a task.
type JournalRow struct {
	When   When
	Word   string // "Started, attempt 2"
	Event  tasks.Event
	By     string
	Note   string
	Lasted string // until the next row, or until now while the task goes on; "" after the end
	Open   bool   // Lasted still grows
	Since  string // RFC 3339 start of Lasted, for the browser to count on
}

var eventWords = map[tasks.Event]string{
	tasks.EventQueued: "Asked for", tasks.EventRegistered: "Begun by its caller", tasks.EventClaimed: "Started",
	tasks.EventPhase: "Phase", tasks.EventCheckpoint: "Checkpoint", tasks.EventRetryScheduled: "Failed, tries again",
	tasks.EventHandedBack: "Handed back at shutdown", tasks.EventRescued: "Rescued after a crash",
	tasks.EventCancelRequested: "Cancel asked for", tasks.EventCanceled: "Canceled", tasks.EventFinished: "Finished",
	tasks.EventFailed: "Failed", tasks.EventInterrupted: "Interrupted", tasks.EventPaused: "Paused",
	tasks.EventResumed: "Resumed", tasks.EventReprioritised: "Priority changed", tasks.EventRetried: "Retried by hand",
	tasks.EventDismissed: "Dismissed", tasks.EventRestored: "Brought back to the board",
}

// NewJournal shows a task's journal, oldest row first, with the time between rows.
func NewJournal(t tasks.Task, now time.Time) []JournalRow {
	rows := make([]JournalRow, 0, len(t.Journal))
	for i, e := range t.Journal {
		row := JournalRow{When: NewWhen(e.At, now), Word: journalWord(e), Event: e.Event, By: e.By, Note: e.Note}
		switch {
		case i+1 < len(t.Journal):
			row.Lasted = Duration(t.Journal[i+1].At.Sub(e.At))
		case !t.Status.Final():
			row.Lasted, row.Open, row.Since = Duration(now.Sub(e.At)), true, row.When.ISO
		}
		if e.Event == tasks.EventPhase {
			row.Note = ""
		}
		rows = append(rows, row)
	}
	return rows
}

func journalWord(e tasks.Entry) string {
	word, ok := eventWords[e.Event]
	switch {
	case e.Event == tasks.EventFolded:
		return Plural(e.Folded, "earlier row")
	case e.Event == tasks.EventPhase:
		return e.Note
	case !ok:
		return string(e.Event)
	case e.Event == tasks.EventClaimed && e.Attempt > 1:
		return fmt.Sprintf("%s, attempt %d", word, e.Attempt)
	default:
		return word
	}
}

// A LogLine is a line of an attempt's log.
type LogLine struct {
	Seq   int64
	Clock string // time of day, UTC
	ISO   string
	Level string // info, warn, error
	Text  string
}

func newLogLine(l tasks.LogLine) LogLine {
	at := l.At.UTC()
	return LogLine{Seq: l.Seq, Clock: at.Format("15:04:05.000"), ISO: at.Format(time.RFC3339Nano), Level: l.Level, Text: l.Text}
}
