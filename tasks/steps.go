package tasks

import (
	"fmt"
	"slices"
	"time"
)

// The steps here are what the moves in transition.go have in common.

// blank is a task as it is made.
func blank(spec Task, now time.Time) Task {
	t := spec.Clone()
	t.CreatedAt = Millis(now)
	t.AvailableAt = Millis(later(spec.AvailableAt, now))
	if t.Priority == 0 {
		t.Priority = DefaultPriority
	}
	if t.PartitionKey == "" {
		t.PartitionKey = t.UserID
	}
	if t.IdempotencyKey == "" {
		t.IdempotencyKey = t.ID
	}
	if t.DedupeKey == "" {
		t.DedupeKey = t.ID
	}
	t.Rev = 1
	return t
}

func (t *Task) run(lease Lease, now time.Time) {
	lease.ExpiresAt = Millis(lease.ExpiresAt)
	t.Status, t.Lease = StatusProcessing, &lease
	t.Attempt++
	t.Phase, t.Progress = "", Progress{}
	t.StartedAt, t.HeartbeatAt = Millis(now), Millis(now)
}

func (t *Task) wait(at time.Time) {
	t.Status, t.Lease, t.HeartbeatAt = StatusQueued, nil, time.Time{}
	t.AvailableAt = Millis(at)
}

func (t *Task) end(s Status, now time.Time) {
	t.Status, t.Lease, t.HeartbeatAt = s, nil, time.Time{}
	t.EndedAt = Millis(now)
	if t.DedupeKey != t.ID {
		t.FreedKey, t.DedupeKey = t.DedupeKey, t.ID
	}
	t.Checkpoint = nil
}

func (t *Task) cancel(now time.Time, by string) {
	t.Error = "Canceled" + t.reached() + "."
	t.end(StatusCanceled, now)
	t.note(now, Entry{Event: EventCanceled, By: by})
}

func (t *Task) interrupt(why string, now time.Time) {
	t.Error = why
	t.end(StatusInterrupted, now)
	t.note(now, Entry{Event: EventInterrupted, Note: why})
}

func (t *Task) fail(f Failure, now time.Time) {
	f.Attempt, f.At = t.Attempt, Millis(now)
	t.Failures = append(t.Failures, f)
	if extra := len(t.Failures) - JournalLimit; extra > 0 {
		t.Failures = slices.Delete(t.Failures, 0, extra)
	}
}

// reached words the stored progress, so that an end can say " at 12/150 Importing".
func (t *Task) reached() string {
	switch p := t.Progress; {
	case p.Max > 0:
		return fmt.Sprintf(" at %d/%d %s", p.Value, p.Max, p.Message)
	case p.Message != "":
		return " at " + p.Message
	default:
		return ""
	}
}

// note adds a journal row in the same breath as the move it tells of, and folds the oldest rows into one
// when there are too many, so that a record stays bounded however long a task lives.
func (t *Task) note(now time.Time, e Entry) {
	e.At, e.Attempt = Millis(now), t.Attempt
	t.UpdatedAt = e.At
	t.Journal = append(t.Journal, e)
	if len(t.Journal) <= JournalLimit {
		return
	}
	oldest := t.Journal[0]
	folded := Entry{At: oldest.At, Event: EventFolded, Folded: max(oldest.Folded, 1) + 1}
	t.Journal = append([]Entry{folded}, t.Journal[2:]...)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
