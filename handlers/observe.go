package handlers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/labstack/echo/v4"
)

// Keys of what the middleware leaves in the context for what comes after it.
const (
	keyRequestID = "requestId"
	keyRoute     = "route"
	keyViewer    = "viewer"
	keyTraffic   = "traffic"
)

func requestID(c echo.Context) string {
	id, _ := c.Get(keyRequestID).(string)
	return id
}

// routeOf is the pattern of the route that answers, never the path: ids of tasks and series stay out of logs
// and metrics.
func routeOf(c echo.Context) string {
	if r, ok := c.Get(keyRoute).(route); ok {
		return r.path
	}
	return "none"
}

// observe gives the request its id, and counts and logs it when it is over.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := rand.Text()[:10]
		c.Set(keyRequestID, id)
		c.Response().Header().Set("X-Request-Id", id)
		start := s.now()
		defer func() {
			took := s.now().Sub(start)
			s.cfg.Metrics.request(c, took)
			s.log.LogAttrs(c.Request().Context(), accessLevel(c), "request",
				slog.String("requestId", id), slog.String("method", c.Request().Method), slog.String("route", routeOf(c)),
				slog.Int("status", c.Response().Status), slog.Int64("tookMicros", took.Microseconds()),
				slog.Int64("bytesIn", trafficOf(c).in.Load()), slog.Int64("bytesOut", c.Response().Size),
				slog.String("userId", who(c).ID))
		}()
		return next(c)
	}
}

// accessLevel keeps what asks by itself every few seconds out of the log.
func accessLevel(c echo.Context) slog.Level {
	if r, ok := c.Get(keyRoute).(route); ok && r.quiet {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// answer turns what a handler returns, or a panic, into an answer. It stands inside observe, so that what
// is logged and counted is what the client got.
func (s *Server) answer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := s.survive(next, c); err != nil {
			s.fail(c, err)
		}
		return nil
	}
}

// survive calls next and makes a panic an error. http.ErrAbortHandler is meant for the server.
func (s *Server) survive(next echo.HandlerFunc, c echo.Context) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if e, ok := v.(error); ok && errors.Is(e, http.ErrAbortHandler) {
			panic(v)
		}
		err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}()
	return next(c)
}
