package handlers

import (
	"context"
	_ "embed"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/tasks"
)

// readyTimeout bounds the question to the store.
const readyTimeout = 2 * time.Second

// healthz says that the process answers. It asks nobody.
func (s *Server) healthz(c echo.Context) error {
	return sendJSON(c, http.StatusOK, map[string]string{"status": "ok"})
}

// readiness is whether the desk takes work; what is wrong is told to administrators alone.
type readiness struct {
	Status string   `json:"status"` // ready or not ready
	Wrong  []string `json:"wrong,omitempty"`
}

func (s *Server) readyz(c echo.Context) error {
	wrong := s.cfg.Tasks.Health()
	if s.cfg.Ready != nil {
		ctx, cancel := context.WithTimeout(c.Request().Context(), readyTimeout)
		defer cancel()
		if err := s.cfg.Ready(ctx); err != nil {
			s.log.WarnContext(ctx, "the store does not answer", "requestId", requestID(c), "error", err)
			wrong = append(wrong, "the store does not answer")
		}
	}
	if len(wrong) == 0 {
		return sendJSON(c, http.StatusOK, readiness{Status: "ready"})
	}
	answer := readiness{Status: "not ready"}
	if who(c).Admin {
		answer.Wrong = wrong
	}
	return sendJSON(c, http.StatusServiceUnavailable, answer)
}

type statusJSON struct {
	Version   string               `json:"version"`
	Store     string               `json:"store"`
	StartedAt stamp                `json:"startedAt"`
	UptimeSec int64                `json:"uptimeSeconds"`
	Tasks     map[tasks.Status]int `json:"tasks"` // the person's own, those dismissed left out
	Lanes     []laneJSON           `json:"lanes"`
	Streams   int                  `json:"streams"`
}

type laneJSON struct {
	Name       string `json:"name"`
	Capacity   int    `json:"capacity"`
	Processing int    `json:"processing"`
}

func (s *Server) status(c echo.Context) error {
	counts, err := s.cfg.Tasks.Counts(c.Request().Context(), who(c).person())
	if err != nil {
		return err
	}
	stats := s.cfg.Tasks.Stats()
	answer := statusJSON{
		Version: s.cfg.Version, Store: s.cfg.StoreName, StartedAt: stamp(s.started), UptimeSec: int64(s.now().Sub(s.started).Seconds()),
		Tasks: map[tasks.Status]int{}, Lanes: make([]laneJSON, 0, len(stats.Lanes)), Streams: stats.Viewers,
	}
	for _, status := range tasks.Statuses {
		answer.Tasks[status] = 0
	}
	for _, n := range counts {
		if !n.Dismissed {
			answer.Tasks[n.Status] += n.N
		}
	}
	for _, l := range stats.Lanes {
		answer.Lanes = append(answer.Lanes, laneJSON{l.Name, l.Capacity, l.Running})
	}
	return sendJSON(c, http.StatusOK, answer)
}

//go:embed openapi.json
var openAPIDocument []byte

// openAPI sends the description of the API. A test holds it against the routes and real answers.
func (s *Server) openAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/json", openAPIDocument)
}
