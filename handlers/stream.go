package handlers

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

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

// A stream is one viewer's connection. What it keeps while it waits is all on the heap, in small frames: of the
// stacks of ten thousand streams every hundred bytes are a megabyte.
type stream struct {
	feed
	sub       *tasks.Subscription
	ended     <-chan struct{} // what the viewer proved to be with has ended
	release   func()          // of ended
	res       *echo.Response
	control   *http.ResponseController
	heartbeat time.Duration
	metrics   *Metrics
	now       func() time.Time
}

// stream follows what scope names until the viewer leaves, loses the right to, or has heard everything, or the
// desk stops. Errors before the first byte are answers like any other's.
func (s *Server) stream(c echo.Context, scope tasks.Scope, f feed) error {
	st := s.newStream(c, scope, f)
	defer st.close()
	err := st.begin(c.Request().Context())
	if err == nil {
		err = st.run(c.Request().Context())
	}
	if errors.Is(err, errViewerGone) {
		return nil
	}
	return err
}

func (s *Server) newStream(c echo.Context, scope tasks.Scope, f feed) *stream {
	v := who(c)
	ended, release := s.cfg.Accounts.Watch().Add(v.credential)
	s.cfg.Metrics.streams.Inc()
	return &stream{feed: f, sub: s.cfg.Tasks.Subscribe(v.person(), scope), ended: ended, release: release, res: c.Response(),
		control: http.NewResponseController(c.Response()), heartbeat: s.cfg.Heartbeat, metrics: s.cfg.Metrics, now: s.now}
}

func (s *stream) close() {
	s.sub.Close()
	s.release()
	s.metrics.streams.Dec()
}

// begin sends the header, which tells a proxy on the way not to keep events back, and the snapshot.
func (s *stream) begin(ctx context.Context) error {
	first, err := s.snapshot(ctx, s.sub)
	if err != nil {
		return err
	}
	s.res.Header().Set("Content-Type", eventStreamType)
	s.res.Header().Set("X-Accel-Buffering", "no")
	if w, ok := s.res.Writer.(*pacedWriter); ok {
		w.idle = s.heartbeat // a viewer who does not read for so long is let go
	}
	s.res.WriteHeader(http.StatusOK)
	return s.send(first)
}

var comment = []byte(":\n\n")

// run sends what happens.
func (s *stream) run(ctx context.Context) error {
	beat := time.NewTicker(s.heartbeat)
	defer beat.Stop()
	for !s.over() {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-s.ended:
			return nil
		case <-s.sub.Done():
			return nil
		case <-beat.C:
			err = s.send(s.beat())
		case <-s.late():
			err = s.more(ctx)
		case <-s.sub.Ready():
			err = s.news(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errViewerGone: the viewer has left or stopped reading. It is nobody's fault.
var errViewerGone = errors.New("the viewer has gone")

func (s *stream) more(ctx context.Context) error {
	frames, err := s.refresh(ctx)
	if err != nil {
		return err
	}
	return s.send(frames)
}

// news sends what there is to take.
func (s *stream) news(ctx context.Context) error {
	updates, lagged := s.sub.Take()
	if lagged {
		frames, err := s.snapshot(ctx, s.sub)
		if err != nil {
			return err
		}
		return s.send(frames)
	}
	for _, u := range updates {
		if _, err := s.res.Write(s.update(u)); err != nil {
			return errViewerGone
		}
	}
	if s.control.Flush() != nil {
		return errViewerGone
	}
	now := s.now()
	for _, u := range updates {
		s.metrics.lag.Observe(max(now.Sub(u.At), 0).Seconds())
	}
	return nil
}

func (s *stream) send(frames []byte) error {
	if _, err := s.res.Write(frames); err != nil || s.control.Flush() != nil {
		return errViewerGone
	}
	return nil
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
