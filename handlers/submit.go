package handlers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/imaging"
	"filmroom/tasks"
	"filmroom/views"
)

const (
	maxWait = time.Minute
	maxArgs = 64 << 10 // bytes of a task's arguments, and of an external task's result
)

// A submission is what a program asks for.
type submission struct {
	Kind           string          `json:"kind"`
	Name           string          `json:"name"`
	Args           json.RawMessage `json:"args"`
	Lane           string          `json:"lane"`
	Priority       *int            `json:"priority"`
	LockKey        string          `json:"lockKey"`
	PartitionKey   string          `json:"partitionKey"`
	AvailableAt    string          `json:"availableAt"`
	MaxAttempts    *int            `json:"maxAttempts"`
	Timeout        string          `json:"timeout"`
	IdempotencyKey string          `json:"idempotencyKey"`
	Dedupe         bool            `json:"dedupe"`
}

// elsewhere are kinds that have a way in of their own.
var elsewhere = map[string]string{
	"import":       "files are brought in with POST /api/series",
	"delete":       "series are deleted with DELETE /api/series/{seriesId}",
	tasks.BulkKind: "actions on many tasks are submitted with POST /api/tasks/bulk",
	"webhook":      "webhooks are set with PUT /api/me/webhook and sent by the desk",
}

// submitTask takes a task in: 201 with the new one, 200 with the one that stands for it already. With wait it
// answers when the task has ended, or says by 202 that it has not yet.
func (s *Server) submitTask(c echo.Context) error {
	var given submission
	if err := decodeJSON(c, &given); err != nil {
		return err
	}
	p := query(c)
	wait := p.duration("wait", 0, maxWait)
	if err := p.done(); err != nil {
		return err
	}
	ctx, person := c.Request().Context(), who(c).person()
	spec, err := s.specOf(ctx, person, given)
	if err != nil && !errors.Is(err, imaging.ErrNotFound) {
		return err
	}
	t, status, err := s.place(ctx, person, spec, err)
	if err != nil {
		return err
	}
	if status == http.StatusCreated {
		s.auditSubmitted(c, t)
	}
	c.Response().Header().Set("Location", "/api"+views.TaskURL(t.ID))
	if wait > 0 {
		if t, err = s.awaitEnd(c, t.ID, wait); err != nil {
			return err
		}
		if status = http.StatusAccepted; t.Status.Final() {
			status = http.StatusOK
		}
	}
	return sendJSON(c, status, s.newWholeTaskJSON(c, t))
}

// specOf is what the engine is asked for. Everything that is wrong with the submission is told together. With
// [imaging.ErrNotFound] it names what is not there (any more), and is otherwise as it should be.
func (s *Server) specOf(ctx context.Context, person tasks.Person, given submission) (tasks.Spec, error) {
	k, err := s.kindOf(given.Kind)
	if err != nil {
		return tasks.Spec{}, err
	}
	p := newParams(url.Values{"timeout": {given.Timeout}, "availableAt": {given.AvailableAt}})
	spec := tasks.Spec{Kind: given.Kind, Name: cmp.Or(strings.TrimSpace(given.Name), given.Kind), Args: given.Args, Dedupe: given.Dedupe,
		IdempotencyKey: p.word("idempotencyKey", given.IdempotencyKey)}
	p.name("name", spec.Name)
	if len(given.Args) == 0 {
		spec.Args = json.RawMessage("{}")
	}
	if given.Kind == exportKind {
		return s.exportSpecOf(ctx, p, person, k, given, spec)
	}
	p.arguments(k, spec.Args.(json.RawMessage))
	if given.Kind == tasks.ExternalKind {
		p.nothingToSchedule(given)
	} else if err := s.schedule(ctx, p, person, k, given, &spec); err != nil {
		return spec, err
	}
	return spec, p.done()
}

// kindOf finds a kind that people submit themselves; the zero Kind is the external one.
func (s *Server) kindOf(name string) (tasks.Kind, error) {
	if name == tasks.ExternalKind {
		return tasks.Kind{}, nil
	}
	k, known := s.cfg.Tasks.Kind(name)
	if known && (k.Direct || name == exportKind) {
		return k, nil
	}
	if where, ok := elsewhere[name]; ok {
		return k, invalid("kind", "cannot be submitted here: "+where)
	}
	return k, invalid("kind", mustBe(append(s.cfg.Tasks.DirectKinds(), exportKind, tasks.ExternalKind)))
}

// place finds the task that was submitted under the same key, or submits a new one. The key comes first: what the spec
// names may be missing by now, and a task that stands takes no room.
func (s *Server) place(ctx context.Context, p tasks.Person, spec tasks.Spec, missing error) (t tasks.Task, status int, err error) {
	t, err = s.cfg.Tasks.Keyed(ctx, p, spec.IdempotencyKey)
	switch {
	case err == nil && !s.asksTheSame(t, spec):
		return t, 0, errOtherTask
	case !errors.Is(err, tasks.ErrNotFound):
		return t, http.StatusOK, err
	case missing != nil:
		return t, 0, missing
	}
	err = s.withRoom(ctx, p, "", func() error {
		t, status, err = s.placeNew(ctx, p, spec)
		return err
	})
	return t, status, err
}

var errOtherTask = invalid("idempotencyKey", "was used for a task that asks for something else")

// placeNew submits, or finds what stands for the same since a moment ago.
func (s *Server) placeNew(ctx context.Context, p tasks.Person, spec tasks.Spec) (tasks.Task, int, error) {
	submit := s.cfg.Tasks.Submit
	if spec.Kind == tasks.ExternalKind {
		submit = s.cfg.Tasks.RegisterExternal
	}
	t, err := submit(ctx, p, spec)
	if !errors.Is(err, tasks.ErrDuplicate) {
		return t, http.StatusCreated, err
	}
	if t.IdempotencyKey == spec.IdempotencyKey && !s.asksTheSame(t, spec) {
		return t, 0, errOtherTask
	}
	t, err = s.cfg.Tasks.Get(ctx, p, t.ID)
	return t, http.StatusOK, err
}

// asksTheSame compares a task with what is asked for under its key. What a move may have changed since is compared
// where no such move stands in the journal.
func (s *Server) asksTheSame(t tasks.Task, spec tasks.Spec) bool {
	had, err1 := asked(t.Kind, t.Args)
	now, err2 := asked(spec.Kind, spec.Args.(json.RawMessage))
	if err1 != nil || err2 != nil || string(had) != string(now) {
		return false
	}
	if t.Kind != spec.Kind || t.Name != spec.Name || t.LockKey != spec.LockKey || t.Timeout != spec.Timeout ||
		t.PartitionKey != cmp.Or(spec.PartitionKey, t.UserID) {
		return false
	}
	if t.Kind == tasks.ExternalKind {
		return true
	}
	k, _ := s.cfg.Tasks.Kind(t.Kind)
	at := tasks.Millis(spec.AvailableAt)
	if spec.AvailableAt.Before(t.CreatedAt) {
		at = t.CreatedAt
	}
	return t.Lane == cmp.Or(spec.Lane, k.Lane) &&
		(t.Priority == cmp.Or(spec.Priority, tasks.DefaultPriority) || happened(t, tasks.EventReprioritised)) &&
		(t.MaxAttempts == cmp.Or(spec.MaxAttempts, k.Retry.MaxAttempts) || happened(t, tasks.EventRetried)) &&
		(t.AvailableAt.Equal(at) || happened(t, tasks.EventRetried, tasks.EventRetryScheduled, tasks.EventHandedBack, tasks.EventRescued))
}

// happened reports whether one of the events stands in the journal, or may have before its oldest rows were folded.
func happened(t tasks.Task, events ...tasks.Event) bool {
	return slices.ContainsFunc(t.Journal, func(e tasks.Entry) bool {
		return e.Event == tasks.EventFolded || slices.Contains(events, e.Event)
	})
}

// awaitEnd returns the task as it is when it has ended, patience is over, or the desk stops.
func (s *Server) awaitEnd(c echo.Context, taskID string, patience time.Duration) (tasks.Task, error) {
	v, ctx := who(c), c.Request().Context()
	ended, release := s.cfg.Accounts.Watch().Add(v.credential)
	defer release()
	sub := s.cfg.Tasks.Subscribe(v.person(), tasks.Scope{TaskID: taskID})
	defer sub.Close()
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		t, err := s.cfg.Tasks.Get(ctx, v.person(), taskID)
		if err != nil || t.Status.Final() {
			return t, err
		}
		select {
		case <-sub.Ready():
			sub.Take()
		case <-sub.Done():
			return t, nil
		case <-over.C:
			return t, nil
		case <-ended:
			return t, errSignedOut
		case <-ctx.Done():
			return t, ctx.Err()
		}
	}
}
