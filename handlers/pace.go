package handlers

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
)

// traffic is what a request has moved so far.
type traffic struct {
	in     atomic.Int64
	broken atomic.Pointer[fault] // the body ended before its end, in this way
}

func trafficOf(c echo.Context) *traffic {
	if t, ok := c.Get(keyTraffic).(*traffic); ok {
		return t
	}
	return &traffic{}
}

// pace moves the connection's deadlines with each read and write: a slow transfer may last for hours, one that
// stands still for longer than Config.Idle ends. The server's own ReadTimeout and WriteTimeout count from
// the request's header and would cut off slow uploads and every stream.
func (s *Server) pace(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		t := &traffic{}
		c.Set(keyTraffic, t)
		res, r := c.Response(), c.Request()
		control := http.NewResponseController(res.Writer)
		// Also for what is written before the handler writes: a 100 Continue.
		_ = control.SetWriteDeadline(time.Now().Add(s.cfg.Idle)) // not every test's writer has deadlines
		res.Writer = &pacedWriter{ResponseWriter: res.Writer, control: control, idle: s.cfg.Idle}
		if r.Body != nil && r.Body != http.NoBody {
			// Also for a body that no handler reads: the server waits for what is left of it.
			_ = control.SetReadDeadline(time.Now().Add(s.cfg.Idle))
			// In a copy: by its own request's body the server knows whether one was left unread, and then
			// closes so gently that the answer still arrives.
			paced := r.WithContext(r.Context())
			paced.Body = &pacedBody{body: r.Body, control: control, idle: s.cfg.Idle, traffic: t}
			c.SetRequest(paced)
		}
		return next(c)
	}
}

type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	idle    time.Duration
}

// Unwrap lets http.ResponseController flush.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *pacedWriter) WriteHeader(status int) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.idle))
	w.ResponseWriter.WriteHeader(status)
}

func (w *pacedWriter) Write(b []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.idle))
	return w.ResponseWriter.Write(b)
}

type pacedBody struct {
	body    io.ReadCloser
	control *http.ResponseController
	idle    time.Duration
	traffic *traffic
}

func (b *pacedBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(b.idle))
	n, err := b.body.Read(p)
	b.traffic.in.Add(int64(n))
	switch {
	case errors.Is(err, io.EOF):
		// From here on the server watches the connection for the client's leaving; a deadline left behind
		// would look like that.
		_ = b.control.SetReadDeadline(time.Time{})
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.traffic.broken.Store(errStoodStill)
	case err != nil:
		b.traffic.broken.Store(errBrokeOff)
	}
	return n, err
}

func (b *pacedBody) Close() error { return b.body.Close() }
