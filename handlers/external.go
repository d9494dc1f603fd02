package handlers

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/tasks"
)

const (
	maxReportLines = 100              // of a log, in one report
	renewEvery     = 10 * time.Second // while a file arrives, so that a long one is not silence
	// stopHeader tells the program of an external task that a person wants it to stop.
	stopHeader = "Filmroom-Cancel-Requested"
)

// reportProgress takes in how far an external task is. What is left out stays as it was, and an empty report
// says no more than that the program is alive.
func (s *Server) reportProgress(c echo.Context) error {
	var given struct {
		Message *string `json:"message"`
		Value   *int64  `json:"value"`
		Max     *int64  `json:"max"`
		Phase   string  `json:"phase"`
	}
	taskID, err := reported(c, &given)
	if err != nil {
		return err
	}
	ctx, person := c.Request().Context(), who(c).person()
	t, err := s.cfg.Tasks.Get(ctx, person, taskID)
	if err != nil {
		return err
	}
	reached := t.Progress
	for _, n := range []struct {
		name  string
		given *int64
		to    *int64
	}{{"value", given.Value, &reached.Value}, {"max", given.Max, &reached.Max}} {
		if n.given == nil {
			continue
		}
		if *n.given < 0 || *n.given > 1<<53 {
			return invalid(n.name, "must be a whole number from 0 to 9007199254740992")
		}
		*n.to = *n.given
	}
	if given.Message != nil {
		reached.Message = *given.Message
	}
	heard, err := s.cfg.Tasks.Report(ctx, person, taskID, tasks.Report{Progress: &reached, Phase: given.Phase})
	if err != nil {
		return err
	}
	if heard.CancelRequested {
		c.Response().Header().Set(stopHeader, "true")
	}
	return c.NoContent(http.StatusNoContent)
}

// reported reads a report on the task that the route names.
func reported(c echo.Context, into any) (taskID string, err error) {
	if taskID, err = id(c, "taskId"); err != nil {
		return "", err
	}
	return taskID, decodeJSON(c, into)
}

var levels = map[string]slog.Level{"": slog.LevelInfo, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func (s *Server) reportLog(c echo.Context) error {
	var given struct {
		Lines []string `json:"lines"`
		Level string   `json:"level"`
	}
	taskID, err := reported(c, &given)
	if err != nil {
		return err
	}
	level, known := levels[given.Level]
	switch {
	case !known:
		return invalid("level", "must be one of info, warn, error")
	case len(given.Lines) == 0 || len(given.Lines) > maxReportLines:
		return invalid("lines", "must be 1 to 100 strings")
	}
	if err := s.cfg.Tasks.ReportLog(c.Request().Context(), who(c).person(), taskID, level, given.Lines); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// reportFile keeps the body as the task's download. Its name comes in a header: names of files stand in no address.
func (s *Server) reportFile(c echo.Context) error {
	taskID, err := id(c, "taskId")
	if err != nil {
		return err
	}
	kind, name, err := describedFile(c.Request().Header)
	if err != nil {
		return err
	}
	ctx, person := c.Request().Context(), who(c).person()
	body := &livingBody{ctx: ctx, Reader: s.cfg.Desk.Roomy(c.Request().Body), last: s.now(), now: s.now, renew: func(ctx context.Context) error {
		_, err := s.cfg.Tasks.Report(ctx, person, taskID, tasks.Report{})
		return err
	}}
	if err := s.cfg.Tasks.ReportFile(ctx, person, taskID, name, kind, body); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// describedFile is what a file is and how it is called, from Content-Type and Content-Disposition.
func describedFile(h http.Header) (kind, name string, err error) {
	kind, name = "application/octet-stream", "result"
	if given := h.Get("Content-Type"); given != "" {
		parsed, parameters, err := mime.ParseMediaType(given)
		if err != nil || !strings.Contains(parsed, "/") {
			return "", "", invalid("Content-Type", "must be a media type like text/csv")
		}
		kind = mime.FormatMediaType(parsed, parameters)
	}
	if given := h.Get("Content-Disposition"); given != "" {
		_, parameters, err := mime.ParseMediaType(given)
		if err != nil || parameters["filename"] == "" {
			return "", "", invalid("Content-Disposition", `must be like attachment; filename="result.csv"`)
		}
		name = parameters["filename"]
	}
	return kind, name, nil
}

// A livingBody tells the engine now and then that a file still arrives.
type livingBody struct {
	io.Reader
	ctx   context.Context
	renew func(context.Context) error
	now   func() time.Time
	last  time.Time
}

func (b *livingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if now := b.now(); err == nil && now.Sub(b.last) >= renewEvery {
		b.last = now
		err = b.renew(b.ctx)
	}
	return n, err
}

func (s *Server) reportFinish(c echo.Context) error {
	var given struct {
		Message string          `json:"message"`
		Result  json.RawMessage `json:"result"`
	}
	taskID, err := reported(c, &given)
	if err != nil {
		return err
	}
	if len(given.Result) > maxArgs {
		return invalid("result", "must be "+sizeText(maxArgs)+" at most: send what is larger as the task's file")
	}
	if string(given.Result) == "null" {
		given.Result = nil
	}
	t, err := s.cfg.Tasks.ReportFinish(c.Request().Context(), who(c).person(), taskID,
		tasks.Outcome{Result: given.Result, Progress: tasks.Progress{Message: given.Message}})
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, s.newWholeTaskJSON(c, t))
}

func (s *Server) reportFail(c echo.Context) error {
	var given struct {
		Message string `json:"message"`
	}
	taskID, err := reported(c, &given)
	if err != nil {
		return err
	}
	if strings.TrimSpace(given.Message) == "" {
		return invalid("message", "must say what went wrong")
	}
	t, err := s.cfg.Tasks.ReportFail(c.Request().Context(), who(c).person(), taskID, given.Message)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, s.newWholeTaskJSON(c, t))
}
