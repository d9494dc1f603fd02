package tasks_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

var (
	now   = taskstest.After(time.Hour)
	lease = tasks.Lease{Owner: "boot", Token: "token", ExpiresAt: now.Add(time.Minute)}
)

// standing makes a task in each status; a processing one runs under lease.
func standing(s tasks.Status) tasks.Task {
	if s == tasks.StatusProcessing {
		return taskstest.Moved(taskstest.Queued(), tasks.Claimed(lease, now))
	}
	return taskstest.InStatus(s)
}

// leads says for a move where it takes each status; a status that is missing is refused with refusal.
type leads struct {
	name    string
	move    tasks.Move
	to      map[tasks.Status]tasks.Status
	refusal error
}

func allMoves() []leads {
	failure := tasks.Failure{Cause: tasks.CauseError, Message: "no"}
	running := func(to tasks.Status) map[tasks.Status]tasks.Status {
		return map[tasks.Status]tasks.Status{tasks.StatusProcessing: to}
	}
	waiting := func(queued, paused tasks.Status) map[tasks.Status]tasks.Status {
		return map[tasks.Status]tasks.Status{tasks.StatusQueued: queued, tasks.StatusPaused: paused}
	}
	final := map[tasks.Status]tasks.Status{}
	retryable := map[tasks.Status]tasks.Status{}
	for _, s := range tasks.Statuses {
		if s.Final() {
			final[s] = s
		}
		if s.Retryable() {
			retryable[s] = tasks.StatusQueued
		}
	}
	cancels := waiting(tasks.StatusCanceled, tasks.StatusCanceled)
	cancels[tasks.StatusProcessing] = tasks.StatusProcessing
	return []leads{
		{"claimed", tasks.Claimed(lease, now), map[tasks.Status]tasks.Status{tasks.StatusQueued: tasks.StatusProcessing}, tasks.ErrConflict},
		{"phase", tasks.PhaseEntered("token", "storing", now), running(tasks.StatusProcessing), tasks.ErrLeaseLost},
		{"checkpoint", tasks.Checkpointed("token", []byte("x"), now), running(tasks.StatusProcessing), tasks.ErrLeaseLost},
		{"renewed", tasks.Renewed("token", tasks.Progress{Value: 1}, now.Add(time.Hour), now), running(tasks.StatusProcessing), tasks.ErrLeaseLost},
		{"retry scheduled", tasks.RetryScheduled("token", failure, now, now), running(tasks.StatusQueued), tasks.ErrLeaseLost},
		{"handed back", tasks.HandedBack("token", now), running(tasks.StatusQueued), tasks.ErrLeaseLost},
		{"finished", tasks.Finished("token", tasks.Outcome{}, now), running(tasks.StatusFinished), tasks.ErrLeaseLost},
		{"failed", tasks.Failed("token", failure, now), running(tasks.StatusError), tasks.ErrLeaseLost},
		{"canceled without a request", tasks.Canceled("token", now), nil, nil},
		{"rescued while the lease is valid", tasks.Rescued(tasks.Abandoned{Rerunnable: true}, now), nil, tasks.ErrConflict},
		{"rescued, to run again", tasks.Rescued(tasks.Abandoned{Rerunnable: true}, now.Add(time.Hour)), running(tasks.StatusQueued), tasks.ErrConflict},
		{"rescued, not to run again", tasks.Rescued(tasks.Abandoned{}, now.Add(time.Hour)), running(tasks.StatusInterrupted), tasks.ErrConflict},
		{"rescued from a dead owner", tasks.Rescued(tasks.Abandoned{DeadOwner: true, Rerunnable: true}, now), running(tasks.StatusQueued), tasks.ErrConflict},
		{"cancel requested", tasks.CancelRequested("ada@example.org", now), cancels, tasks.ErrConflict},
		{"paused", tasks.PausedBy("ada", now), map[tasks.Status]tasks.Status{tasks.StatusQueued: tasks.StatusPaused}, tasks.ErrConflict},
		{"resumed", tasks.ResumedBy("ada", now), map[tasks.Status]tasks.Status{tasks.StatusPaused: tasks.StatusQueued}, tasks.ErrConflict},
		{"reprioritised", tasks.Reprioritised("ada", 7, now), waiting(tasks.StatusQueued, tasks.StatusPaused), tasks.ErrConflict},
		{"retried by a person", tasks.RetriedByPerson("ada", 3, now), retryable, tasks.ErrConflict},
		{"dismissed", tasks.DismissedBy("ada", true, now), final, tasks.ErrConflict},
	}
}

func TestEveryMoveFromEveryStatus(t *testing.T) {
	t.Parallel()
	for _, m := range allMoves() {
		for _, from := range tasks.Statuses {
			t.Run(fmt.Sprintf("%s from %s", m.name, from), func(t *testing.T) {
				t.Parallel()
				before := standing(from)
				copied := before.Clone()
				after, err := tasks.Apply(before, m.move)
				if diff := cmp.Diff(copied, before); diff != "" {
					t.Fatalf("the move wrote to the record it was given:\n%s", diff)
				}
				want, allowed := m.to[from]
				if !allowed {
					if err == nil || m.refusal != nil && !errors.Is(err, m.refusal) {
						t.Fatalf("error %v, want a refusal with %v", err, m.refusal)
					}
					if diff := cmp.Diff(before, after); diff != "" {
						t.Fatalf("a refused move changed the task:\n%s", diff)
					}
					return
				}
				if err != nil || after.Status != want {
					t.Fatalf("status %s, error %v, want %s", after.Status, err, want)
				}
				holds(t, before, after)
			})
		}
	}
}

// holds checks what is true of every record after every move.
func holds(t *testing.T, before, after tasks.Task) {
	t.Helper()
	if after.Rev != before.Rev+1 {
		t.Errorf("revision %d follows %d", after.Rev, before.Rev)
	}
	if (after.Lease != nil) != (after.Status == tasks.StatusProcessing) {
		t.Errorf("a task that is %s has lease %v", after.Status, after.Lease)
	}
	if after.EndedAt.IsZero() == after.Status.Final() {
		t.Errorf("a task that is %s ended at %v", after.Status, after.EndedAt)
	}
	if after.Status.Final() && after.DedupeKey != after.ID {
		t.Error("a final task still holds its dedupe key")
	}
	if len(after.Journal) == 0 || after.Journal[len(after.Journal)-1].At.IsZero() {
		t.Error("the journal has no row, or one without a time")
	}
}

func TestEndsAreRefusedUnderAForeignOrExpiredLease(t *testing.T) {
	t.Parallel()
	running := standing(tasks.StatusProcessing)
	late := now.Add(time.Minute)
	for name, m := range map[string]tasks.Move{
		"finish with another token": tasks.Finished("other", tasks.Outcome{}, now),
		"finish after expiry":       tasks.Finished("token", tasks.Outcome{}, late),
		"fail after expiry":         tasks.Failed("token", tasks.Failure{}, late),
		"renew after expiry":        tasks.Renewed("token", tasks.Progress{}, late.Add(time.Hour), late),
		"phase after expiry":        tasks.PhaseEntered("token", "x", late),
		"hand back after expiry":    tasks.HandedBack("token", late),
	} {
		if _, err := tasks.Apply(running, m); !errors.Is(err, tasks.ErrLeaseLost) {
			t.Errorf("%s: error %v, want ErrLeaseLost", name, err)
		}
	}
}

func TestACancelBeatsWhateverTheAttemptDoesLater(t *testing.T) {
	t.Parallel()
	asked := taskstest.Moved(standing(tasks.StatusProcessing), tasks.CancelRequested("ada@example.org", now))
	for name, m := range map[string]tasks.Move{
		"finish":     tasks.Finished("token", tasks.Outcome{File: &tasks.File{Name: "late.zip"}}, now),
		"fail":       tasks.Failed("token", tasks.Failure{Message: "no"}, now),
		"retry":      tasks.RetryScheduled("token", tasks.Failure{}, now, now),
		"hand back":  tasks.HandedBack("token", now),
		"rescue":     tasks.Rescued(tasks.Abandoned{Rerunnable: true}, now.Add(time.Hour)),
		"its answer": tasks.Canceled("token", now),
	} {
		after, err := tasks.Apply(asked, m)
		if err != nil || after.Status != tasks.StatusCanceled || after.File != nil {
			t.Errorf("%s: status %s, file %v, error %v, want canceled without a file", name, after.Status, after.File, err)
		}
	}
}

func TestARescueCountsTheAttemptUntilNoneIsLeft(t *testing.T) {
	t.Parallel()
	task := taskstest.Queued(func(t *tasks.Task) { t.MaxAttempts = 2 })
	at := now
	for attempt := 1; attempt <= 2; attempt++ {
		task = taskstest.Moved(task, tasks.Claimed(tasks.Lease{Token: "t", ExpiresAt: at.Add(time.Minute)}, at))
		task = taskstest.Moved(task, tasks.Renewed("t", tasks.Progress{Message: "Importing", Value: 12, Max: 150}, at.Add(time.Minute), at))
		at = at.Add(2 * time.Minute)
		task = taskstest.Moved(task, tasks.Rescued(tasks.Abandoned{Rerunnable: true}, at))
	}
	if task.Status != tasks.StatusInterrupted || task.Attempt != 2 || len(task.Failures) != 2 {
		t.Fatalf("status %s after attempt %d with %d failures, want interrupted after 2 with 2", task.Status, task.Attempt, len(task.Failures))
	}
	if want := "The program stopped while this was running at 12/150 Importing."; task.Error != want {
		t.Errorf("it says %q, want %q", task.Error, want)
	}
}

func TestAHandBackCostsNoAttempt(t *testing.T) {
	t.Parallel()
	task := taskstest.Moved(standing(tasks.StatusProcessing), tasks.HandedBack("token", now))
	if task.Attempt != 0 {
		t.Errorf("attempt %d, want 0: as before the claim", task.Attempt)
	}
}

func TestAPersonsRetryClearsTheEndAndCountsOn(t *testing.T) {
	t.Parallel()
	ended := taskstest.InStatus(tasks.StatusError)
	ended.Dismissed, ended.CancelRequestedAt = true, now
	after := taskstest.Moved(ended, tasks.RetriedByPerson("ada", 3, now))
	if after.Attempt != ended.Attempt || after.MaxAttempts != ended.Attempt+3 {
		t.Errorf("attempt %d of %d, want %d of %d", after.Attempt, after.MaxAttempts, ended.Attempt, ended.Attempt+3)
	}
	if after.Error != "" || after.Dismissed || !after.EndedAt.IsZero() || !after.CancelRequestedAt.IsZero() {
		t.Errorf("how it ended is still there: %+v", after)
	}
}

func TestAJournalStaysBoundedAndKeepsItsCount(t *testing.T) {
	t.Parallel()
	task := standing(tasks.StatusProcessing)
	rows := len(task.Journal)
	for i := range 1000 {
		task = taskstest.Moved(task, tasks.PhaseEntered("token", fmt.Sprint(i), now))
	}
	if len(task.Journal) != tasks.JournalLimit {
		t.Fatalf("%d rows, want %d", len(task.Journal), tasks.JournalLimit)
	}
	first, last := task.Journal[0], task.Journal[tasks.JournalLimit-1]
	if first.Event != tasks.EventFolded || first.Folded+tasks.JournalLimit-1 != rows+1000 || last.Note != "999" {
		t.Errorf("first row stands for %d, last says %q; %d rows in all were written", first.Folded, last.Note, rows+1000)
	}
}

// Only the move that ends a task may name what follows: a later one would drop what still waits to be submitted,
// or have it submitted twice.
func TestWhatFollowsIsNamedByTheEndAlone(t *testing.T) {
	t.Parallel()
	first, second := &tasks.Successor{ID: "first"}, &tasks.Successor{ID: "second"}
	ended := taskstest.Moved(standing(tasks.StatusProcessing), tasks.EndedWith(first, tasks.Finished("token", tasks.Outcome{}, now)))
	for name, next := range map[string]*tasks.Successor{"nothing": nil, "another": second} {
		dismissed := taskstest.Moved(ended, tasks.EndedWith(next, tasks.DismissedBy("ada", true, now)))
		if dismissed.Next == nil || dismissed.Next.ID != "first" {
			t.Errorf("a dismissal that names %s leaves %+v to follow, want the first", name, dismissed.Next)
		}
	}
}

func TestAHeartbeatIsShownOfWhatRunsAlone(t *testing.T) {
	t.Parallel()
	running := standing(tasks.StatusProcessing)
	for name, m := range map[string]tasks.Move{"an end": tasks.Finished("token", tasks.Outcome{}, now), "a hand-back": tasks.HandedBack("token", now)} {
		if after := taskstest.Moved(running, m); running.HeartbeatAt.IsZero() || !after.HeartbeatAt.IsZero() {
			t.Errorf("after %s the heartbeat is at %v", name, after.HeartbeatAt)
		}
	}
}
