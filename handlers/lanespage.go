package handlers

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/tasks"
	"filmroom/views"
)

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
