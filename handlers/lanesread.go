package handlers

import (
	"context"
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
	endsAtOnce   = 1000            // tasks asked for at once: each question costs about as much as a hundred rows
	failuresOf   = 24 * time.Hour
)

// everybodys is who reads for the page of lanes: charts count everybody's tasks, and name nobody's.
var everybodys = tasks.Person{UserID: "desk", Admin: true}

// A lanesCache lets all who watch the lanes share one reading of them.
type lanesCache struct {
	mu    sync.Mutex // held while the store is asked, so that it is asked once
	at    time.Time
	parts views.LanesParts
}

// lanesParts are what the page of lanes shows to the person.
func (s *Server) lanesParts(ctx context.Context, p tasks.Person) (views.LanesParts, error) {
	s.lanes.mu.Lock()
	defer s.lanes.mu.Unlock()
	if now := s.now(); now.Sub(s.lanes.at) >= lanesFresh {
		parts, err := s.readLanes(ctx, now)
		if err != nil {
			return parts, err
		}
		s.lanes.at, s.lanes.parts = now, parts
	}
	parts := s.lanes.parts
	if !p.Admin {
		return views.LanesParts{States: parts.States, History: parts.History}, nil
	}
	return parts, nil
}

func (s *Server) readLanes(ctx context.Context, now time.Time) (parts views.LanesParts, err error) {
	if parts.States, err = s.cfg.Tasks.Lanes(ctx); err != nil {
		return parts, err
	}
	parts.Running, err = s.cfg.Tasks.List(ctx, everybodys, tasks.Query{UserID: tasks.Everybody,
		Statuses: []tasks.Status{tasks.StatusProcessing}, Sort: tasks.OldestFirst, Limit: lanesRunning})
	if err != nil {
		return parts, err
	}
	recent, _, err := s.endsSince(ctx, nil, now.Add(-views.HistorySpan), maxHistory)
	if err != nil {
		return parts, err
	}
	parts.History = views.NewLaneHistory(append(recent, parts.Running.Items...), now)
	failed, cut, err := s.failuresUntil(ctx, now)
	parts.Failures, parts.Cut = views.GroupFailures(failed, now), cut
	parts.Abandoned = s.cfg.Tasks.Stats().Abandoned
	return parts, err
}

// endsSince returns everybody's tasks that have ended since, last first, and whether there were more than most.
func (s *Server) endsSince(ctx context.Context, statuses []tasks.Status, since time.Time, most int) (ended []tasks.Task, cut bool, err error) {
	q := tasks.Query{UserID: tasks.Everybody, Statuses: statuses, Sort: tasks.LastEndedFirst, Limit: endsAtOnce, NoTotal: true}
	for {
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
	failed, cut, err := s.endsSince(ctx, []tasks.Status{tasks.StatusError, tasks.StatusInterrupted}, until.Add(-failuresOf), maxFailures)
	for len(failed) > 0 && failed[0].EndedAt.After(until) {
		failed = failed[1:]
	}
	return failed, cut, err
}
