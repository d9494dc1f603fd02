package tasks

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound: no task has this id, or it belongs to somebody else; callers cannot tell which.
	ErrNotFound = errors.New("no such task")
	// ErrConflict: the task's status does not allow the move. [ConflictError] says which status it has.
	ErrConflict = errors.New("the task's status does not allow this")
	// ErrLeaseLost: the lease token is not, or no longer, the right to write this task.
	ErrLeaseLost = errors.New("the lease is lost")
	// ErrDuplicate: a task of this user holds the same idempotency or dedupe key. [Store.Insert]
	// returns that task beside it; to [Store.Update] it is a refusal of the move.
	ErrDuplicate = errors.New("a task with this key exists")
	// ErrEqualActive: the task was submitted with dedupe, and another that asks for the same has not ended.
	ErrEqualActive = errors.New("an equal task has not ended")
	// ErrUnchanged: the task already is what the move would make it; nothing was written.
	ErrUnchanged = errors.New("nothing to change")
	// ErrInputGone: the task's input is no longer kept, so it cannot be run again.
	ErrInputGone = errors.New("the task's input is no longer there")
	// ErrCursor: a list was asked to go on from a cursor that is none, or belongs to another sort.
	ErrCursor = errors.New("the cursor does not belong to this list")
)

// A ConflictError is an [ErrConflict] that names the move and the status that refused it.
type ConflictError struct {
	Event  Event
	Status Status
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("a task that is %s cannot be %s", e.Status, e.Event)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }
