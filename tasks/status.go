package tasks

import "slices"

// Status says where a task stands in its life. Final statuses are final, with one door: a person's
// retry (see [RetriedByPerson]).
type Status string

const (
	StatusQueued      Status = "queued"      // waiting: for its time, a slot of its lane, or its lock
	StatusPaused      Status = "paused"      // a person holds it back
	StatusProcessing  Status = "processing"  // an attempt is running under a lease
	StatusFinished    Status = "finished"    // it succeeded; a downloadable task has its file
	StatusError       Status = "error"       // it failed for good; Task.Error says why, for its owner
	StatusCanceled    Status = "canceled"    // a person stopped it; nothing it still does can have an effect
	StatusInterrupted Status = "interrupted" // it was processing, nobody runs it, and it cannot be run again
)

// Statuses lists every status in the order of a task's life, the order in which people see them.
var Statuses = []Status{StatusQueued, StatusPaused, StatusProcessing, StatusFinished, StatusError, StatusCanceled, StatusInterrupted}

// Valid reports whether s is one of [Statuses].
func (s Status) Valid() bool { return slices.Contains(Statuses, s) }

// Final reports whether no runner will touch a task with this status again.
func (s Status) Final() bool {
	return s == StatusFinished || s == StatusError || s == StatusCanceled || s == StatusInterrupted
}

// Retryable reports whether a person's retry may leave this status.
func (s Status) Retryable() bool {
	return s == StatusError || s == StatusCanceled || s == StatusInterrupted
}
