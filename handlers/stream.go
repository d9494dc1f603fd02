package handlers

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"filmroom/tasks"
)

const eventStreamType = "text/event-stream"

// A feed is what one kind of stream has to say. It belongs to one stream and is called by it alone.
type feed interface {
	// snapshot is how things stand, joined to the news of sub. A stream begins with it, and begins again
	// with it when its viewer has fallen behind.
	snapshot(ctx context.Context, sub *tasks.Subscription) (frames []byte, err error)
	// update is a piece of news as it is sent, nil for nothing.
	update(u *tasks.Update) []byte
	// over reports whether everything has been said, so that the stream ends.
	over() bool
	// late is when refresh has something to say beside the news; nil: nothing is due.
	late() <-chan time.Time
	refresh(ctx context.Context) (frames []byte, err error)
	// beat is what is sent now and then so that nobody on the way takes the silence for an end.
	beat() []byte
}

// A stream is one viewer's connection.
type stream struct {
	feed
	sub     *tasks.Subscription
	ended   <-chan struct{} // what the viewer proved to be with has ended
	res     *echo.Response
	control *http.ResponseController
	lag     prometheus.Observer
	now     func() time.Time
}

// stream follows what scope names until the viewer leaves, loses the right to, or has heard everything, or the
// desk stops. Errors before the first byte are answers like any other's.
func (s *Server) stream(c echo.Context, scope tasks.Scope, f feed) error {
	v, ctx := who(c), c.Request().Context()
	ended, release := s.cfg.Accounts.Watch().Add(v.credential)
	defer release()
	sub := s.cfg.Tasks.Subscribe(v.person(), scope)
	defer sub.Close()
	first, err := f.snapshot(ctx, sub)
	if err != nil {
		return err
	}
	s.cfg.Metrics.streams.Inc()
	defer s.cfg.Metrics.streams.Dec()
	st := &stream{feed: f, sub: sub, ended: ended, res: c.Response(), control: http.NewResponseController(c.Response()),
		lag: s.cfg.Metrics.lag, now: s.now}
	st.begin(s.cfg.Heartbeat)
	if st.send(first) != nil || f.over() {
		return nil
	}
	return st.run(ctx, s.cfg.Heartbeat)
}

// begin sends the header, which tells a proxy on the way not to keep events back.
func (s *stream) begin(patience time.Duration) {
	h := s.res.Header()
	h.Set("Content-Type", eventStreamType)
	h.Set("X-Accel-Buffering", "no")
	if w, ok := s.res.Writer.(*pacedWriter); ok {
		w.idle = patience // a viewer who does not read for so long is let go
	}
	s.res.WriteHeader(http.StatusOK)
}

var comment = []byte(":\n\n")

// run sends what happens. That writing fails means no more than that the viewer has gone or stopped reading.
func (s *stream) run(ctx context.Context, heartbeat time.Duration) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var sent, err error
		select {
		case <-ctx.Done():
			return nil
		case <-s.ended:
			return nil
		case <-s.sub.Done():
			return nil
		case <-beat.C:
			sent = s.send(s.beat())
		case <-s.late():
			var frames []byte
			if frames, err = s.refresh(ctx); err == nil {
				sent = s.send(frames)
			}
		case <-s.sub.Ready():
			sent, err = s.news(ctx)
		}
		if err != nil || sent != nil || s.over() {
			return err
		}
	}
}

// news sends what there is to take.
func (s *stream) news(ctx context.Context) (sent, err error) {
	updates, lagged := s.sub.Take()
	if lagged {
		frames, err := s.snapshot(ctx, s.sub)
		if err != nil {
			return nil, err
		}
		return s.send(frames), nil
	}
	for _, u := range updates {
		if _, sent = s.res.Write(s.update(u)); sent != nil {
			return sent, nil
		}
	}
	sent = s.control.Flush()
	now := s.now()
	for _, u := range updates {
		s.lag.Observe(max(now.Sub(u.At), 0).Seconds())
	}
	return sent, nil
}

func (s *stream) send(frames []byte) error {
	if _, err := s.res.Write(frames); err != nil {
		return err
	}
	return s.control.Flush()
}

// appendFrame adds one event to a stream. An event without a name is a message. Data may have several lines,
// ended in any way; each becomes a line of its own, so that no data can end an event or begin one.
func appendFrame(to []byte, id, name string, data []byte) []byte {
	if id != "" {
		to = append(append(append(to, "id: "...), id...), '\n')
	}
	if name != "" {
		to = append(append(append(to, "event: "...), name...), '\n')
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		to = append(append(append(to, "data: "...), line...), '\n')
	}
	return append(to, '\n')
}
