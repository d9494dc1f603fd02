package handlers

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/tasks"
)

// What people may ask of the scheduler: lower numbers run first, and those below 100 are for administrators.
const (
	mostUrgent       = 1
	mostUrgentPerson = 100
	leastUrgent      = 1000
)

func priorityFrom(v tasks.Person) int {
	if v.Admin {
		return mostUrgent
	}
	return mostUrgentPerson
}

func (s *Server) cancelTask(c echo.Context) error {
	return s.move(c, http.StatusAccepted, accounts.ActTaskCanceled, s.cfg.Tasks.Cancel)
}

func (s *Server) retryTask(c echo.Context) error {
	return s.move(c, http.StatusAccepted, accounts.ActTaskRetried, s.cfg.Tasks.Retry)
}

func (s *Server) pauseTask(c echo.Context) error {
	return s.move(c, http.StatusOK, accounts.ActTaskPaused, s.cfg.Tasks.Pause)
}

func (s *Server) resumeTask(c echo.Context) error {
	return s.move(c, http.StatusOK, accounts.ActTaskResumed, s.cfg.Tasks.Resume)
}

func (s *Server) prioritizeTask(c echo.Context) error {
	var given struct {
		Priority *int `json:"priority"`
	}
	if _, err := id(c, "taskId"); err != nil {
		return err
	}
	if err := decodeJSON(c, &given); err != nil {
		return err
	}
	prioritize, err := s.prioritize(who(c).person(), given.Priority)
	if err != nil {
		return err
	}
	return s.move(c, http.StatusOK, accounts.ActTaskPrioritized, prioritize)
}

// prioritize is the move to a priority that the person may ask for.
func (s *Server) prioritize(p tasks.Person, priority *int) (taskMove, error) {
	if priority == nil || *priority < priorityFrom(p) || *priority > leastUrgent {
		return nil, invalid("priority", mustBeFrom(priorityFrom(p), leastUrgent))
	}
	return func(ctx context.Context, p tasks.Person, taskID string) (tasks.Task, error) {
		return s.cfg.Tasks.Prioritize(ctx, p, taskID, *priority)
	}, nil
}

// A taskMove changes a task of the person's.
type taskMove func(context.Context, tasks.Person, string) (tasks.Task, error)

// move makes a person's move of a task. It is audited as action when the task is somebody else's.
func (s *Server) move(c echo.Context, status int, action string, move taskMove) error {
	taskID, err := id(c, "taskId")
	if err != nil {
		return err
	}
	t, err := move(c.Request().Context(), who(c).person(), taskID)
	if err != nil {
		return err
	}
	s.auditMove(c, action, t)
	return sendJSON(c, status, s.newWholeTaskJSON(c, t))
}
