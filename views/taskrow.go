package views

import (
	"encoding/json"
	"fmt"
	"time"

	"filmroom/imaging"
	"filmroom/tasks"
)

// A TaskRow is a task as it is shown: a row of the board and the head of its own page. It depends on
// nothing but the task and the time it was seen, so one rendering serves every viewer.
type TaskRow struct {
	ID     string
	Name   string
	Kind   string // in people's words
	Status Status
	Detail string // what it is at, how it ended, or why not
	Bar    *Bar   // while it runs
	Times  []Timed
	At     int64 // Unix milliseconds of this sight of it; the browser works out the pace from these

	CanCancel, CanRetry, CanDismiss bool
	Undo                            bool // to cancel it is to undo it: an action on many tasks that has not begun

	Canceling bool
	Dismissed bool
	Download  string // address, "" when there is nothing to download (any more)
	FileSize  string
	Library   string // address of the series it brought in, "" when it brings in none
}

// Timed is a word or two about when: "started 2 min ago", "took 6 s". Either When or Text follows Label.
type Timed struct {
	Label string
	When  When
	Text  string
	Live  bool // counts on from When: a duration, not a distance
}

// A Bar is how far a running task is. Max is 0 when nobody knows how much there is to do.
type Bar struct {
	Value, Max int64
	Figures    string // "312/500", "1,204" when Max is unknown
	Percent    string // "62 %", "" when Max is unknown
	Phase      string
}

// NewTaskRow shows t as seen at now.
func NewTaskRow(t tasks.Task, now time.Time) TaskRow {
	row := TaskRow{
		ID:         t.ID,
		Name:       t.Name,
		Kind:       KindWord(t.Kind),
		Status:     statusOf(t),
		Detail:     taskDetail(t, now),
		Times:      taskTimes(t, now),
		At:         now.UnixMilli(),
		Canceling:  t.Status == tasks.StatusProcessing && !t.CancelRequestedAt.IsZero(),
		Dismissed:  t.Dismissed,
		CanDismiss: t.Status.Final() && !t.Dismissed,
		CanRetry:   canRetry(t),
	}
	row.CanCancel = !t.Status.Final() && !row.Canceling
	row.Undo = t.Kind == tasks.BulkKind && t.Status == tasks.StatusQueued && t.Attempt == 0
	if row.Name == "" {
		row.Name = row.Kind
	}
	if t.Status == tasks.StatusProcessing {
		row.Bar = newBar(t)
	}
	if t.File != nil && now.Before(t.File.ExpiresAt) {
		row.Download, row.FileSize = DownloadURL(t.ID), Size(t.File.Size)
	}
	if broughtIn(t) {
		row.Library = LibraryOfTaskURL(t.ID)
	}
	return row
}

// broughtIn reports whether a task left series in the library.
func broughtIn(t tasks.Task) bool {
	outcomes, ended := importEnd(t)
	return ended && outcomes[imaging.Imported] > 0
}

// importEnd is what a finished import made of its files.
func importEnd(t tasks.Task) (outcomes map[imaging.Outcome]int, ended bool) {
	var result imaging.ImportResult
	ended = t.Kind == "import" && t.Status == tasks.StatusFinished && json.Unmarshal(t.Result, &result) == nil && result.Outcomes != nil
	return result.Outcomes, ended
}

// statusOf words a task's status. An import that brought nothing in has finished, but a tick would promise more.
func statusOf(t tasks.Task) Status {
	status := NewStatus(t.Status)
	if outcomes, ended := importEnd(t); ended && outcomes[imaging.Imported] == 0 {
		status.Mark, status.Word = "nothing", "Nothing imported"
		if outcomes[imaging.Duplicate] > 0 {
			status.Word = "Nothing new"
		}
	}
	return status
}

// canRetry reports whether the desk could run t again. Work that another program does only that program can begin
// anew.
func canRetry(t tasks.Task) bool { return t.Status.Retryable() && t.Kind != tasks.ExternalKind }

// DOMID is the id of the row's element, which partials aim at.
func (r TaskRow) DOMID() string { return "task-" + r.ID }

func newBar(t tasks.Task) *Bar {
	p := t.Progress
	b := &Bar{Value: p.Value, Max: p.Max, Phase: t.Phase}
	switch {
	case p.Max > 0:
		b.Value = min(p.Value, p.Max)
		b.Figures = Count(b.Value) + "/" + Count(p.Max)
		b.Percent = percent(b.Value, p.Max)
	case p.Value > 0:
		b.Figures = Count(p.Value)
	}
	return b
}

// percent rounds down: 100 % is said when all is done, and not before.
func percent(value, whole int64) string {
	if value == whole {
		return "100 %"
	}
	return fmt.Sprintf("%d %%", min(int(100*(float64(value)/float64(whole))), 99))
}

func taskDetail(t tasks.Task, now time.Time) string {
	switch t.Status {
	case tasks.StatusQueued:
		return waitingFor(t, now)
	case tasks.StatusPaused:
		return "Held back until somebody resumes it"
	case tasks.StatusProcessing:
		return runningAt(t)
	case tasks.StatusFinished:
		return t.Progress.Message
	default:
		return t.Error
	}
}

func waitingFor(t tasks.Task, now time.Time) string {
	if wait := t.AvailableAt.Sub(now); wait > time.Second {
		if t.Attempt > 0 {
			return "Tries again in " + Coarse(wait) + nextAttempt(t)
		}
		if t.Kind == tasks.BulkKind {
			return "Can be undone until it begins"
		}
		return "Starts in " + Coarse(wait)
	}
	return "In lane " + t.Lane + nextAttempt(t)
}

// nextAttempt says which one t waits for, "" for the first.
func nextAttempt(t tasks.Task) string {
	if t.Attempt == 0 {
		return ""
	}
	return fmt.Sprintf(", attempt %d of %d", t.Attempt+1, t.MaxAttempts)
}

func runningAt(t tasks.Task) string {
	if !t.CancelRequestedAt.IsZero() {
		return "Canceling: the work is being stopped"
	}
	text := t.Progress.Message
	if text == "" {
		text = t.Phase
	}
	if text == "" {
		text = "Starting"
	}
	if t.Attempt > 1 {
		text += fmt.Sprintf(" · attempt %d of %d", t.Attempt, t.MaxAttempts)
	}
	return text
}

var endVerbs = map[tasks.Status]string{
	tasks.StatusFinished: "finished", tasks.StatusError: "failed",
	tasks.StatusCanceled: "canceled", tasks.StatusInterrupted: "interrupted",
}

func taskTimes(t tasks.Task, now time.Time) []Timed {
	switch {
	case t.Status == tasks.StatusProcessing:
		return []Timed{{Label: "started", When: NewWhen(t.StartedAt, now)}}
	case t.Kind == tasks.BulkKind && t.Status == tasks.StatusQueued && t.Attempt == 0:
		return []Timed{{Label: "begins", When: NewWhen(t.AvailableAt, now)}}
	case !t.Status.Final():
		return []Timed{{Label: "asked for", When: NewWhen(t.CreatedAt, now)}}
	}
	times := []Timed{{Label: endVerbs[t.Status], When: NewWhen(t.EndedAt, now)}}
	if !t.StartedAt.IsZero() {
		times = append(times, Timed{Label: "took", Text: Duration(t.EndedAt.Sub(t.StartedAt))})
	}
	if t.File != nil {
		times = append(times, expiry(t.File.ExpiresAt, now))
	}
	return times
}

func expiry(at, now time.Time) Timed {
	if now.Before(at) {
		return Timed{Label: "expires", When: NewWhen(at, now)}
	}
	return Timed{Label: "expired", When: NewWhen(at, now)}
}
