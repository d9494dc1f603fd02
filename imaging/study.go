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
	identity deid.Identity
	crowded  bool // it says more than is searched for, so nothing of it can leave
}

const (
	// maxIdentityBytes bounds the texts of one study that are searched for, as deid bounds their number.
	maxIdentityBytes = 1 << 20
	crowded          = "its study names more people and numbers than can be searched for"
	seriesPage       = 100
)

// study reads the headers of a study: those of all its series in the library, whether they are taken out or
// not, that were there at the given moment.
func (d *Desk) study(ctx context.Context, libraryID, uid string, at time.Time) (*study, error) {
	s := &study{uid: uid}
	q := SeriesQuery{LibraryID: libraryID, StudyUID: uid, Sort: OldestImported, Limit: seriesPage}
	for {
		page, err := d.cfg.Store.ListSeries(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("list the series of a study: %w", err)
		}
		for _, series := range page.Items {
			if err := d.learn(ctx, s, series, at); err != nil || s.crowded {
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
		if s.identity.Crowded() || textBytes(&s.identity) > maxIdentityBytes {
			s.identity, s.crowded = deid.Identity{}, true
			return nil
		}
	}
	return nil
}

func textBytes(id *deid.Identity) (n int) {
	for _, list := range [][]string{id.Names, id.IDs, id.BirthDates} {
		for _, text := range list {
			n += len(text)
		}
	}
	return n
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
