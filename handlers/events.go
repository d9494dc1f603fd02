package handlers

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/oklog/ulid/v2"

	"filmroom/tasks"
)

const (
	maxSnapshot = 500              // tasks in the snapshot of a person's stream
	recent      = 10 * time.Minute // how far back the ends in a snapshot reach, without a Last-Event-ID
	// An event's id tells when it was told, an end's time when it was decided; a store may need a while in
	// between. Ends are looked for from so much earlier: to hear of one twice is harmless.
	overlap = 30 * time.Second
)

// eventJSON is the data of an event.
type eventJSON struct {
	TaskID  string       `json:"taskId"`
	Status  tasks.Status `json:"status"`
	Phase   string       `json:"phase"`
	Message string       `json:"message"`
	Value   *int64       `json:"value,omitempty"`
	Max     *int64       `json:"max,omitempty"`
	Attempt int          `json:"attempt"`
	At      stamp        `json:"at"`
}

func newEventJSON(t tasks.Task, at time.Time) eventJSON {
	e := eventJSON{TaskID: t.ID, Status: t.Status, Phase: t.Phase, Message: t.Progress.Message, Attempt: t.Attempt, At: stamp(at)}
	if t.Status.Final() && t.Error != "" {
		e.Message = t.Error
	}
	if p := t.Progress; p.Max > 0 {
		e.Value, e.Max = &p.Value, &p.Max
	} else if p.Value > 0 {
		e.Value = &p.Value
	}
	return e
}

// jsonFrame is a task's state as an event of the API.
func jsonFrame(to []byte, id string, t tasks.Task, at time.Time) []byte {
	data, err := json.Marshal(newEventJSON(t, at))
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return appendFrame(to, id, string(eventName(t.Status)), data)
}

// eventName is what a task's state is called on the wire.
func eventName(s tasks.Status) tasks.UpdateKind {
	switch {
	case s == tasks.StatusFinished:
		return tasks.UpdateFinish
	case s.Final():
		return tasks.UpdateFailure
	default:
		return tasks.UpdateProgress
	}
}

func encodeJSON(u *tasks.Update) []byte { return jsonFrame(nil, u.ID, u.Task, u.At) }

// never is for feeds that have nothing to say beside the news.
type never struct{}

func (never) late() <-chan time.Time                  { return nil }
func (never) refresh(context.Context) ([]byte, error) { return nil, nil }
func (never) beat() []byte                            { return comment }

// taskEvents follows one task to its end.
func (s *Server) taskEvents(c echo.Context, taskID string) error {
	if err := query(c).done(); err != nil {
		return err
	}
	heard, err := s.endHeard(c, taskID)
	if err != nil {
		return err
	}
	if heard {
		return c.NoContent(http.StatusNoContent)
	}
	return s.stream(c, tasks.Scope{TaskID: taskID}, &taskFeed{s: s, person: who(c).person(), taskID: taskID})
}

// endHeard reports whether the client comes back after it was told the task's end.
func (s *Server) endHeard(c echo.Context, taskID string) (bool, error) {
	t, err := s.cfg.Tasks.Get(c.Request().Context(), who(c).person(), taskID)
	if err != nil {
		return false, err
	}
	last, ok := s.cfg.Tasks.Since(c.Request().Header.Get("Last-Event-ID"))
	return ok && t.Status.Final() && !last.Before(t.EndedAt), nil
}

type taskFeed struct {
	never
	s      *Server
	person tasks.Person
	taskID string
	final  bool
}

func (f *taskFeed) snapshot(ctx context.Context, sub *tasks.Subscription) ([]byte, error) {
	t, err := f.s.cfg.Tasks.Get(ctx, f.person, f.taskID)
	if err != nil {
		return nil, err
	}
	t = sub.Join([]tasks.Task{t})[0]
	f.final = t.Status.Final()
	return jsonFrame(nil, sub.LastID(), t, f.s.seenAt(t)), nil
}

// seenAt is the moment a task in a snapshot is shown as of.
func (s *Server) seenAt(t tasks.Task) time.Time {
	if t.Status.Final() {
		return t.EndedAt
	}
	return s.now()
}

func (f *taskFeed) update(u *tasks.Update) []byte {
	f.final = u.Kind != tasks.UpdateProgress
	return u.Encoded(tasks.EncodingJSON, encodeJSON)
}

func (f *taskFeed) over() bool { return f.final }

// events follows all of a person's tasks.
func (s *Server) events(c echo.Context) error {
	if err := query(c).done(); err != nil {
		return err
	}
	return s.stream(c, tasks.Scope{}, s.newOwnFeed(c))
}

func (s *Server) newOwnFeed(c echo.Context) *ownFeed {
	return &ownFeed{s: s, person: who(c).person(), since: s.heardUntil(c)}
}

// heardUntil is the moment from which on a client knows nothing: what its Last-Event-ID says, or a while ago.
func (s *Server) heardUntil(c echo.Context) time.Time {
	if at, ok := s.cfg.Tasks.Since(c.Request().Header.Get("Last-Event-ID")); ok {
		return at
	}
	return s.now().Add(-recent)
}

type ownFeed struct {
	never
	s      *Server
	person tasks.Person
	since  time.Time
}

func (f *ownFeed) over() bool { return false }

func (f *ownFeed) update(u *tasks.Update) []byte {
	return u.Encoded(tasks.EncodingJSON, encodeJSON)
}

// snapshot is what runs or waits and what has ended since. Until all of it is sent, the client's position
// stays where it was: the last event alone carries the new one.
func (f *ownFeed) snapshot(ctx context.Context, sub *tasks.Subscription) ([]byte, error) {
	items, all, err := f.s.unheard(ctx, f.person, f.since)
	if err != nil {
		return nil, err
	}
	items = sub.Join(items)
	before, after := positionAt(f.since), sub.LastID()
	f.since = f.s.now()
	frames := []byte{}
	if !all && len(items) == 0 {
		before = after
	}
	if !all {
		frames = appendFrame(frames, before, "reset", []byte("{}"))
	}
	for i, t := range items {
		id := before
		if i == len(items)-1 {
			id = after
		}
		frames = jsonFrame(frames, id, t, f.s.seenAt(t))
	}
	return append(frames, comment...), nil // also an empty snapshot says that the stream is open
}

// unheard returns the person's tasks that run or wait and those that have ended since; all is false when
// there are more of them than a snapshot holds, which then are those that run.
func (s *Server) unheard(ctx context.Context, p tasks.Person, since time.Time) (items []tasks.Task, all bool, err error) {
	q := tasks.Query{Statuses: []tasks.Status{tasks.StatusProcessing, tasks.StatusQueued, tasks.StatusPaused}, Limit: maxSnapshot + 1, NoTotal: true}
	live, err := s.cfg.Tasks.List(ctx, p, q)
	if err != nil {
		return nil, false, err
	}
	ended, err := s.endedSince(ctx, p, since.Add(-overlap))
	if err != nil {
		return nil, false, err
	}
	if items = append(live.Items, ended...); len(items) <= maxSnapshot {
		return items, true, nil
	}
	q.Statuses, q.Limit = q.Statuses[:1], maxSnapshot
	running, err := s.cfg.Tasks.List(ctx, p, q)
	return running.Items, false, err
}

// endedSince returns the tasks that have ended since, last first; one more than a snapshot holds at most.
func (s *Server) endedSince(ctx context.Context, p tasks.Person, since time.Time) (ended []tasks.Task, err error) {
	const some = 25 // mostly few have ended since, and a page costs by its rows
	q := tasks.Query{Sort: tasks.LastEndedFirst, Limit: some, NoTotal: true}
	for {
		page, err := s.cfg.Tasks.List(ctx, p, q)
		if err != nil {
			return nil, err
		}
		for _, t := range page.Items {
			if t.EndedAt.Before(since) || len(ended) > maxSnapshot {
				return ended, nil
			}
			ended = append(ended, t)
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return ended, nil
		}
		q.Limit = maxLimit
	}
}

// positionAt is an event id that stands for a moment, as if a process had begun then.
func positionAt(t time.Time) string {
	var boot ulid.ULID
	if err := boot.SetTime(ulid.Timestamp(t)); err != nil {
		return ""
	}
	return boot.String() + "-0"
}
