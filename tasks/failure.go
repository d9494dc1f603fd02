package tasks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Why a runner's context ended; see [context.Cause].
var (
	ErrCanceled = errors.New("a person asked this task to stop")
	ErrShutdown = errors.New("the desk is shutting down")
	ErrTimeout  = errors.New("the attempt took longer than its kind allows")
)

// Permanent marks an error that another attempt would meet again: the task fails at once.
func Permanent(err error) error { return &permanentError{err} }

// After marks an error after which the next attempt should wait for d, whatever the kind's backoff.
func After(d time.Duration, err error) error { return &delayedError{err, d} }

// UserError makes an error whose message is written for the task's owner: what happened and what to do. The
// cause, which may be nil, is only logged. Every other error reaches the owner as a general sentence,
// because its text might tell of paths, servers or patients.
func UserError(message string, cause error) error { return &userError{message, cause} }

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

type delayedError struct {
	error
	delay time.Duration
}

func (e *delayedError) Unwrap() error { return e.error }

type userError struct {
	message string
	cause   error
}

func (e *userError) Error() string {
	if e.cause == nil {
		return e.message
	}
	return e.message + ": " + e.cause.Error()
}

func (e *userError) Unwrap() error { return e.cause }

type argumentsError struct{ error }

func (e *argumentsError) Unwrap() error { return e.error }

type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

func decode[A any](raw json.RawMessage) (args A, err error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&args); err != nil {
		return args, fmt.Errorf("decode arguments: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return args, errors.New("decode arguments: more than one value")
	}
	return args, nil
}

// A verdict is what follows from the way an attempt ended.
type verdict struct {
	event   Event         // finished, retry-scheduled, failed, canceled, handed-back, interrupted; "" when the lease is lost
	failure Failure       // for retry-scheduled and failed
	delay   time.Duration // for retry-scheduled
}

// classify is the one place that judges how an attempt ended: err is what the runner returned (or a
// *panicError), cause why its context ended, nil if it did not.
func classify(err, cause error, t Task, k *Kind) verdict {
	switch {
	case errors.Is(cause, ErrLeaseLost):
		return verdict{}
	case err == nil:
		return verdict{event: EventFinished}
	case errors.Is(cause, ErrCanceled):
		return verdict{event: EventCanceled}
	case errors.Is(cause, ErrShutdown) && k.Rerunnable:
		return verdict{event: EventHandedBack}
	case errors.Is(cause, ErrShutdown):
		return verdict{event: EventInterrupted}
	}
	f, retry := failed(err, cause, t, k)
	if !retry || t.Attempt >= t.MaxAttempts {
		return verdict{event: EventFailed, failure: f}
	}
	delay := k.Retry.Delay(t.Attempt)
	if chosen, ok := errors.AsType[*delayedError](err); ok {
		delay = chosen.delay
	}
	return verdict{event: EventRetryScheduled, failure: f, delay: delay}
}

// failed words a failure for the task's owner and says whether another attempt could help.
func failed(err, cause error, t Task, k *Kind) (f Failure, retry bool) {
	f = Failure{Cause: CauseError, Message: forOwner(err)}
	if _, ok := errors.AsType[*panicError](err); ok {
		f.Cause = CausePanic
		return f, true
	}
	if errors.Is(cause, ErrTimeout) {
		f.Cause, f.Message = CauseTimeout, fmt.Sprintf("It took longer than the %s it may take.", cmp.Or(t.Timeout, k.Timeout))
		return f, true
	}
	if _, ok := errors.AsType[*argumentsError](err); ok {
		f.Cause, f.Message = CauseArguments, "This version of the desk cannot read what the task was asked to do."
		return f, false
	}
	if _, ok := errors.AsType[*permanentError](err); ok {
		f.Cause = CausePermanent
		return f, false
	}
	return f, true
}

func forOwner(err error) string {
	if e, ok := errors.AsType[*userError](err); ok {
		return e.message
	}
	return "Something went wrong on the desk. Its log says more, under this task's id."
}

// call runs a kind's runner and turns a panic into an error.
func call(ctx context.Context, k *Kind, r *Run, stack func() []byte) (done Done, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, stack()}
		}
	}()
	return k.run(ctx, r)
}
