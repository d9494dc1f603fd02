package taskstest

import (
	"reflect"
	"testing"

	"filmroom/tasks"
)

var recordScenarios = []scenario{
	{"every field comes back as it was stored", everyFieldRoundTrips},
	{"a record with hardly anything set comes back so", emptyFieldsRoundTrip},
	{"a move writes every field it may change", everyFieldIsUpdated},
	{"a move clears every field it may clear", everyFieldIsCleared},
	{"a task nobody stored is not found", missingTask},
}

func everyFieldRoundTrips(t *testing.T, s tasks.Store) {
	want := Filled()
	same(t, "what Insert returns", want, insert(t, s, want))
	got := get(t, s, want.ID)
	same(t, "what Get returns", want, got)
	if got.CreatedAt != want.CreatedAt || got.Lease.ExpiresAt != want.Lease.ExpiresAt {
		t.Errorf("times are equal but not ==: stores must return UTC without a monotonic reading")
	}
}

func emptyFieldsRoundTrip(t *testing.T, s tasks.Store) {
	want := Queued()
	want.Args, want.Name, want.UserEmail = nil, "", ""
	insert(t, s, want)
	same(t, "what Get returns", want, get(t, s, want.ID))
}

// keepFixed sets the fields that say what a task is, and its revision: no move changes those.
func keepFixed(next *tasks.Task, was tasks.Task) {
	next.ID, next.UserID, next.UserEmail, next.CreatedAt = was.ID, was.UserID, was.UserEmail, was.CreatedAt
	next.Kind, next.Name, next.Lane, next.Rev = was.Kind, was.Name, was.Lane, was.Rev
}

func everyFieldIsUpdated(t *testing.T, s tasks.Store) {
	was, next := Filled(), Filled()
	keepFixed(&next, was)
	next.Status = tasks.StatusFinished
	known := insert(t, s, was)
	got := update(t, s, known, func(t *tasks.Task) error { *t = next.Clone(); return nil })
	next.Rev++
	same(t, "what Update returns", next, got)
	same(t, "what Get returns", next, get(t, s, was.ID))
}

func everyFieldIsCleared(t *testing.T, s tasks.Store) {
	was := Filled()
	next := tasks.Task{IdempotencyKey: was.ID, DedupeKey: was.ID, AvailableAt: was.AvailableAt, UpdatedAt: was.UpdatedAt}
	keepFixed(&next, was)
	next.Status = tasks.StatusQueued
	known := insert(t, s, was)
	update(t, s, known, func(t *tasks.Task) error { *t = next.Clone(); return nil })
	next.Rev++
	same(t, "what Get returns", next, get(t, s, was.ID))
	if reflect.DeepEqual(was, next) {
		t.Fatal("the filler set nothing")
	}
}

func missingTask(t *testing.T, s tasks.Store) {
	_, err := s.Get(t.Context(), ID())
	refused(t, "get", err, tasks.ErrNotFound)
	_, err = s.Update(t.Context(), Queued(), tasks.PausedBy("", Epoch))
	refused(t, "update", err, tasks.ErrNotFound)
}
