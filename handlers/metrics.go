package handlers

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"filmroom/tasks"
)

// Metrics are what the desk counts of itself. They are a [tasks.Observer] too, so that the engine can be made
// with them before there is a Server. Labels are routes, kinds, lanes and statuses: never what a person sent.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	bytes    *prometheus.CounterVec
	sent     prometheus.Counter // of bytes: event streams count what they send as they go
	streams  prometheus.Gauge
	lag      prometheus.Histogram
	waited   *prometheus.HistogramVec
	attempts *prometheus.HistogramVec

	registry prometheus.Registerer
}

// NewMetrics registers the metrics; nil registers them nowhere.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	m := &Metrics{
		registry: registry,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "filmroom_http_requests_total",
			Help: "Requests by route and status."}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "filmroom_http_request_seconds",
			Help: "Time to answer by route, event streams left out.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 9)}, []string{"method", "route"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "filmroom_http_bytes_total",
			Help: "Bytes of bodies received and sent."}, []string{"direction"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "filmroom_streams", Help: "Event streams that are open."}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "filmroom_event_lag_seconds",
			Help: "Time from an event to its being written to a viewer.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}),
		waited: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "filmroom_task_wait_seconds",
			Help: "Time attempts waited in their lane.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 12)}, []string{"kind", "lane"}),
		attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "filmroom_attempt_seconds",
			Help: "Time attempts took, by how they ended.", Buckets: prometheus.ExponentialBuckets(0.01, 4, 10)}, []string{"kind", "lane", "end"}),
	}
	m.sent = m.bytes.WithLabelValues("out")
	registry.MustRegister(m.requests, m.seconds, m.bytes, m.streams, m.lag, m.waited, m.attempts)
	return m
}

// AttemptStarted is part of [tasks.Observer].
func (m *Metrics) AttemptStarted(kind, lane string, waited time.Duration) {
	m.waited.WithLabelValues(kind, lane).Observe(waited.Seconds())
}

// AttemptEnded is part of [tasks.Observer].
func (m *Metrics) AttemptEnded(kind, lane string, how tasks.Event, took time.Duration) {
	if how == "" {
		how = "lease-lost"
	}
	m.attempts.WithLabelValues(kind, lane, string(how)).Observe(took.Seconds())
}

// request counts a request that is over. Methods of requests that no route answers are not told apart: a
// client may invent as many as it likes.
func (m *Metrics) request(c echo.Context, took time.Duration) {
	method := "other"
	if r, ok := c.Get(keyRoute).(route); ok {
		method = r.method
	}
	name, res := routeOf(c), c.Response()
	m.requests.WithLabelValues(method, name, strconv.Itoa(res.Status)).Inc()
	if !strings.HasPrefix(res.Header().Get("Content-Type"), eventStreamType) {
		m.seconds.WithLabelValues(method, name).Observe(took.Seconds())
	}
	m.bytes.WithLabelValues("in").Add(float64(trafficOf(c).in.Load()))
	m.sent.Add(float64(res.Size))
}

// Follow adds what the engine and its store know at the moment of a scrape.
func (m *Metrics) Follow(manager *tasks.Manager, logger *slog.Logger) error {
	return m.registry.Register(&engineCollector{manager, logger})
}

type engineCollector struct {
	manager *tasks.Manager
	log     *slog.Logger
}

var (
	tasksDesc     = prometheus.NewDesc("filmroom_tasks", "Tasks by status, kind and lane.", []string{"status", "kind", "lane"}, nil)
	capacityDesc  = prometheus.NewDesc("filmroom_lane_capacity", "How many tasks of a lane may run here at once.", []string{"lane"}, nil)
	runningDesc   = prometheus.NewDesc("filmroom_lane_running", "Tasks of a lane that run here.", []string{"lane"}, nil)
	abandonedDesc = prometheus.NewDesc("filmroom_runners_abandoned", "Runners that did not stop when they were told to.", nil, nil)
)

func (e *engineCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{tasksDesc, capacityDesc, runningDesc, abandonedDesc} {
		to <- d
	}
}

func (e *engineCollector) Collect(to chan<- prometheus.Metric) {
	stats := e.manager.Stats()
	to <- prometheus.MustNewConstMetric(abandonedDesc, prometheus.GaugeValue, float64(stats.Abandoned))
	for _, l := range stats.Lanes {
		to <- prometheus.MustNewConstMetric(capacityDesc, prometheus.GaugeValue, float64(l.Capacity), l.Name)
		to <- prometheus.MustNewConstMetric(runningDesc, prometheus.GaugeValue, float64(l.Running), l.Name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	counts, err := e.manager.CountsOfAll(ctx)
	if err != nil {
		e.log.WarnContext(ctx, "tasks were not counted for the metrics", "error", err)
		return
	}
	for labels, n := range sumCounts(counts) {
		to <- prometheus.MustNewConstMetric(tasksDesc, prometheus.GaugeValue, float64(n), string(labels.status), labels.kind, labels.lane)
	}
}

type countLabels struct {
	status     tasks.Status
	kind, lane string
}

func sumCounts(counts []tasks.Count) map[countLabels]int {
	sums := map[countLabels]int{}
	for _, c := range counts {
		sums[countLabels{c.Status, c.Kind, c.Lane}] += c.N
	}
	return sums
}
