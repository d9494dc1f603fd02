package tasks

import (
	"encoding/json"
	"fmt"
	"time"
)

// An Event names a move in the journal.
type Event string

const (
	EventQueued          Event = "queued"
	EventRegistered      Event = "registered"
	EventClaimed         Event = "claimed"
	EventPhase           Event = "phase"
	EventCheckpoint      Event = "checkpoint"
	EventRetryScheduled  Event = "retry-scheduled"
	EventHandedBack      Event = "handed-back"
	EventRescued         Event = "rescued"
	EventCancelRequested Event = "cancel-requested"
	EventCanceled        Event = "canceled"
	EventFinished        Event = "finished"
	EventFailed          Event = "failed"
	EventInterrupted     Event = "interrupted"
	EventPaused          Event = "paused"
	EventResumed         Event = "resumed"
	EventReprioritised   Event = "reprioritised"
	EventRetried         Event = "retried"
	EventDismissed       Event = "dismissed"
	EventRestored        Event = "restored" // no longer dismissed
	EventFolded          Event = "folded"   // stands for older rows beyond JournalLimit
)

// A Move changes a task in memory or refuses to, leaving a reason. It is pure: it may be tried on a
// copy, thrown away and tried again on a newer one. Stores run it through [Apply] and make the outcome one
// conditional write; no other code in the program names a new status.
type Move func(t *Task) error

// Apply runs m on a copy of t and returns the copy with its revision counted on. On an error it returns t
// as it was.
func Apply(t Task, m Move) (Task, error) {
	next := t.Clone()
	if err := m(&next); err != nil {
		return t, err
	}
	next.Rev++
	return next, nil
}

// Submitted completes a new record that waits in its lane. The spec's id, owner, kind, name, lane,
// arguments, keys, maxAttempts and downloadable are the caller's; the rest is set here.
func Submitted(spec Task, now time.Time) Task {
	t := blank(spec, now)
	t.Status = StatusQueued
	t.note(now, Entry{Event: EventQueued, By: t.UserEmail})
	return t
}

// Registered completes a new record whose work runs in the caller, from its first moment on under lease.
func Registered(spec Task, lease Lease, now time.Time) Task {
	t := blank(spec, now)
	t.MaxAttempts = 1
	t.run(lease, now)
	t.note(now, Entry{Event: EventRegistered, By: t.UserEmail})
	return t
}

// Claimed starts an attempt of a waiting task whose time has come.
func Claimed(lease Lease, now time.Time) Move {
	return func(t *Task) error {
		if t.Status != StatusQueued || now.Before(t.AvailableAt) {
			return &ConflictError{EventClaimed, t.Status}
		}
		t.run(lease, now)
		t.note(now, Entry{Event: EventClaimed})
		return nil
	}
}

// PhaseEntered records that the attempt has come to its next phase.
func PhaseEntered(token, phase string, now time.Time) Move {
	return held(token, now, func(t *Task) error {
		if t.Phase == phase {
			return ErrUnchanged
		}
		t.Phase = phase
		t.note(now, Entry{Event: EventPhase, Note: phase})
		return nil
	})
}

// Checkpointed keeps data for the next attempt. It leaves no journal row: it may happen often.
func Checkpointed(token string, data []byte, now time.Time) Move {
	return held(token, now, func(t *Task) error {
		t.Checkpoint = data
		t.UpdatedAt = Millis(now)
		return nil
	})
}

// FileAttached names the download that a task will leave, before its end. Nobody gets it until then.
func FileAttached(token, mime string, f *File, now time.Time) Move {
	return held(token, now, func(t *Task) error {
		t.Downloadable, t.File = mime, f
		t.UpdatedAt = Millis(now)
		return nil
	})
}

// RetryScheduled ends an attempt that failed and lets the next one begin at at.
func RetryScheduled(token string, f Failure, at, now time.Time) Move {
	return ending(token, now, func(t *Task) error {
		t.fail(f, now)
		t.wait(at)
		t.note(now, Entry{Event: EventRetryScheduled, Note: f.Message})
		return nil
	})
}

// HandedBack returns a running task to its lane, as at shutdown. It costs no attempt.
func HandedBack(token string, now time.Time) Move {
	return ending(token, now, func(t *Task) error {
		t.note(now, Entry{Event: EventHandedBack})
		t.wait(now)
		t.Attempt--
		return nil
	})
}

// Finished ends an attempt that succeeded.
func Finished(token string, done Outcome, now time.Time) Move {
	return ending(token, now, func(t *Task) error {
		t.Result, t.File, t.Progress = done.Result, done.File, done.Progress
		t.end(StatusFinished, now)
		t.note(now, Entry{Event: EventFinished, Note: done.Progress.Message})
		return nil
	})
}

// EndedWith makes an ending move that also names the task to follow, if the move ends the task for good.
func EndedWith(next *Successor, m Move) Move {
	return func(t *Task) error {
		ended := t.Status.Final()
		if err := m(t); err != nil {
			return err
		}
		if !ended && t.Status.Final() {
			t.Next = next
		}
		return nil
	}
}

// Followed records that the successor is stored.
func Followed(id string) Move {
	return func(t *Task) error {
		if t.Next == nil || t.Next.ID != id {
			return ErrUnchanged
		}
		t.Next = nil
		return nil
	}
}

// An Outcome is what a successful attempt leaves.
type Outcome struct {
	Result   json.RawMessage // JSON for programs, nil for none
	File     *File           // the download, nil for none
	Progress Progress        // as it was at the end; Message says what came of it
}

// Failed ends an attempt, and the task with it: there is no attempt left, or trying again is useless.
func Failed(token string, f Failure, now time.Time) Move {
	return ending(token, now, func(t *Task) error {
		t.fail(f, now)
		t.Error = f.Message
		t.end(StatusError, now)
		t.note(now, Entry{Event: EventFailed, Note: f.Message})
		return nil
	})
}

// Canceled ends an attempt that stopped because a person asked it to.
func Canceled(token string, now time.Time) Move {
	return held(token, now, func(t *Task) error {
		if t.CancelRequestedAt.IsZero() {
			return &ConflictError{EventCanceled, t.Status}
		}
		t.cancel(now, "")
		return nil
	})
}

// Abandoned says on whose word a running task counts as run by nobody.
type Abandoned struct {
	// DeadOwner is true when the caller can prove that the lease's owner is dead (it holds the lock of
	// the data directory); else only an expired lease is proof.
	DeadOwner bool
	// Rerunnable says whether the task's kind may be run again after a crash.
	Rerunnable bool
}

// Rescued takes a running task from an attempt that nobody runs any more: back into its lane while
// attempts are left, to canceled when that was asked for, else to interrupted. The attempt counts.
func Rescued(a Abandoned, now time.Time) Move {
	return func(t *Task) error {
		if t.Status != StatusProcessing || (t.Leased(now) && !a.DeadOwner) {
			return &ConflictError{EventRescued, t.Status}
		}
		if !t.CancelRequestedAt.IsZero() {
			t.cancel(now, "")
			return nil
		}
		f := Failure{Cause: CauseLost, Message: "The program stopped while this was running" + t.reached() + "."}
		t.fail(f, now)
		if !a.Rerunnable || t.Attempt >= t.MaxAttempts {
			t.interrupt(f.Message, now)
			return nil
		}
		t.wait(now)
		t.note(now, Entry{Event: EventRescued, Note: f.Message})
		return nil
	}
}

// CancelRequested stops a waiting task at once and asks a running one to stop.
func CancelRequested(by string, now time.Time) Move {
	return func(t *Task) error {
		switch {
		case t.Status == StatusQueued || t.Status == StatusPaused:
			t.CancelRequestedAt = Millis(now)
			t.cancel(now, by)
		case t.Status == StatusProcessing && t.CancelRequestedAt.IsZero():
			t.CancelRequestedAt = Millis(now)
			t.note(now, Entry{Event: EventCancelRequested, By: by})
		case t.Status == StatusProcessing:
			return ErrUnchanged
		default:
			return &ConflictError{EventCanceled, t.Status}
		}
		return nil
	}
}

// Recalled makes a task due that was submitted to run at once, at a moment which is still to come because
// the clock was set back. A time that its submitter chose stands.
func Recalled(now time.Time) Move {
	return func(t *Task) error {
		switch {
		case t.Status != StatusQueued:
			return &ConflictError{EventQueued, t.Status}
		case !t.AvailableAt.After(now), t.AvailableAt.After(t.CreatedAt) && t.Attempt == 0:
			return ErrUnchanged
		}
		t.AvailableAt = Millis(now)
		t.note(now, Entry{Event: EventQueued, Note: "the clock was set back"})
		return nil
	}
}

// PausedBy holds a waiting task back until [ResumedBy].
func PausedBy(by string, now time.Time) Move {
	return from(EventPaused, StatusQueued, func(t *Task) {
		t.Status = StatusPaused
		t.note(now, Entry{Event: EventPaused, By: by})
	})
}

// ResumedBy lets a task that was held back wait in its lane again.
func ResumedBy(by string, now time.Time) Move {
	return from(EventResumed, StatusPaused, func(t *Task) {
		t.Status = StatusQueued
		t.note(now, Entry{Event: EventResumed, By: by})
	})
}

// Reprioritised changes the order in which a task that has not started will run; lower runs first.
func Reprioritised(by string, priority int, now time.Time) Move {
	return func(t *Task) error {
		if t.Status != StatusQueued && t.Status != StatusPaused {
			return &ConflictError{EventReprioritised, t.Status}
		}
		if t.Priority == priority {
			return ErrUnchanged
		}
		note := fmt.Sprintf("from %d to %d", t.Priority, priority)
		t.Priority = priority
		t.note(now, Entry{Event: EventReprioritised, By: by, Note: note})
		return nil
	}
}

// RetriedByPerson is the one door out of a final status: it clears how the task ended and allows more
// further attempts. Attempts count on, so tokens and results of earlier ones stay apart.
func RetriedByPerson(by string, more int, now time.Time) Move {
	return func(t *Task) error {
		if !t.Status.Retryable() {
			return &ConflictError{EventRetried, t.Status}
		}
		t.EndedAt, t.CancelRequestedAt = time.Time{}, time.Time{}
		t.Error, t.Result, t.File, t.Dismissed = "", nil, nil, false
		t.Phase, t.Progress = "", Progress{}
		t.MaxAttempts = t.Attempt + more
		if t.FreedKey != "" {
			t.DedupeKey, t.FreedKey = t.FreedKey, ""
		}
		t.wait(now)
		t.note(now, Entry{Event: EventRetried, By: by})
		return nil
	}
}

// DismissedBy puts a final task out of its owner's sight, or back into it.
func DismissedBy(by string, dismissed bool, now time.Time) Move {
	event := EventDismissed
	if !dismissed {
		event = EventRestored
	}
	return func(t *Task) error {
		if !t.Status.Final() {
			return &ConflictError{event, t.Status}
		}
		if t.Dismissed == dismissed {
			return ErrUnchanged
		}
		t.Dismissed = dismissed
		t.note(now, Entry{Event: event, By: by})
		return nil
	}
}

// Renewed extends a valid lease and takes the attempt's progress into the record. It is no row of the
// journal and leaves UpdatedAt.
func Renewed(token string, p Progress, until, now time.Time) Move {
	return held(token, now, func(t *Task) error {
		t.Lease.ExpiresAt = Millis(until)
		t.HeartbeatAt = Millis(now)
		t.Progress = p
		return nil
	})
}

// held guards a move that only the holder of a valid lease may make.
func held(token string, now time.Time, m Move) Move {
	return func(t *Task) error {
		if !t.Leased(now) || t.Lease.Token != token {
			return ErrLeaseLost
		}
		return m(t)
	}
}

// ending guards a move that ends an attempt: a cancel that was asked for beats it.
func ending(token string, now time.Time, m Move) Move {
	return held(token, now, func(t *Task) error {
		if !t.CancelRequestedAt.IsZero() {
			t.cancel(now, "")
			return nil
		}
		return m(t)
	})
}

// from guards a move that leaves one status.
func from(event Event, s Status, m func(*Task)) Move {
	return func(t *Task) error {
		if t.Status != s {
			return &ConflictError{event, t.Status}
		}
		m(t)
		return nil
	}
}
