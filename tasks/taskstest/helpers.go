package taskstest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"filmroom/tasks"
)

// same fails unless got is want; nil and empty slices count as equal, since JSON and BSON leave both out.
func same(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// refused fails unless err is the sentinel.
func refused(t testing.TB, what string, err, sentinel error) {
	t.Helper()
	if !errors.Is(err, sentinel) {
		t.Errorf("%s: error %v, want %v", what, err, sentinel)
	}
}

// insert stores a record and returns it as the store did.
func insert(t testing.TB, s tasks.Store, task tasks.Task) tasks.Task {
	t.Helper()
	got, err := s.Insert(t.Context(), task)
	if err != nil {
		t.Fatalf("insert %s: %v", task.ID, err)
	}
	return got
}

func insertAll(t testing.TB, s tasks.Store, all ...tasks.Task) {
	t.Helper()
	for _, task := range all {
		insert(t, s, task)
	}
}

func get(t testing.TB, s tasks.Store, id string) tasks.Task {
	t.Helper()
	got, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("get %s: %v", id, err)
	}
	return got
}

// update makes a move that must be allowed.
func update(t testing.TB, s tasks.Store, known tasks.Task, m tasks.Move) tasks.Task {
	t.Helper()
	got, err := s.Update(t.Context(), known, m)
	if err != nil {
		t.Fatalf("update %s: %v", known.ID, err)
	}
	return got
}

func list(t testing.TB, s tasks.Store, q tasks.Query) tasks.Page {
	t.Helper()
	page, err := s.List(t.Context(), q)
	if err != nil {
		t.Fatalf("list %+v: %v", q, err)
	}
	return page
}

func idsOf(all []tasks.Task) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = all[i].ID
	}
	return out
}

// unchanged fails if the stored record is not what it was before.
func unchanged(t testing.TB, s tasks.Store, before tasks.Task) {
	t.Helper()
	same(t, "a refusal must leave the record as it was", before, get(t, s, before.ID))
}

func pointer[T any](v T) *T { return &v }
