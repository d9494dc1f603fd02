package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"filmroom/imaging"
	"filmroom/imaging/imagingtest"
	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

func TestReceiptsOfAnOlderSchemaFindTheirLibrary(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	db := openAt(t, path, Options{})
	task := taskstest.InStatus(tasks.StatusFinished)
	_, err := db.Tasks().Insert(t.Context(), task)
	must(t, err)
	s := db.Imaging()
	library, err := s.LibraryOf(t.Context(), task.UserID, "01LIBRARY", imagingtest.Epoch)
	must(t, err)
	must(t, s.PutReceipts(t.Context(), library.ID, task.ID, []imaging.Receipt{{Outcome: imaging.NotDICOM}}))
	imagingtest.Arrive(t, s, library.ID, "pruned", imagingtest.Arrival(0, "1.1", "1.1.1"))
	must(t, db.Close())

	c, err := lite.Open(path, 0, nil) // as it was before the step
	must(t, err)
	must(t, c.Exec("DROP TABLE receipt_libraries; ALTER TABLE tasks DROP COLUMN freedKey; PRAGMA user_version = 6"))
	must(t, c.Close())

	s = openAt(t, path, Options{}).Imaging()
	for _, id := range []string{task.ID, "pruned"} {
		if owner, err := s.ReceiptLibrary(t.Context(), id); err != nil || owner != library.ID {
			t.Errorf("the receipt of %s belongs to %q (%v)", id, owner, err)
		}
	}
	if _, err := s.ReceiptLibrary(context.Background(), "another"); !errors.Is(err, imaging.ErrNotFound) {
		t.Errorf("a receipt that is none: %v", err)
	}
}
