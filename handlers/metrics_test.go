package handlers_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

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
	const followed = `filmroom_http_requests_total{method="GET",route="/api/tasks/:taskId",status="200"} 1`
	text := scrapedUntil(t, registry, followed) // a stream may end before its request is counted
	for _, want := range []string{
		followed,
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

// scrapedUntil is what the registry tells once that has the line.
func scrapedUntil(t *testing.T, registry *prometheus.Registry, line string) string {
	t.Helper()
	for {
		scrape := httptest.NewRecorder()
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(scrape, httptest.NewRequest("GET", "/metrics", nil))
		if text := scrape.Body.String(); strings.Contains(text, line+"\n") {
			return text
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("the metrics never had %s", line)
		default:
			runtime.Gosched()
		}
	}
}

// Threat: viewers who left, or who stopped reading, are kept for ever.
func TestAViewerWhoLeavesOrDoesNotReadIsLetGo(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	metrics := handlers.NewMetrics(registry)
	ada := setup(t, options{config: func(c *handlers.Config) {
		c.Metrics, c.Heartbeat = metrics, 50*time.Millisecond
	}}).person("ada@example.org")
	l := ada.listen(t, "/api/events")
	scrapedUntil(t, registry, "filmroom_streams 1")
	l.close()
	scrapedUntil(t, registry, "filmroom_streams 0")

	there, here := net.Pipe() // keeps nothing for a reader who does not read
	defer here.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = http.Serve(&lone{conn: there}, ada.server)
	}()
	fmt.Fprintf(here, "GET /api/events HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\n\r\n", ada.token)
	must(here.Read(make([]byte, 1))) // the stream is open
	scrapedUntil(t, registry, "filmroom_streams 0")
	<-served
}

// lone is a listener of one connection.
type lone struct {
	net.Listener
	conn net.Conn
}

func (l *lone) Accept() (net.Conn, error) {
	if l.conn == nil {
		return nil, net.ErrClosed
	}
	conn := l.conn
	l.conn = nil
	return conn, nil
}

func (l *lone) Close() error { return nil }
