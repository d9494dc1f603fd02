package taskstest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"filmroom/tasks"
)

var updateScenarios = []scenario{
	{"every move in every status does what the move says", everyMoveInEveryStatus},
	{"a move on a stale record is made on the newest", staleIsRetried},
	{"a refusal of a stale record is no answer", staleRefusalIsNoAnswer},
	{"a move that the newest record refuses writes nothing", newestRefuses},
	{"a move on a row of a list loses nothing of the record", rowsOfListsAreKnown},
	{"a move's own error comes back", ownErrorComesBack},
	{"a cancel beats a success that comes later", cancelBeatsSuccess},
	{"a success beats a cancel that comes later", successBeatsCancel},
	{"an attempt whose lease was taken over can write nothing", leaseTheft},
}

// A NamedMove is a move with a name for people.
type NamedMove struct {
	Name string
	Move tasks.Move
}

// Moves returns every move with plausible arguments; token is the lease token the holder's moves use.
func Moves(token string, now time.Time) []NamedMove {
	const by = "bob@example.org"
	f := tasks.Failure{Cause: tasks.CauseError, Message: "it broke"}
	file := &tasks.File{Name: "é.zip", Size: 7, SHA256: "ab", Path: "x/1", ExpiresAt: now.Add(time.Hour)}
	done := tasks.Outcome{Result: json.RawMessage(`[1]`), File: file, Progress: tasks.Progress{Message: "3 imported", Value: 3, Max: 3}}
	return []NamedMove{
		{"claimed", tasks.Claimed(Lease("01KDYGTOKEN000000000000NEW", now), now)},
		{"phase entered", tasks.PhaseEntered(token, "packing", now)},
		{"checkpointed", tasks.Checkpointed(token, []byte{1, 0, 2}, now)},
		{"retry scheduled", tasks.RetryScheduled(token, f, now.Add(time.Minute), now)},
		{"handed back", tasks.HandedBack(token, now)},
		{"finished", tasks.Finished(token, done, now)},
		{"failed", tasks.Failed(token, f, now)},
		{"canceled", tasks.Canceled(token, now)},
		{"rescued to run again", tasks.Rescued(tasks.Abandoned{DeadOwner: true, Rerunnable: true}, now)},
		{"rescued and interrupted", tasks.Rescued(tasks.Abandoned{DeadOwner: true}, now)},
		{"rescued while alive", tasks.Rescued(tasks.Abandoned{Rerunnable: true}, now)},
		{"cancel requested", tasks.CancelRequested(by, now)},
		{"paused", tasks.PausedBy(by, now)},
		{"resumed", tasks.ResumedBy(by, now)},
		{"reprioritised", tasks.Reprioritised(by, 7, now)},
		{"retried", tasks.RetriedByPerson(by, 2, now)},
		{"dismissed", tasks.DismissedBy(by, true, now)},
		{"restored", tasks.DismissedBy(by, false, now)},
		{"renewed", tasks.Renewed(token, tasks.Progress{Message: "Importing", Value: 12, Max: 150}, now.Add(2*time.Minute), now)},
	}
}

func everyMoveInEveryStatus(t *testing.T, s tasks.Store) {
	now := After(time.Second)
	for _, status := range tasks.Statuses {
		for _, m := range Moves(Token, now) {
			known := insert(t, s, InStatus(status))
			want, wantErr := tasks.Apply(known, m.Move)
			got, err := s.Update(t.Context(), known, m.Move)
			if !sameRefusal(err, wantErr) {
				t.Errorf("%s while %s: error %v, want %v", m.Name, status, err, wantErr)
			}
			same(t, m.Name+" while "+string(status)+": returned", want, got)
			same(t, m.Name+" while "+string(status)+": stored", want, get(t, s, known.ID))
		}
	}
}

// sameRefusal compares what callers act on: the sentinel, and for conflicts move and status.
func sameRefusal(got, want error) bool {
	if want == nil || got == nil {
		return got == want
	}
	var g, w *tasks.ConflictError
	if errors.As(want, &w) {
		return errors.As(got, &g) && *g == *w
	}
	return errors.Is(got, want)
}

func staleIsRetried(t *testing.T, s tasks.Store) {
	stale := insert(t, s, Queued())
	update(t, s, stale, tasks.Reprioritised("", 5, Epoch))
	got := update(t, s, stale, tasks.PausedBy("", Epoch))
	if got.Status != tasks.StatusPaused || got.Priority != 5 || got.Rev != stale.Rev+2 {
		t.Errorf("status %s, priority %d, rev %d: the first move was lost", got.Status, got.Priority, got.Rev)
	}
	same(t, "stored", got, get(t, s, stale.ID))
}

func staleRefusalIsNoAnswer(t *testing.T, s tasks.Store) {
	stale := insert(t, s, Queued())
	update(t, s, stale, tasks.PausedBy("", Epoch))
	got := update(t, s, stale, tasks.ResumedBy("", Epoch)) // a queued task would refuse this
	if got.Status != tasks.StatusQueued {
		t.Errorf("status %s, want queued again", got.Status)
	}
}

func newestRefuses(t *testing.T, s tasks.Store) {
	stale := insert(t, s, Queued())
	newest := update(t, s, stale, tasks.PausedBy("", Epoch))
	got, err := s.Update(t.Context(), stale, tasks.PausedBy("", Epoch)) // a queued task would allow this
	refused(t, "pausing twice", err, tasks.ErrConflict)
	same(t, "the refusal comes with the newest record", newest, got)
	unchanged(t, s, newest)
}

func rowsOfListsAreKnown(t *testing.T, s tasks.Store) {
	stored := insert(t, s, Moved(Running(), tasks.Checkpointed(Token, []byte("half"), Epoch)))
	row := list(t, s, tasks.Query{UserID: stored.UserID, Limit: 1}).Items[0]
	update(t, s, row, tasks.CancelRequested("", Epoch))
	want := Moved(stored, tasks.CancelRequested("", Epoch))
	same(t, "stored", want, get(t, s, stored.ID))
}

func ownErrorComesBack(t *testing.T, s tasks.Store) {
	stored := insert(t, s, Queued())
	got, err := s.Update(t.Context(), stored, func(*tasks.Task) error { return tasks.ErrInputGone })
	refused(t, "update", err, tasks.ErrInputGone)
	same(t, "returned", stored, got)
	unchanged(t, s, stored)
}

func cancelBeatsSuccess(t *testing.T, s tasks.Store) {
	running := insert(t, s, Running())
	update(t, s, running, tasks.CancelRequested("bob@example.org", Epoch))
	got := update(t, s, running, tasks.Finished(Token, tasks.Outcome{Result: json.RawMessage(`1`)}, Epoch))
	if got.Status != tasks.StatusCanceled || got.Result != nil {
		t.Errorf("status %s with result %s, want canceled without one", got.Status, got.Result)
	}
}

func successBeatsCancel(t *testing.T, s tasks.Store) {
	running := insert(t, s, Running())
	finished := update(t, s, running, tasks.Finished(Token, tasks.Outcome{}, Epoch))
	_, err := s.Update(t.Context(), running, tasks.CancelRequested("bob@example.org", Epoch))
	refused(t, "a cancel after the end", err, tasks.ErrConflict)
	unchanged(t, s, finished)
}

func leaseTheft(t *testing.T, s tasks.Store) {
	first := insert(t, s, Running())
	later := After(2 * time.Minute)
	update(t, s, first, tasks.Rescued(tasks.Abandoned{Rerunnable: true}, later))
	second := update(t, s, first, tasks.Claimed(Lease("01KDYGTOKEN000000000SECOND", later), later))
	for _, m := range []NamedMove{
		{"finish", tasks.Finished(Token, tasks.Outcome{}, later)},
		{"finish with a clock that stands", tasks.Finished(Token, tasks.Outcome{}, Epoch)},
		{"fail", tasks.Failed(Token, tasks.Failure{}, later)},
		{"phase", tasks.PhaseEntered(Token, "late", later)},
		{"checkpoint", tasks.Checkpointed(Token, []byte("late"), later)},
		{"renew", tasks.Renewed(Token, tasks.Progress{}, later.Add(time.Minute), later)},
	} {
		_, err := s.Update(t.Context(), first, m.Move)
		refused(t, m.Name+" under the old token", err, tasks.ErrLeaseLost)
	}
	unchanged(t, s, second)
}
