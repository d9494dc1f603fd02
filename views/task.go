package views

import (
	"slices"
	"strconv"

	"filmroom/tasks"
)

// A Task is everything about one task.
type Task struct {
	Frame
	Row      TaskRow
	Facts    []Fact
	Stages   []Stage
	Wait     *Wait // nil when it does not wait
	Attempts []Attempt
	Journal  []JournalRow
	LogMore  bool // there are more lines than are shown
	Receipt  *Receipt
	Args     Document
	Result   Document
	Mapping  string // address of who is who in an export, for its owner; "" for none
	Curl     []Curl
}

// A Fact is a name with a value.
type Fact struct {
	Name  string
	Value string
	When  When // instead of Value
	Mono  bool // an id or a hash
}

// A Stage is a phase of the present or last attempt.
type Stage struct {
	Name   string
	Lasted string
	State  string // done, now, stopped, ahead
}

// TaskParts are what a task's page is made of beside the task itself.
type TaskParts struct {
	Log     []tasks.LogLine
	LogMore bool        // lines were left out
	Receipt *Receipt    // nil when the task has none
	Wait    *tasks.Wait // from Manager.Waiting; nil when the task does not wait
	Origin  string      // "https://desk.example.org", as this desk is reached; for commands to copy
}

// NewTask shows all of t at f.Now.
func NewTask(f Frame, t tasks.Task, parts TaskParts) Task {
	f.section = SectionBoard
	p := Task{
		Row: NewTaskRow(t, f.Now), Facts: taskFacts(t, f), Stages: taskStages(t, f),
		Journal: NewJournal(t, f.Now), Attempts: NewAttempts(t, parts.Log, f.Now), LogMore: parts.LogMore, Receipt: parts.Receipt,
		Args: newDocument(t.Args), Result: newDocument(t.Result), Curl: newCurls(t, parts.Origin),
	}
	if parts.Wait != nil {
		w := NewWait(f, t, *parts.Wait)
		p.Wait = &w
	}
	if t.Kind == "export" && t.File != nil && f.Now.Before(t.File.ExpiresAt) && t.UserEmail == f.User.Email {
		p.Mapping = MappingURL(t.ID)
	}
	f.title = p.Row.Name
	if !t.Status.Final() {
		f.stream = TaskEventsURL(t.ID)
	}
	if t.Status == tasks.StatusProcessing {
		f.running = 1
	}
	p.Frame = f
	return p
}

var causeWords = map[tasks.Cause]string{
	tasks.CauseError: "failed", tasks.CausePermanent: "failed for good", tasks.CausePanic: "crashed",
	tasks.CauseTimeout: "took too long", tasks.CauseLost: "lost with its process", tasks.CauseArguments: "could not begin",
}

func taskFacts(t tasks.Task, f Frame) []Fact {
	facts := []Fact{
		{Name: "Asked for", When: NewWhen(t.CreatedAt, f.Now)},
		{Name: "By", Value: t.UserEmail},
		{Name: "Kind", Value: KindWord(t.Kind)},
		{Name: "Lane", Value: t.Lane},
		{Name: "Attempt", Value: strconv.Itoa(t.Attempt) + " of " + strconv.Itoa(t.MaxAttempts)},
		{Name: "Priority", Value: strconv.Itoa(t.Priority)},
	}
	if !t.StartedAt.IsZero() {
		facts = append(facts, Fact{Name: "Waited", Value: Duration(t.StartedAt.Sub(t.CreatedAt))})
	}
	facts = append(facts, Fact{Name: "Task", Value: t.ID, Mono: true})
	if t.File != nil {
		facts = append(facts, Fact{Name: "SHA-256", Value: t.File.SHA256, Mono: true})
	}
	return facts
}

// taskStages are the phases of the last attempt, from its rows in the journal.
func taskStages(t tasks.Task, f Frame) []Stage {
	var stages []Stage
	for i, e := range t.Journal {
		switch e.Event {
		case tasks.EventClaimed, tasks.EventRegistered:
			stages = nil
		case tasks.EventPhase:
			s := Stage{Name: e.Note, State: "done"}
			switch {
			case i+1 < len(t.Journal):
				s.Lasted = Duration(t.Journal[i+1].At.Sub(e.At))
			case t.Status == tasks.StatusProcessing:
				s.Lasted = Duration(f.Now.Sub(e.At))
			}
			stages = append(stages, s)
		}
	}
	if n := len(stages); n > 0 && t.Status != tasks.StatusFinished {
		last := &stages[n-1]
		last.State = "stopped"
		if t.Status == tasks.StatusProcessing {
			last.State = "now"
		}
	}
	return withAhead(stages, t)
}

// phasesOf are the phases that attempts of a kind go through, for those that are still ahead.
var phasesOf = map[string][]string{"import": {"unpacking", "storing"}}

func withAhead(stages []Stage, t tasks.Task) []Stage {
	if t.Status.Final() {
		return stages
	}
	for _, phase := range phasesOf[t.Kind] {
		if !slices.ContainsFunc(stages, func(s Stage) bool { return s.Name == phase }) {
			stages = append(stages, Stage{Name: phase, State: "ahead"})
		}
	}
	return stages
}
