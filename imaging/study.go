package imaging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"time"

	"filmroom/dicom"
	"filmroom/dicom/deid"
)

// A study is what all files of one say of its patient. Texts of each file are searched for all of it: one
// may hold in a comment the name that only another one states.
type study struct {
	uid      string
	identity deid.Identity // where it is crowded, nothing of the study can leave
}

const (
	crowded    = "its study names more people and numbers than can be searched for"
	seriesPage = 100
)

// study reads the headers of a study: those of all its series in the library, whether they are taken out or
// not, that were there at the given moment. A rerun finds the same, unless a series was deleted meanwhile.
func (d *Desk) study(ctx context.Context, of Series, at time.Time) (*study, error) {
	s := &study{uid: of.StudyUID}
	q := SeriesQuery{LibraryID: of.LibraryID, StudyUID: of.StudyUID, Sort: OldestImported, Limit: seriesPage}
	for {
		page, err := d.cfg.Store.ListSeries(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("study of series %s: %w", of.ID, err)
		}
		for _, series := range page.Items {
			if err := d.learn(ctx, s, series, at); err != nil || s.identity.Crowded() {
				return s, err
			}
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return s, nil
		}
	}
}

// learn adds what the files of a series say.
func (d *Desk) learn(ctx context.Context, s *study, series Series, at time.Time) error {
	for i, err := range d.instances(ctx, series) {
		if errors.Is(err, ErrNotFound) {
			return nil // deleted this moment
		}
		if err != nil {
			return fmt.Errorf("study of series %s: %w", series.ID, err)
		}
		if i.AddedAt.After(at) {
			continue
		}
		if err := d.learnFrom(s, i); err != nil {
			return err
		}
		if s.identity.Crowded() {
			return nil
		}
	}
	return nil
}

// learnFrom adds what one file says. One that cannot be read says nothing here; where it is to leave, that
// is refused when its turn comes.
func (d *Desk) learnFrom(s *study, i Instance) error {
	defer func() {
		if recover() != nil {
			d.log.Error("a file made its reader panic", "stack", string(debug.Stack()))
		}
	}()
	f, err := d.files.open(i.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	file, err := dicom.Parse(f, i.Size, reading, dicom.StopAtPixels())
	if _, broken := errors.AsType[*dicom.Error](err); broken {
		return nil
	}
	if err != nil {
		return err
	}
	s.identity.Collect(file.Dataset)
	return nil
}
