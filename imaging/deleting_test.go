package imaging_test

import (
	"context"
	"errors"
	"testing"

	"filmroom/dicom/phantom"
	"filmroom/imaging"
	"filmroom/tasks"
)

// deletes deletes series and waits for it.
func (d *desk) deletes(ids ...string) tasks.Task {
	d.t.Helper()
	task, err := d.Delete(d.t.Context(), ada, ids)
	check(d.t, err)
	return d.finish(task.ID)
}

func (d *desk) ids() (ids []string) {
	for _, s := range d.series(ada) {
		ids = append(ids, s.ID)
	}
	return ids
}

func TestSeriesAreDeletedByATask(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(people()...)
	all := d.ids()
	task := d.deletes(all[1], all[3], all[1])
	if task.Name != "Delete 2 series" || task.Progress.Message != "2 series deleted" || task.Kind != "delete" || task.LockKey == "" {
		t.Errorf("it is %q under the lock %q and says %q", task.Name, task.LockKey, task.Progress.Message)
	}
	same(t, "what stays", d.ids(), []string{all[0], all[2], all[4]})
	if rows := d.receipt(task.ID); len(rows) != 0 {
		t.Errorf("it has a receipt of %d rows", len(rows))
	}
	if _, err := d.Delete(t.Context(), ada, []string{all[0], all[1]}); !errors.Is(err, imaging.ErrNotFound) {
		t.Errorf("a series that is gone: %v", err)
	}
	if _, err := d.Delete(t.Context(), bob, []string{all[0]}); !errors.Is(err, imaging.ErrNotFound) {
		t.Errorf("somebody else's series: %v", err)
	}
	if _, err := d.Delete(t.Context(), ada, nil); err == nil {
		t.Error("nothing at all was deleted")
	}
}

// A deletion that is killed after any of its series ends as an undisturbed one.
func TestADeletionThatIsKilledIsCompleted(t *testing.T) {
	t.Parallel()
	for after := range 4 {
		d := setup(t)
		d.bring(people()...)
		all := d.ids()
		there, left := make(chan struct{}), after
		d.store.beforeDelete = func(ctx context.Context) error {
			if left--; left == -1 {
				close(there)
				<-ctx.Done()
			}
			return ctx.Err()
		}
		task, err := d.Delete(t.Context(), ada, all[:4])
		check(t, err)
		<-there
		d.crash()
		d.start()
		if ended := d.finish(task.ID); ended.Progress.Message != "4 series deleted" {
			t.Errorf("killed after %d it says %q", after, ended.Progress.Message)
		}
		same(t, "what stays", d.ids(), all[4:])
	}
}

func TestACanceledDeletionStopsBetweenTwoSeries(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(people()...)
	there, deleted := make(chan struct{}), 0
	d.store.beforeDelete = func(ctx context.Context) error {
		if deleted++; deleted == 3 {
			close(there)
			<-ctx.Done()
		}
		return ctx.Err()
	}
	task, err := d.Delete(t.Context(), ada, d.ids())
	check(t, err)
	<-there
	_, err = d.tasks.Cancel(t.Context(), ada, task.ID)
	check(t, err)
	if ended := d.wait(task.ID); ended.Status != tasks.StatusCanceled {
		t.Errorf("it is %s", ended.Status)
	}
	if left := len(d.ids()); left != 3 {
		t.Errorf("%d series are left of 5, of which 2 were deleted", left)
	}
}

// An export keeps what it has read of a series that is deleted under it, and lists the rest.
func TestAnExportOutlivesTheDeletionOfItsSeries(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(study(phantom.Study{Seed: 1, Slices: 700})...)
	id, pages := d.series(ada)[0].ID, 0
	d.store.beforeInstances = func(after *imaging.Instance) {
		// The third look at the instances: the first page of the archive comes after two of the headers.
		if pages++; pages == 4 && after != nil {
			check(t, d.db.Imaging().DeleteSeries(context.Background(), d.series(ada)[0].LibraryID, id))
		}
	}
	submitted, err := d.Export(t.Context(), ada, imaging.ExportRequest{SeriesIDs: []string{id}, Profile: "basic"})
	check(t, err)
	if task := d.finish(submitted.ID); task.Progress.Message != "500 of 700 exported, 200 refused" {
		t.Error(task.Progress.Message)
	}
	if got := len(images(t, d.download(submitted.ID))); got != 500 {
		t.Errorf("the archive has %d images", got)
	}
	if rows := d.receipt(submitted.ID); len(rows) != 700 || rows[699].Outcome != imaging.Refused {
		t.Errorf("the receipt has %d rows", len(rows))
	}
}
