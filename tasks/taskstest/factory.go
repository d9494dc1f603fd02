package taskstest

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"filmroom/tasks"
)

// Epoch is the moment at which tests begin.
var Epoch = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

// After is the moment d after [Epoch].
func After(d time.Duration) time.Time { return Epoch.Add(d) }

var ids atomic.Int64

// ID returns a new id that looks like a ULID. Ids rise in the order in which they are made.
func ID() string { return fmt.Sprintf("01KDYG%020d", ids.Add(1)) }

// Task returns the part of a new record that its submitter sets, changed by edits.
func Task(edits ...func(*tasks.Task)) tasks.Task {
	t := tasks.Task{
		ID:          ID(),
		UserID:      "01KDYGUSERADA0000000000000",
		UserEmail:   "ada@example.org",
		Kind:        "import",
		Name:        "Import of 3 files",
		Lane:        "import",
		Args:        json.RawMessage(`{"files":3}`),
		MaxAttempts: 3,
	}
	for _, edit := range edits {
		edit(&t)
	}
	return t
}

// Queued returns a record that was submitted at [Epoch].
func Queued(edits ...func(*tasks.Task)) tasks.Task {
	return tasks.Submitted(Task(edits...), Epoch)
}

// Token is the lease token of the tasks that [Running] and [InStatus] make.
const Token = "01KDYGTOKEN000000000000000"

// Lease returns a lease of owner "boot-1" under token that expires a minute after now.
func Lease(token string, now time.Time) tasks.Lease {
	return tasks.Lease{Owner: "boot-1", Token: token, ExpiresAt: now.Add(time.Minute)}
}

// Running returns a record that was submitted and claimed at [Epoch] under [Token].
func Running(edits ...func(*tasks.Task)) tasks.Task {
	return Moved(Queued(edits...), tasks.Claimed(Lease(Token, Epoch), Epoch))
}

// Moved returns t after the moves, which it must allow.
func Moved(t tasks.Task, moves ...tasks.Move) tasks.Task {
	for _, m := range moves {
		next, err := tasks.Apply(t, m)
		if err != nil {
			panic(fmt.Sprintf("taskstest: a task that is %s refused a move: %v", t.Status, err))
		}
		t = next
	}
	return t
}

// InStatus returns a record that came to a status by legal moves, all of them made at [Epoch].
func InStatus(s tasks.Status, edits ...func(*tasks.Task)) tasks.Task {
	switch s {
	case tasks.StatusQueued:
		return Queued(edits...)
	case tasks.StatusPaused:
		return Moved(Queued(edits...), tasks.PausedBy("ada@example.org", Epoch))
	case tasks.StatusProcessing:
		return Running(edits...)
	case tasks.StatusFinished:
		return Moved(Running(edits...), tasks.Finished(Token, tasks.Outcome{Result: json.RawMessage(`{"n":1}`)}, Epoch))
	case tasks.StatusError:
		return Moved(Running(edits...), tasks.Failed(Token, tasks.Failure{Cause: tasks.CauseError, Message: "no"}, Epoch))
	case tasks.StatusCanceled:
		return Moved(Queued(edits...), tasks.CancelRequested("ada@example.org", Epoch))
	case tasks.StatusInterrupted:
		return Moved(Running(edits...), tasks.Rescued(tasks.Abandoned{DeadOwner: true}, Epoch))
	}
	panic("taskstest: no such status: " + string(s))
}

// In edits a task's lane.
func In(lane string) func(*tasks.Task) { return func(t *tasks.Task) { t.Lane = lane } }

// Of edits a task's owner.
func Of(userID string) func(*tasks.Task) {
	return func(t *tasks.Task) { t.UserID, t.UserEmail = userID, userID+"@example.org" }
}

// Kind edits a task's kind and gives it a lane of the same name.
func Kind(kind string) func(*tasks.Task) { return func(t *tasks.Task) { t.Kind, t.Lane = kind, kind } }

// Named edits a task's name.
func Named(name string) func(*tasks.Task) { return func(t *tasks.Task) { t.Name = name } }

// A Clock is a time that stands still until it is moved. It may be used from many goroutines.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows [Epoch].
func NewClock() *Clock { return &Clock{now: Epoch} }

// Now returns the time the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
