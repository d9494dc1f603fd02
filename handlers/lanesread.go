package handlers

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"filmroom/tasks"
	"filmroom/views"
)

const (
	lanesFresh   = 2 * time.Second // how old what all viewers of the lanes share may be
	lanesRunning = 50              // running tasks on the page
	maxHistory   = 5000            // tasks that the charts are made of
	maxFailures  = 500             // failed tasks that are grouped
	endsFirst    = 100             // tasks asked for where few are new: each question costs about as much as so many rows
	endsAtOnce   = 1000            // where many are
	failuresOf   = 24 * time.Hour
)

// everybodys is who reads for the page of lanes: charts count everybody's tasks, and name nobody's.
var everybodys = tasks.Person{UserID: "desk", Admin: true}

// A lanesCache lets all who watch the lanes share one reading of them.
type lanesCache struct {
	mu    sync.Mutex // held while the store is asked, so that it is asked once
	at    time.Time
	parts views.LanesParts
	ended []tasks.Task // of the charts, last first
}

// lanesParts are what the page of lanes shows to the person.
func (s *Server) lanesParts(ctx context.Context, p tasks.Person) (views.LanesParts, error) {
	s.lanes.mu.Lock()
	defer s.lanes.mu.Unlock()
	if now := s.now(); now.Sub(s.lanes.at) >= lanesFresh {
		if err := s.lanes.read(ctx, s, now); err != nil {
			return views.LanesParts{}, err
		}
	}
	parts := s.lanes.parts
	if !p.Admin {
		return views.LanesParts{States: parts.States, History: parts.History}, nil
	}
	return parts, nil
}

// read asks the store.
func (l *lanesCache) read(ctx context.Context, s *Server, now time.Time) (err error) {
	parts := views.LanesParts{Abandoned: s.cfg.Tasks.Stats().Abandoned}
	if parts.States, err = s.cfg.Tasks.Lanes(ctx); err != nil {
		return err
	}
	parts.Running, err = s.cfg.Tasks.List(ctx, everybodys, tasks.Query{UserID: tasks.Everybody,
		Statuses: []tasks.Status{tasks.StatusProcessing}, Sort: tasks.OldestFirst, Limit: lanesRunning})
	if err != nil {
		return err
	}
	if l.ended, err = s.lastHour(ctx, l.ended, now); err != nil {
		return err
	}
	parts.History = views.NewLaneHistory(now, l.ended, parts.Running.Items)
	failed, cut, err := s.failuresUntil(ctx, now)
	if err != nil {
		return err
	}
	parts.Failures, parts.Cut = views.GroupFailures(failed, now), cut
	l.at, l.parts = now, parts
	return nil
}

// lastHour are the ends of the charts' time. Of those that are known only the last are asked for again: an end may
// be stored a while after it was decided.
func (s *Server) lastHour(ctx context.Context, known []tasks.Task, now time.Time) ([]tasks.Task, error) {
	begin := now.Add(-views.HistorySpan)
	if len(known) == 0 || known[0].EndedAt.Add(-overlap).Before(begin) {
		ended, _, err := s.endsSince(ctx, nil, begin, endsAtOnce, maxHistory)
		return ended, err
	}
	since := known[0].EndedAt.Add(-overlap)
	ended, _, err := s.endsSince(ctx, nil, since, endsFirst, maxHistory)
	known = known[endedFrom(known, since):endedFrom(known, begin)]
	return slices.Concat(ended, known[:min(len(known), maxHistory-len(ended))]), err
}

// endedFrom is how many of the tasks, last ended first, have ended at a moment or later.
func endedFrom(ended []tasks.Task, since time.Time) int {
	return sort.Search(len(ended), func(i int) bool { return ended[i].EndedAt.Before(since) })
}

// endsSince returns everybody's tasks that have ended since, last first, and whether there were more than most. It
// asks for so many first.
func (s *Server) endsSince(ctx context.Context, statuses []tasks.Status, since time.Time, first, most int) (ended []tasks.Task, cut bool, err error) {
	q := tasks.Query{UserID: tasks.Everybody, Statuses: statuses, Sort: tasks.LastEndedFirst, Limit: first, NoTotal: true}
	for ; ; q.Limit = min(endsAtOnce, most-len(ended)+1) {
		page, err := s.cfg.Tasks.List(ctx, everybodys, q)
		if err != nil {
			return nil, false, err
		}
		for _, t := range page.Items {
			if t.EndedAt.Before(since) {
				return ended, false, nil
			}
			if len(ended) == most {
				return ended, true, nil
			}
			ended = append(ended, t)
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return ended, false, nil
		}
	}
}

// failuresUntil are the failures of the day before a moment.
func (s *Server) failuresUntil(ctx context.Context, until time.Time) ([]tasks.Task, bool, error) {
	failed, cut, err := s.endsSince(ctx, []tasks.Status{tasks.StatusError, tasks.StatusInterrupted}, until.Add(-failuresOf), maxFailures+1, maxFailures)
	for len(failed) > 0 && failed[0].EndedAt.After(until) {
		failed = failed[1:]
	}
	return failed, cut, err
}
