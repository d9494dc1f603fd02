package handlers

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/tasks"
)

// laneStateJSON is a lane as it is set and what it has to do.
type laneStateJSON struct {
	Name           string  `json:"name"`
	Capacity       int     `json:"capacity"`
	Paused         bool    `json:"paused"`
	Rate           float64 `json:"rate"`
	Burst          int     `json:"burst"`
	Queued         int     `json:"queued"`
	Scheduled      int     `json:"scheduled"`
	Processing     int     `json:"processing"`
	OldestQueuedAt stamp   `json:"oldestQueuedAt"`
	ChangedBy      *string `json:"changedBy"`
	ChangedAt      stamp   `json:"changedAt"`
	Reason         *string `json:"reason"`
}

func newLaneStateJSON(l tasks.LaneState) laneStateJSON {
	return laneStateJSON{
		Name: l.Name, Capacity: l.Capacity, Paused: l.Paused, Rate: l.Rate, Burst: l.Burst,
		Queued: l.Queued, Scheduled: l.Scheduled, Processing: l.Processing, OldestQueuedAt: stamp(l.OldestQueuedAt),
		ChangedBy: orNull(l.By), ChangedAt: stamp(l.ChangedAt), Reason: orNull(l.Reason),
	}
}

func (s *Server) listLanes(c echo.Context) error {
	if err := query(c).done(); err != nil {
		return err
	}
	lanes, err := s.cfg.Tasks.Lanes(c.Request().Context())
	if err != nil {
		return err
	}
	items := make([]laneStateJSON, 0, len(lanes))
	for _, l := range lanes {
		items = append(items, newLaneStateJSON(l))
	}
	return sendJSON(c, http.StatusOK, items)
}

// laneChange is what a person wants of a lane, as JSON; what is left out stays.
type laneChange struct {
	Capacity *int     `json:"capacity"`
	Paused   *bool    `json:"paused"`
	Rate     *float64 `json:"rate"`
	Burst    *int     `json:"burst"`
	Reason   string   `json:"reason"`
}

func (s *Server) changeLane(c echo.Context) error {
	var given laneChange
	if err := decodeJSON(c, &given); err != nil {
		return err
	}
	if given.Capacity == nil && given.Paused == nil && given.Rate == nil && given.Burst == nil {
		return invalid("capacity", "or paused, rate or burst must be given: there is nothing to change")
	}
	name := c.Param("name")
	if err := s.setLane(c, name, tasks.LaneChange(given)); err != nil {
		return err
	}
	return s.sendLane(c, name)
}

// setLane changes a lane and notes who did, and why.
func (s *Server) setLane(c echo.Context, name string, change tasks.LaneChange) error {
	if wrong := wrongSettings(change); wrong != nil {
		return unprocessable(wrong...)
	}
	l, err := s.cfg.Tasks.SetLane(c.Request().Context(), who(c).person(), name, change)
	if err != nil {
		return err
	}
	s.audit(c, accounts.ActLaneChanged, l.Name, settingsText(change))
	return nil
}

// wrongSettings says which settings no lane can have. The engine refuses them too, in a sentence without fields.
func wrongSettings(c tasks.LaneChange) (wrong []fieldFault) {
	if c.Capacity != nil && (*c.Capacity < 0 || *c.Capacity > tasks.MaxCapacity) {
		wrong = append(wrong, fieldFault{"capacity", mustBeFrom(0, tasks.MaxCapacity)})
	}
	if c.Rate != nil && !(*c.Rate >= 0 && *c.Rate <= 1e6) {
		wrong = append(wrong, fieldFault{"rate", "must be a number of tasks a second from 0 (no limit) to 1000000"})
	}
	if c.Burst != nil && (*c.Burst < 1 || *c.Burst > 1e6) {
		wrong = append(wrong, fieldFault{"burst", mustBeFrom(1, 1e6)})
	}
	return wrong
}

func settingsText(c tasks.LaneChange) string {
	var said []string
	if c.Capacity != nil {
		said = append(said, fmt.Sprintf("capacity %d", *c.Capacity))
	}
	if c.Paused != nil {
		said = append(said, map[bool]string{true: "paused", false: "resumed"}[*c.Paused])
	}
	if c.Rate != nil {
		said = append(said, fmt.Sprintf("rate %g/s", *c.Rate))
	}
	if c.Burst != nil {
		said = append(said, fmt.Sprintf("burst %d", *c.Burst))
	}
	text := strings.Join(said, ", ")
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

func (s *Server) sendLane(c echo.Context, name string) error {
	lanes, err := s.cfg.Tasks.Lanes(c.Request().Context())
	if err != nil {
		return err
	}
	for _, l := range lanes {
		if l.Name == name {
			return sendJSON(c, http.StatusOK, newLaneStateJSON(l))
		}
	}
	return errNotHere
}

func (s *Server) pauseLanes(c echo.Context) error  { return s.setAllLanes(c, true) }
func (s *Server) resumeLanes(c echo.Context) error { return s.setAllLanes(c, false) }

// setAllLanes pauses or resumes every lane. The body, with a reason, may be left out.
func (s *Server) setAllLanes(c echo.Context, paused bool) error {
	var given struct {
		Reason string `json:"reason"`
	}
	if err := decodeJSON(c, &given); err != nil && !isEmpty(c) {
		return err
	}
	if err := s.setPaused(c, paused, given.Reason); err != nil {
		return err
	}
	return s.listLanes(c)
}

// isEmpty reports whether a request came without a body.
func isEmpty(c echo.Context) bool {
	_, err := io.CopyN(io.Discard, c.Request().Body, 1)
	return errors.Is(err, io.EOF) && trafficOf(c).in.Load() == 0
}

func (s *Server) setPaused(c echo.Context, paused bool, reason string) error {
	lanes, err := s.cfg.Tasks.Lanes(c.Request().Context())
	if err != nil {
		return err
	}
	for _, l := range lanes {
		if l.Paused == paused {
			continue
		}
		if err := s.setLane(c, l.Name, tasks.LaneChange{Paused: &paused, Reason: reason}); err != nil {
			return err
		}
	}
	return nil
}
