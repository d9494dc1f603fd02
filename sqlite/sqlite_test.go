package sqlite

import (
	"path/filepath"
	"testing"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

func TestTasks(t *testing.T) {
	t.Parallel()
	taskstest.Test(t, taskstest.Harness{
		New:        func(t testing.TB) tasks.Store { return open(t).Tasks() },
		Reopen:     func(t testing.TB, old tasks.Store) tasks.Store { return reopen(t, old.(*taskStore).db).Tasks() },
		Contention: true,
	})
}

// large lists take ways of their own, which the suites' small ones come to by these.
var large = []tuning{{few: 1, dense: 1 << 32}, {few: 1}}

func TestTasksOfLargeLists(t *testing.T) {
	t.Parallel()
	for _, tune := range large {
		taskstest.Test(t, taskstest.Harness{New: func(t testing.TB) tasks.Store {
			return openAt(t, filepath.Join(t.TempDir(), "test.db"), Options{tuning: tune}).Tasks()
		}})
	}
}

func open(t testing.TB) *DB { return openAt(t, filepath.Join(t.TempDir(), "test.db"), Options{}) }

func openAt(t testing.TB, path string, o Options) *DB {
	db, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeDB(t, db) })
	return db
}

func reopen(t testing.TB, db *DB) *DB {
	closeDB(t, db)
	return openAt(t, db.path, db.options)
}

func closeDB(t testing.TB, db *DB) {
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
