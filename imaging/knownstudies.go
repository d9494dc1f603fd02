package imaging

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// maxKnown is how many studies' identities are remembered: a person who tries options asks for one again and again.
const maxKnown = 16

// A studyCache remembers what a few studies say of their patients, in memory alone.
type studyCache struct {
	mu    sync.Mutex
	known []knownStudy // the newest last
}

// A knownStudy holds for as long as its study has the same series with as many images.
type knownStudy struct {
	library, state string
	study          *study
}

func (c *studyCache) find(library, uid, state string) *study {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.known {
		if k.library == library && k.study.uid == uid && k.state == state {
			return k.study
		}
	}
	return nil
}

func (c *studyCache) add(k knownStudy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = slices.DeleteFunc(c.known, func(old knownStudy) bool { return old.library == k.library && old.study.uid == k.study.uid })
	if len(c.known) >= maxKnown {
		c.known = slices.Delete(c.known, 0, 1)
	}
	c.known = append(c.known, k)
}

// knownStudy is the study of a series, read again only when it has changed.
func (d *Desk) knownStudy(ctx context.Context, of Series) (*study, error) {
	state := ""
	q := SeriesQuery{LibraryID: of.LibraryID, StudyUID: of.StudyUID, Sort: OldestImported, Limit: seriesPage}
	for more := true; more; more = q.Cursor != "" {
		page, err := d.cfg.Store.ListSeries(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("list the series of a study: %w", err)
		}
		for _, s := range page.Items {
			state += fmt.Sprintf("%s %d %d\n", s.ID, s.Instances, s.Bytes)
		}
		q.Cursor = page.NextCursor
	}
	if s := d.known.find(of.LibraryID, of.StudyUID, state); s != nil {
		return s, nil
	}
	s, err := d.study(ctx, of.LibraryID, of.StudyUID, d.cfg.Now())
	if err == nil {
		d.known.add(knownStudy{of.LibraryID, state, s})
	}
	return s, err
}
