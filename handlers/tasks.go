package handlers

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/tasks"
)

const (
	defaultLimit = 20
	maxLimit     = 200
	maxLogLimit  = 1000
)

// pageJSON is one page of a list.
type pageJSON[T any] struct {
	Items      []T     `json:"items"`
	Total      int     `json:"total"`
	TotalExact bool    `json:"totalExact"`
	NextCursor *string `json:"nextCursor"`
}

func (s *Server) listTasks(c echo.Context) error {
	q, err := s.taskQuery(c)
	if err != nil {
		return err
	}
	page, err := s.cfg.Tasks.List(c.Request().Context(), who(c).person(), q)
	if err != nil {
		return err
	}
	items := make([]taskJSON, 0, len(page.Items))
	for _, t := range page.Items {
		items = append(items, s.newTaskJSON(c, t))
	}
	c.Response().Header().Set("X-Total-Count", strconv.Itoa(page.Total))
	return sendJSON(c, http.StatusOK, pageJSON[taskJSON]{items, page.Total, page.TotalExact, orNull(page.NextCursor)})
}

// taskQuery reads the API's filters.
func (s *Server) taskQuery(c echo.Context) (tasks.Query, error) {
	p := query(c)
	q := tasks.Query{
		Statuses: someOf(p, "status", tasks.Statuses...), Kind: s.kind(p), Lane: p.text("lane"),
		Words: tasks.Words(p.text("q")), From: p.moment("from"), To: p.moment("to"), Dismissed: p.flag("dismissed"),
		Sort:  oneOf(p, "sort", tasks.NewestFirst, tasks.OldestFirst, tasks.LastEndedFirst, tasks.FirstEndedFirst),
		Limit: p.integer("limit", defaultLimit, 0, maxLimit), Cursor: p.text("cursor"),
	}
	owner := p.text("owner")
	if err := p.done(); err != nil {
		return q, err
	}
	var err error
	q.UserID, err = s.ownerID(c.Request().Context(), who(c), owner)
	return q, err
}

// ownerID is whose tasks are asked for; administrators may name another person, or * for everybody.
func (s *Server) ownerID(ctx context.Context, v *viewer, owner string) (string, error) {
	switch {
	case owner == "" || owner == v.Email:
		return v.ID, nil
	case !v.Admin:
		return "", errNotAdmin
	case owner == tasks.Everybody:
		return owner, nil
	}
	u, err := s.cfg.Accounts.UserByEmail(ctx, owner)
	if errors.Is(err, accounts.ErrNotFound) {
		return "", invalid("owner", "must be the e-mail address of an account, or *")
	}
	return u.ID, err
}

// getTask tells one task, or follows it where an event stream is asked for.
func (s *Server) getTask(c echo.Context) error {
	taskID, err := id(c, "taskId")
	if err != nil {
		return err
	}
	if isStream(c) {
		return s.taskEvents(c, taskID)
	}
	t, err := s.cfg.Tasks.Get(c.Request().Context(), who(c).person(), taskID)
	if err != nil {
		return err
	}
	answer := s.newWholeTaskJSON(c, t)
	if err := s.explain(c.Request().Context(), who(c).person(), t, &answer); err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, answer)
}

func (s *Server) changeTask(c echo.Context) error {
	var change struct {
		Dismissed *bool `json:"dismissed"`
	}
	taskID, err := id(c, "taskId")
	if err != nil {
		return err
	}
	if err := decodeJSON(c, &change); err != nil {
		return err
	}
	if change.Dismissed == nil {
		return invalid("dismissed", "must be true or false")
	}
	t, err := s.cfg.Tasks.Dismiss(c.Request().Context(), who(c).person(), taskID, *change.Dismissed)
	if err != nil {
		return err
	}
	s.auditMove(c, accounts.ActTaskDismissed, t)
	return sendJSON(c, http.StatusOK, s.newWholeTaskJSON(c, t))
}

// logJSON is a part of a task's log. NextAfter goes on from it; null when there is no more.
type logJSON struct {
	Items     []logLineJSON `json:"items"`
	NextAfter *int64        `json:"nextAfter"`
}

type logLineJSON struct {
	Attempt int    `json:"attempt"`
	Seq     int64  `json:"seq"`
	At      stamp  `json:"at"`
	Level   string `json:"level"`
	Text    string `json:"text"`
}

func (s *Server) taskLog(c echo.Context) error {
	taskID, err := id(c, "taskId")
	if err != nil {
		return err
	}
	p := query(c)
	after, limit := p.integer("after", 0, 0, math.MaxInt), p.integer("limit", maxLogLimit, 1, maxLogLimit)
	if err := p.done(); err != nil {
		return err
	}
	lines, err := s.cfg.Tasks.Log(c.Request().Context(), who(c).person(), taskID, int64(after), limit)
	if err != nil {
		return err
	}
	answer := logJSON{Items: make([]logLineJSON, 0, len(lines))}
	for _, l := range lines {
		answer.Items = append(answer.Items, logLineJSON{l.Attempt, l.Seq, stamp(l.At), l.Level, l.Text})
	}
	if len(lines) == limit {
		answer.NextAfter = &lines[limit-1].Seq
	}
	return sendJSON(c, http.StatusOK, answer)
}
