package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
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

// A stream is one viewer's connection, taken over from the HTTP server once the request is understood and its
// right proved. Ten thousand of them wait at once: what the server keeps for a request (buffers, headers, the
// stack of its handlers) would be most of a stream's memory, and copying through it much of an event's cost.
type stream struct {
	feed
	sub       *tasks.Subscription
	ended     <-chan struct{} // what the viewer proved to be with has ended
	release   func()          // of ended
	conn      net.Conn
	patience  time.Time // until then a write may take: a viewer who does not read is let go
	heartbeat time.Duration
	metrics   *Metrics
	now       func() time.Time
}

// stream follows what scope names until the viewer leaves, loses the right to, or has heard everything, or the
// desk stops. Errors before the first byte are answers like any other's; afterwards the stream is on its own, and
// the request is over for whoever counts and logs it.
func (s *Server) stream(c echo.Context, scope tasks.Scope, f feed) error {
	st := s.newStream(c, scope, f)
	first, err := st.snapshot(c.Request().Context(), st.sub)
	if err == nil {
		st.conn, err = takeOver(c)
	}
	if err != nil {
		st.close()
		return err
	}
	first = append(streamHeader(c.Response().Header()), first...)
	ctx, cancel := context.WithCancel(context.Background())
	s.streams.Go(func() { st.watch(cancel) })
	s.streams.Go(func() { s.follow(ctx, st, first) })
	return nil
}

func (s *Server) newStream(c echo.Context, scope tasks.Scope, f feed) *stream {
	v := who(c)
	ended, release := s.cfg.Accounts.Watch().Add(v.credential)
	s.cfg.Metrics.streams.Inc()
	return &stream{feed: f, sub: s.cfg.Tasks.Subscribe(v.person(), scope), ended: ended, release: release,
		heartbeat: s.cfg.Heartbeat, metrics: s.cfg.Metrics, now: s.now}
}

// takeOver gets the connection for the stream, with all deadlines gone.
func takeOver(c echo.Context) (net.Conn, error) {
	conn, _, err := http.NewResponseController(c.Response()).Hijack()
	if err != nil {
		return nil, fmt.Errorf("an event stream needs a connection of its own: %w", err)
	}
	c.Response().Status = http.StatusOK // for those who count and log
	return conn, nil
}

// streamHeader is the head of the answer. Its body ends with the connection (RFC 9112, section 6.3), so that an
// event goes out as it is, the same bytes to each viewer.
func streamHeader(h http.Header) []byte {
	h.Set("Content-Type", eventStreamType)
	h.Set("X-Accel-Buffering", "no") // tells a proxy on the way not to keep events back
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	h.Set("Connection", "close")
	b := bytes.NewBufferString("HTTP/1.1 200 OK\r\n")
	_ = h.Write(b) // into memory
	b.WriteString("\r\n")
	return b.Bytes()
}

// follow is the life of a stream. It has no handler above it that would survive a panic for it.
func (s *Server) follow(ctx context.Context, st *stream, first []byte) {
	defer st.close()
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("an event stream broke", "error", fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
		}
	}()
	err := st.send(first)
	if err == nil {
		err = st.run(ctx)
	}
	if err != nil && !errors.Is(err, errViewerGone) {
		s.log.Error("an event stream ended early", "error", err)
	}
}

// Drain waits for the event streams to end, which the HTTP server's own shutdown no longer knows of. They do when
// the engine stops. To be called after that shutdown, when no stream can begin any more.
func (s *Server) Drain(ctx context.Context) error {
	drained := make(chan struct{})
	go func() {
		s.streams.Wait()
		close(drained)
	}()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *stream) close() {
	s.sub.Close()
	s.release()
	s.metrics.streams.Dec()
	if s.conn != nil {
		_ = s.conn.Close() // also ends watch
	}
}

// watch calls gone when the viewer leaves. After its request a client has nothing to say: one that does is let
// go as well.
func (s *stream) watch(gone func()) {
	defer gone()
	_, _ = s.conn.Read(make([]byte, 1))
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
		return gone(ctx, err)
	}
	return s.send(frames)
}

// news sends what there is to take.
func (s *stream) news(ctx context.Context) error {
	updates, lagged := s.sub.Take()
	if lagged {
		frames, err := s.snapshot(ctx, s.sub)
		if err != nil {
			return gone(ctx, err)
		}
		return s.send(frames)
	}
	var frames []byte
	for _, u := range updates {
		frames = join(frames, s.update(u))
	}
	if err := s.send(frames); err != nil {
		return err
	}
	now := s.now()
	for _, u := range updates {
		s.metrics.lag.Observe(max(now.Sub(u.At), 0).Seconds())
	}
	return nil
}

// join adds a frame to those before it. A frame alone is sent as it is: it is everybody's, and not to be written to.
func join(frames, frame []byte) []byte {
	if frames == nil {
		return slices.Clip(frame)
	}
	return append(frames, frame...)
}

// gone tells what failed for a viewer who left meanwhile from what failed by itself.
func gone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errViewerGone
	}
	return err
}

// send writes at once. A viewer has between one and two heartbeats to read; moving the deadline with each of ten
// thousand writes would cost more than it tells.
func (s *stream) send(frames []byte) error {
	if len(frames) == 0 {
		return nil
	}
	if now := time.Now(); s.patience.Sub(now) < s.heartbeat {
		s.patience = now.Add(2 * s.heartbeat)
		_ = s.conn.SetWriteDeadline(s.patience) // fails on a connection that is closed, as the write then does
	}
	n, err := s.conn.Write(frames)
	s.metrics.sent.Add(float64(n))
	if err != nil {
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
