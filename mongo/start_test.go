package mongo

import (
	"sync"
	"testing"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// Migrations that ran at once have kept other systems from starting.
func TestProcessesThatStartAtOnceOnAnEmptyDatabaseAllServe(t *testing.T) {
	t.Parallel()
	needsWhole(t, "that indexes which are there already are no mistake (FerretDB 1 hangs up)")
	first := setup(t)
	did(t, first.client.Database(first.name).Drop(t.Context()))
	var group sync.WaitGroup
	processes := make([]*DB, 4)
	for i := range processes {
		group.Go(func() {
			db, err := begun(t, first.name)
			if err != nil {
				t.Errorf("process %d: %v", i, err)
			}
			processes[i] = db
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	for range 2 {
		_, err := processes[0].Tasks().Insert(t.Context(), taskstest.Queued())
		did(t, err)
	}
	page, err := processes[0].Tasks().List(t.Context(), tasks.Query{Limit: 1})
	did(t, err)
	for i, db := range processes {
		rest, err := db.Tasks().List(t.Context(), tasks.Query{Limit: 1, Cursor: page.NextCursor})
		if err != nil || len(rest.Items) != 1 || rest.Items[0].ID == page.Items[0].ID {
			t.Errorf("process %d cannot go on with the list of another: %v", i, err)
		}
	}
}
