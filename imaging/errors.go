package imaging

import (
	"errors"
	"strings"

	"filmroom/tasks"
)

var (
	// ErrUploadUnderWay: another transfer of the same person holds this idempotency key.
	ErrUploadUnderWay = errors.New("a transfer with this idempotency key is under way")
	// ErrKeyReused: the idempotency key belongs to a task with other content.
	ErrKeyReused = errors.New("this idempotency key was used for something else")
	// ErrTooLarge: more bytes or files in one transfer than Limits allow.
	ErrTooLarge = errors.New("the transfer is larger than this desk takes")
	// ErrNoFiles: a transfer without a single file.
	ErrNoFiles = errors.New("no file was sent")
	// ErrNoRoom: the disk has no more than Limits.MinFree left.
	ErrNoRoom = errors.New("there is no room left on the desk's disk")
	// ErrNoPreview: there is no picture of this series; errors that wrap it say why, for people.
	ErrNoPreview = errors.New("no preview")
)

// A FieldError says what is wrong with one field of a request.
type FieldError struct {
	Field  string
	Reason string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// FieldErrors are all that is wrong with a request, found together.
type FieldErrors []*FieldError

func (e FieldErrors) Error() string {
	texts := make([]string, len(e))
	for i, f := range e {
		texts[i] = f.Error()
	}
	return strings.Join(texts, "; ")
}

// add notes one more mistake.
func (e *FieldErrors) add(field, reason string) {
	*e = append(*e, &FieldError{field, reason})
}

// orNil is e as an error, nil when nothing is wrong.
func (e FieldErrors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// forOwner words the desk's own troubles that a task's owner can do something about. A full disk fails the
// task at once: trying again by itself would only fill the disk again.
func forOwner(err error) error {
	if !errors.Is(full(err), ErrNoRoom) {
		return err
	}
	return tasks.Permanent(tasks.UserError("There is no room left on the desk's disk. What was done so far is kept. Make room, then retry.", err))
}
