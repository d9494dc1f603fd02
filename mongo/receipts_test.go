package mongo

import (
	"testing"

	"filmroom/imaging"
	"filmroom/imaging/imagingtest"
	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

func TestReceiptsOfAnOlderSchemaFindTheirLibrary(t *testing.T) {
	t.Parallel()
	db := setup(t)
	s := db.Imaging()
	var libraries, ids []string
	for range 2 {
		task := taskstest.InStatus(tasks.StatusFinished)
		task.UserID = tasks.NewID()
		_, err := db.Tasks().Insert(t.Context(), task)
		did(t, err)
		l, err := s.LibraryOf(t.Context(), task.UserID, tasks.NewID(), imagingtest.Epoch)
		did(t, err)
		did(t, s.PutReceipts(t.Context(), l.ID, task.ID, []imaging.Receipt{{Outcome: imaging.NotDICOM}}))
		pruned := tasks.NewID()
		imagingtest.Arrive(t, s, l.ID, pruned, imagingtest.Arrival(0, "1.1", "1.1.1"))
		libraries, ids = append(libraries, l.ID, l.ID), append(ids, task.ID, pruned)
	}
	did(t, db.receiptOf.Drop(t.Context())) // as it was before the step
	_, err := db.meta.UpdateOne(t.Context(), with("_id", schemaID), with("$set", with("version", 3)))
	did(t, err)
	s = again(t, db).Imaging()
	for i, id := range ids {
		if owner, err := s.ReceiptLibrary(t.Context(), id); err != nil || owner != libraries[i] {
			t.Errorf("the receipt of %s belongs to %q (%v) instead of %q", id, owner, err, libraries[i])
		}
	}
}
