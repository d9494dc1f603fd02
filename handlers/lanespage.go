package handlers

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/tasks"
	"filmroom/views"
)

const (
	lanesFresh   = 2 * time.Second // how old what all viewers of the lanes share may be
	lanesRunning = 50              // running tasks on the page
	maxHistory   = 5000            // tasks that the charts are made of
	maxFailures  = 500             // failed tasks that are grouped
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
	q := tasks.Query{UserID: tasks.Everybody, Statuses: statuses, Sort: tasks.LastEndedFirst, Limit: maxLimit, NoTotal: true}
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

func (s *Server) lanesPage(c echo.Context) error {
	if err := query(c).done(); err != nil {
		return err
	}
	return s.showLanes(c, http.StatusOK, nil)
}

// showLanes sends the page, with a form that was refused as it was typed.
func (s *Server) showLanes(c echo.Context, status int, typed map[string]views.LaneForm) error {
	parts, err := s.lanesParts(c.Request().Context(), who(c).person())
	if err != nil {
		return err
	}
	parts.Typed = typed
	return s.render(c, status, views.LanesPage(views.NewLanes(s.frame(c), parts)))
}

// changeLaneFromPage changes a lane in place. A rate left empty is no limit.
func (s *Server) changeLaneFromPage(c echo.Context) error {
	typed, err := laneForm(c)
	if err != nil {
		return err
	}
	change, err := laneChangeOf(typed)
	return s.changeLaneAs(c, typed, change, err)
}

func (s *Server) pauseLaneFromPage(c echo.Context) error  { return s.setLanePaused(c, true) }
func (s *Server) resumeLaneFromPage(c echo.Context) error { return s.setLanePaused(c, false) }

func (s *Server) setLanePaused(c echo.Context, paused bool) error {
	typed, err := laneForm(c)
	if err != nil {
		return err
	}
	return s.changeLaneAs(c, typed, tasks.LaneChange{Paused: &paused, Reason: typed.Reason}, nil)
}

// laneForm reads a lane's form, whose buttons share all its fields.
func laneForm(c echo.Context) (views.LaneForm, error) {
	p, err := form(c)
	if err != nil {
		return views.LaneForm{}, err
	}
	return views.LaneForm{Capacity: p.text("capacity"), Rate: p.text("rate"), Burst: p.text("burst"), Reason: p.text("reason")}, p.done()
}

func laneChangeOf(typed views.LaneForm) (tasks.LaneChange, error) {
	var wrong []fieldFault
	number := func(field, text string) (n float64) {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			wrong = append(wrong, fieldFault{field, "must be a number"})
		}
		return n
	}
	capacity, rate := int(number("capacity", typed.Capacity)), 0.0
	change := tasks.LaneChange{Capacity: &capacity, Rate: &rate, Reason: typed.Reason}
	if typed.Rate != "" {
		rate = number("rate", typed.Rate)
	}
	if typed.Burst != "" {
		burst := int(number("burst", typed.Burst))
		change.Burst = &burst
	}
	if wrong != nil {
		return change, unprocessable(wrong...)
	}
	return change, nil
}

// changeLaneAs makes a change, and shows the lane as it is then, or the form with what is wrong.
func (s *Server) changeLaneAs(c echo.Context, typed views.LaneForm, change tasks.LaneChange, err error) error {
	name := c.Param("name")
	if err == nil {
		err = s.setLane(c, name, change)
	}
	refused := map[string]views.LaneForm{}
	status := http.StatusOK
	if err != nil {
		f, known := faultOf(err)
		if !known || f.status != http.StatusUnprocessableEntity {
			return err
		}
		status, typed.Error = f.status, f.text()
		refused[name] = typed
	}
	s.lanes.forget()
	switch {
	case isPartial(c):
		return s.renderLane(c, status, name, refused)
	case err != nil:
		return s.showLanes(c, status, refused)
	default:
		return seeOther(c, views.LanesURL)
	}
}

func (l *lanesCache) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = time.Time{}
}

func (s *Server) renderLane(c echo.Context, status int, name string, refused map[string]views.LaneForm) error {
	parts, err := s.lanesParts(c.Request().Context(), who(c).person())
	if err != nil {
		return err
	}
	parts.Typed = refused
	for _, l := range views.NewLanes(s.frame(c), parts).Lanes {
		if l.Name == name {
			return s.render(c, status, views.LanePartial(l), views.NoticePartial(views.Notice{}))
		}
	}
	return errNotHere
}
