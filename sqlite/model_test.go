package sqlite

import (
	"testing"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

func TestTasksAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("one caller gives the race detector nothing to find, and it makes SQLite twenty times slower: a plain go test plays this")
	}
	taskstest.Model(t, taskstest.Harness{
		New:    func(t testing.TB) tasks.Store { return open(t).Tasks() },
		Reopen: func(t testing.TB, old tasks.Store) tasks.Store { return reopen(t, old.(*taskStore).db).Tasks() },
	})
}
