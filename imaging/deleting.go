package imaging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"filmroom/tasks"
)

const deleteKindName = "delete"

// deleteArgs are what a deletion is asked to do.
type deleteArgs struct {
	Series []string `json:"seriesIds"`
}

// DeleteResult is the result of a finished deletion, for programs.
type DeleteResult struct {
	Series int `json:"series"` // that are gone
}

func (d *Desk) deleteKind() tasks.Kind {
	return tasks.Define(tasks.Kind{Name: deleteKindName, Lane: deleteKindName, Retry: attempts, Rerunnable: true}, d.runDelete)
}

// Delete submits the deletion of series of the person's library; one of a library runs at a time. [FieldErrors]
// say what is wrong with the request; [ErrNotFound]: a series is not in the library.
func (d *Desk) Delete(ctx context.Context, p tasks.Person, seriesIDs []string) (tasks.Task, error) {
	ids := slices.Compact(slices.Sorted(slices.Values(seriesIDs)))
	var wrong FieldErrors
	if len(ids) == 0 {
		wrong.add("seriesIds", "nothing is selected")
	}
	if len(ids) > maxSeries {
		wrong.add("seriesIds", fmt.Sprintf("one deletion takes at most %d series", maxSeries))
	}
	if err := wrong.orNil(); err != nil {
		return tasks.Task{}, err
	}
	if _, err := d.chosen(ctx, p, ids); err != nil {
		return tasks.Task{}, err
	}
	library, err := d.libraryOf(ctx, p.UserID)
	if err != nil {
		return tasks.Task{}, err
	}
	return d.tasks.Submit(ctx, p, tasks.Spec{
		Kind: deleteKindName, Name: fmt.Sprintf("Delete %s series", thousands(int64(len(ids)))), Args: deleteArgs{ids}, LockKey: "library/" + library,
	})
}

// runDelete deletes one series after the other. It may run again after a crash: a series that is not there any
// more is deleted. A cancel stops it between two series; what is gone then stays gone.
func (d *Desk) runDelete(ctx context.Context, args deleteArgs, r *tasks.Run) (tasks.Done, error) {
	library, err := d.libraryOf(ctx, r.Task().UserID)
	if err != nil {
		return tasks.Done{}, err
	}
	total := len(args.Series)
	for i, id := range args.Series {
		r.Progress("Deleting", int64(i), int64(total))
		if err := ctx.Err(); err != nil {
			return tasks.Done{}, err
		}
		if err := d.deleteSeries(ctx, Series{ID: id, LibraryID: library}); err != nil {
			return tasks.Done{}, err
		}
	}
	r.Progress("Deleting", int64(total), int64(total))
	message := fmt.Sprintf("%s series deleted", thousands(int64(total)))
	r.Log(slog.LevelInfo, "%s", message)
	return tasks.Done{Message: message, Result: DeleteResult{total}}, nil
}

// deleteSeries removes a series. Its files are removed a day later, unless something else refers to them, so that
// an export that is reading one of them is not interrupted.
func (d *Desk) deleteSeries(ctx context.Context, s Series) error {
	for instance, err := range d.instances(ctx, s) {
		if err != nil {
			return fmt.Errorf("delete series %s: %w", s.ID, err)
		}
		if _, err := d.files.touch(instance.SHA256, instance.Size); err != nil {
			return fmt.Errorf("delete series %s: %w", s.ID, err)
		}
	}
	if err := d.cfg.Store.DeleteSeries(ctx, s.LibraryID, s.ID); err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return d.previews.remove(s.ID)
}
