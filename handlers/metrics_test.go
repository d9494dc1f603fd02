package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"filmroom/handlers"
	"filmroom/tasks"
)

func TestWhatHappensIsCountedByPattern(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	metrics := handlers.NewMetrics(registry)
	ada := setup(t, options{
		config: func(c *handlers.Config) { c.Metrics = metrics },
		tasks:  func(c *tasks.Config) { c.Observer = metrics },
	}).person("ada@example.org")
	check(t, metrics.Follow(ada.tasks, nil))
	taskID := ada.finished("", "")
	l := ada.listen(t, "/api/tasks/"+taskID)
	l.next()
	l.ended()
	// Threat: labels that clients choose fill the memory of the desk and of whoever scrapes it.
	ada.send("BREW", "/api/tasks/"+taskID).wants(http.StatusMethodNotAllowed)
	ada.send("GET", "/secret").wants(http.StatusNotFound)
	scrape := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(scrape, httptest.NewRequest("GET", "/metrics", nil))
	text := scrape.Body.String()
	for _, want := range []string{
		`filmroom_http_requests_total{method="GET",route="/api/tasks/:taskId",status="200"} 1`,
		`filmroom_http_requests_total{method="other",route="none",status="404"} 1`,
		`filmroom_http_requests_total{method="other",route="none",status="405"} 1`,
		`filmroom_tasks{kind="gate",lane="test",status="finished"} 1`,
		`filmroom_attempt_seconds_count{end="finished",kind="gate",lane="test"} 1`,
		`filmroom_task_wait_seconds_count{kind="gate",lane="test"} 1`,
		`filmroom_lane_capacity{lane="test"} 4`,
		`filmroom_streams 0`,
		`filmroom_event_lag_seconds_count`,
		`filmroom_http_bytes_total{direction="in"}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics do not have %s", want)
		}
	}
	if strings.Contains(text, taskID) || strings.Contains(text, "secret") || strings.Contains(text, "BREW") {
		t.Error("the metrics hold what clients sent")
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("the metrics are not named as they should be: %v %v", problems, err)
	}
}
