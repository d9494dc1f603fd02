package imaging

import (
	"context"
	"errors"

	"filmroom/tasks"
)

// ListSeries returns a page of the person's library.
func (d *Desk) ListSeries(ctx context.Context, p tasks.Person, q SeriesQuery) (page SeriesPage, err error) {
	if q.LibraryID, err = d.libraryOf(ctx, p.UserID); err != nil {
		return page, err
	}
	return d.cfg.Store.ListSeries(ctx, q)
}

// Series returns a series of the person's library, or [ErrNotFound].
func (d *Desk) Series(ctx context.Context, p tasks.Person, seriesID string) (Series, error) {
	library, err := d.libraryOf(ctx, p.UserID)
	if err != nil {
		return Series{}, err
	}
	return d.cfg.Store.Series(ctx, library, seriesID)
}

// Instances returns up to limit instances of a series, in their order, after the one given.
func (d *Desk) Instances(ctx context.Context, p tasks.Person, seriesID string, after *Instance, limit int) ([]Instance, error) {
	s, err := d.Series(ctx, p, seriesID)
	if err != nil {
		return nil, err
	}
	return d.cfg.Store.Instances(ctx, s.LibraryID, s.ID, after, limit)
}

// Keeps reports whether the receipt of a task, which may be gone, is the person's to read.
func (d *Desk) Keeps(ctx context.Context, p tasks.Person, taskID string) (bool, error) {
	keeper, err := d.cfg.Store.ReceiptLibrary(ctx, taskID)
	if errors.Is(err, ErrNotFound) || p.UserID == "" {
		return false, nil
	}
	if err != nil || p.Admin {
		return err == nil, err
	}
	library, err := d.libraryOf(ctx, p.UserID)
	return library == keeper, err
}

// Receipts returns rows of a task's receipt. The caller has made sure that it is the person's.
func (d *Desk) Receipts(ctx context.Context, taskID string, q ReceiptQuery) ([]Receipt, error) {
	q.TaskID = taskID
	return d.cfg.Store.Receipts(ctx, q)
}

// Outcomes counts a task's receipt rows by outcome. The caller has made sure that it is the person's.
func (d *Desk) Outcomes(ctx context.Context, taskID string) (map[Outcome]int, error) {
	return d.cfg.Store.Outcomes(ctx, taskID)
}

// instancePage is how many instances are held at once.
const instancePage = 500

// instances yields all instances of a series in their order, page by page.
func (d *Desk) instances(ctx context.Context, s Series) func(yield func(Instance, error) bool) {
	return func(yield func(Instance, error) bool) {
		for last := (*Instance)(nil); ; {
			page, err := d.cfg.Store.Instances(ctx, s.LibraryID, s.ID, last, instancePage)
			if err != nil {
				yield(Instance{}, err)
				return
			}
			for _, i := range page {
				if !yield(i, nil) {
					return
				}
			}
			if len(page) < instancePage {
				return
			}
			last = &page[len(page)-1]
		}
	}
}
