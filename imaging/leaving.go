package imaging

import (
	"context"
	"fmt"
	"image"
	"iter"
	"slices"
)

// An item is one image on its way out.
type item struct {
	path     string // in the archive
	series   *chosen
	instance Instance // none when it was deleted
	deleted  bool
	reviewed bool
	blackout []image.Rectangle
	study    *study
}

// items yields the images in the order of the archive, with names that carry no identity: patients, studies
// and series are numbered as they come, whether they are still there or not. Images that came into the library
// later than the export was asked for are left out, so that a rerun has the same.
func (x *exporter) items(ctx context.Context, args exportArgs, failure *error) iter.Seq[item] {
	return func(yield func(item) bool) {
		var names numbering
		for i, id := range args.Series {
			s := &x.hidden.Series[i]
			of, err := x.studies.of(s.StudyUID)
			if err != nil {
				*failure = err
				return
			}
			next := item{series: s, study: of, reviewed: slices.Contains(args.PixelsReviewed, id), blackout: rectangles(args.Blackout[id])}
			if more, err := x.itemsOf(ctx, id, names.folder(s.Pseudonym, s.StudyUID), next, yield); err != nil || !more {
				*failure = err
				return
			}
		}
	}
}

// itemsOf yields the images of a series, those last that it had when the export was asked for and has no more.
func (x *exporter) itemsOf(ctx context.Context, seriesID, folder string, next item, yield func(item) bool) (more bool, err error) {
	n := 0
	give := func(i Instance, deleted bool) bool {
		n++
		next.path, next.instance, next.deleted = fmt.Sprintf("%s/IM%06d.dcm", folder, n), i, deleted
		return yield(next)
	}
	for i, err := range x.desk.instances(ctx, Series{ID: seriesID, LibraryID: x.library}) {
		if err != nil {
			return false, err
		}
		if !i.AddedAt.After(x.task.Task().CreatedAt) && !give(i, false) {
			return false, nil
		}
	}
	for n < next.series.Images {
		if !give(Instance{}, true) {
			return false, nil
		}
	}
	return true, nil
}

// numbering names folders by the order of first appearance.
type numbering struct {
	patients map[string]int // by whatever tells them apart
	studies  map[string]int // by patient and study
	counts   map[string]int // of what is in a folder
}

func (n *numbering) folder(patient, studyUID string) string {
	if n.counts == nil {
		n.patients, n.studies, n.counts = map[string]int{}, map[string]int{}, map[string]int{}
	}
	if n.patients[patient] == 0 {
		n.patients[patient] = len(n.patients) + 1
	}
	folder := fmt.Sprintf("P%04d", n.patients[patient])
	study := folder + "\x00" + studyUID
	if n.studies[study] == 0 {
		n.counts[folder]++
		n.studies[study] = n.counts[folder]
	}
	folder = fmt.Sprintf("%s/ST%03d", folder, n.studies[study])
	n.counts[folder]++
	return fmt.Sprintf("%s/SE%03d", folder, n.counts[folder])
}
