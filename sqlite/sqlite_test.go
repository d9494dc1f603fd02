package sqlite

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"filmroom/accounts"
	"filmroom/accounts/accountstest"
	"filmroom/imaging"
	"filmroom/imaging/imagingtest"
	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// TestStores runs the suites, and then reads the plans of all that they made the stores ask.
func TestStores(t *testing.T) {
	t.Parallel()
	heard := &statements{sql: map[string]bool{}, again: map[string]int{}}
	t.Run("suites", func(t *testing.T) {
		suites(t, Options{planned: heard.add}, true)
	})
	// The suites' lists are small: with chunks as small, they are found as large ones are. That differs in what
	// one caller gets, so the race detector, which makes SQLite twenty times slower, can do without.
	if !raceDetector {
		t.Run("as with large lists", func(t *testing.T) {
			suites(t, Options{planned: heard.add, tuning: tuning{few: 1, chunk: 4}}, false)
		})
	}
	t.Run("every query has an index", func(t *testing.T) {
		if raceDetector {
			t.Skip("not all queries were asked under the race detector")
		}
		everyQueryHasAnIndex(t, slices.Sorted(maps.Keys(heard.sql)))
	})
}

// suites runs what every store must pass; the whole of it with restarts, contention and accounts.
func suites(t *testing.T, o Options, whole bool) {
	fresh := func(t testing.TB) *DB { return openAt(t, filepath.Join(t.TempDir(), "test.db"), o) }
	ofTasks := taskstest.Harness{New: func(t testing.TB) tasks.Store { return fresh(t).Tasks() }}
	ofImaging := imagingtest.Harness{New: func(t testing.TB) imaging.Store { return fresh(t).Imaging() }}
	if whole {
		ofTasks.Contention, ofImaging.Contention = true, true
		ofTasks.Reopen = func(t testing.TB, old tasks.Store) tasks.Store { return reopen(t, old.(*taskStore).db).Tasks() }
		ofImaging.Reopen = func(t testing.TB, old imaging.Store) imaging.Store {
			return reopen(t, old.(*imagingStore).db).Imaging()
		}
		t.Run("accounts", func(t *testing.T) {
			accountstest.Test(t, accountstest.Harness{
				New: func(t testing.TB) accounts.Store { return fresh(t).Accounts() },
				Reopen: func(t testing.TB, old accounts.Store) accounts.Store {
					return reopen(t, old.(*accountStore).db).Accounts()
				},
				Contention: true,
			})
		})
	}
	t.Run("tasks", func(t *testing.T) { taskstest.Test(t, ofTasks) })
	t.Run("imaging", func(t *testing.T) { imagingtest.Test(t, ofImaging) })
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
