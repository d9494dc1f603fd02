package tasks

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestHowAnAttemptEndedIsJudged(t *testing.T) {
	t.Parallel()
	plain := errors.New("disk on fire at /secret/path")
	first, last := Task{Attempt: 1, MaxAttempts: 3}, Task{Attempt: 3, MaxAttempts: 3}
	rerun := &Kind{Rerunnable: true, Timeout: time.Minute, Retry: Retry{MaxAttempts: 3, Base: time.Second, Cap: time.Minute}}
	once := &Kind{Retry: rerun.Retry}
	const general = "Something went wrong on the desk. Its log says more, under this task's id."
	for _, c := range []struct {
		name       string
		err, cause error
		task       Task
		kind       *Kind
		event      Event
		why        Cause
		message    string
	}{
		{"success", nil, nil, first, rerun, EventFinished, "", ""},
		{"success although a cancel came: the store decides", nil, ErrCanceled, first, rerun, EventFinished, "", ""},
		{"success although time was up", nil, ErrTimeout, first, rerun, EventFinished, "", ""},
		{"error with attempts left", plain, nil, first, rerun, EventRetryScheduled, CauseError, general},
		{"error on the last attempt", plain, nil, last, rerun, EventFailed, CauseError, general},
		{"error worded for its owner", UserError("The ZIP ends in the middle.", plain), nil, last, rerun, EventFailed, CauseError, "The ZIP ends in the middle."},
		{"error that another attempt would meet again", Permanent(UserError("Empty.", nil)), nil, first, rerun, EventFailed, CausePermanent, "Empty."},
		{"wrapped permanent error", fmt.Errorf("import: %w", Permanent(plain)), nil, first, rerun, EventFailed, CausePermanent, general},
		{"panic", &panicError{value: "nil map"}, nil, first, rerun, EventRetryScheduled, CausePanic, general},
		{"timeout", context.DeadlineExceeded, ErrTimeout, first, rerun, EventRetryScheduled, CauseTimeout, "It took longer than the 1m0s it may take."},
		{"timeout on the last attempt", context.DeadlineExceeded, ErrTimeout, last, rerun, EventFailed, CauseTimeout, "It took longer than the 1m0s it may take."},
		{"cancel", context.Canceled, ErrCanceled, first, rerun, EventCanceled, "", ""},
		{"cancel answered with another error", plain, ErrCanceled, last, rerun, EventCanceled, "", ""},
		{"shutdown", context.Canceled, ErrShutdown, last, rerun, EventHandedBack, "", ""},
		{"shutdown of what cannot run again", context.Canceled, ErrShutdown, first, once, EventInterrupted, "", ""},
		{"lost lease", nil, ErrLeaseLost, first, rerun, "", "", ""},
		{"arguments that do not decode", &argumentsError{plain}, nil, first, rerun, EventFailed, CauseArguments, "This version of the desk cannot read what the task was asked to do."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := classify(c.err, c.cause, c.task, c.kind)
			if v.event != c.event || v.failure.Cause != c.why || v.failure.Message != c.message {
				t.Errorf("got %q, %q, %q\nwant %q, %q, %q", v.event, v.failure.Cause, v.failure.Message, c.event, c.why, c.message)
			}
		})
	}
}

func TestADelayThatTheErrorChoosesWins(t *testing.T) {
	t.Parallel()
	k := &Kind{Retry: Retry{MaxAttempts: 3, Base: time.Second, Cap: time.Minute}}
	v := classify(After(7*time.Minute, errors.New("busy")), nil, Task{Attempt: 1, MaxAttempts: 3}, k)
	if v.delay != 7*time.Minute {
		t.Errorf("delay %s, want the 7 minutes asked for", v.delay)
	}
}

func TestDelaysDoubleUpToTheCapLessAtMostHalf(t *testing.T) {
	t.Parallel()
	r := Retry{Base: time.Second, Cap: 10 * time.Second}
	for attempt, whole := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 5: 10 * time.Second, 1 << 40: 10 * time.Second} {
		for range 100 {
			if d := r.Delay(attempt); d < whole/2 || d > whole {
				t.Fatalf("after attempt %d: %s, want between %s and %s", attempt, d, whole/2, whole)
			}
		}
	}
}

func TestAKindChoosesHowItsDelaysGrowAndScatter(t *testing.T) {
	t.Parallel()
	r := Retry{Base: time.Second, Cap: time.Minute, Factor: 3, Jitter: -1}
	for attempt, want := range map[int]time.Duration{1: time.Second, 2: 3 * time.Second, 4: 27 * time.Second, 5: time.Minute} {
		if d := r.Delay(attempt); d != want {
			t.Errorf("after attempt %d: %s, want %s without jitter", attempt, d, want)
		}
	}
	for name, wrong := range map[string]Retry{"a factor below 1": {MaxAttempts: 1, Factor: 0.5}, "more than all": {MaxAttempts: 1, Jitter: 1.5}} {
		k := Define(Kind{Name: "a", Lane: "l", Retry: wrong}, func(context.Context, struct{}, *Run) (Done, error) { return Done{}, nil })
		if _, err := NewKinds(k); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestWrongRegistrationsAreReportedTogether(t *testing.T) {
	t.Parallel()
	ok := Define(Kind{Name: "a", Lane: "l", Retry: Retry{MaxAttempts: 1}}, func(context.Context, struct{}, *Run) (Done, error) { return Done{}, nil })
	_, err := NewKinds(ok, ok, Kind{Name: "b"}, Kind{Name: "c", Lane: "l"})
	joined, _ := err.(interface{ Unwrap() []error })
	if joined == nil || len(joined.Unwrap()) != 3 {
		t.Fatalf("error %v, want three mistakes: twice, no lane, no runner", err)
	}
}
