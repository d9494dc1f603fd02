// Package webhook tells other programs that a task has ended: a signed POST to an address that the task's
// owner gave. Each is a task of its own, so it survives a crash, is tried again, and shows on the board
// what became of it.
//
// The request's body is a [Notice] as JSON: ids, the kind, the status and times, no names. Its headers:
//
//	Filmroom-Delivery:  id of this delivery, the same each time it is tried
//	Filmroom-Timestamp: seconds since 1970, when it was sent
//	Filmroom-Signature: sha256=HEX, see [Sign]
//
// An answer of 2xx is success; its body is not read. Delivery is at least once: a receiver that must act only
// once remembers the delivery's id. Redirects are not followed, and addresses that are not public are
// refused when they are dialled, so that nobody can reach into the desk's own network with it.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"filmroom/tasks"
)

// Kind is the kind of deliveries, and Lane where they wait.
const (
	Kind = "webhook"
	Lane = "webhook"
)

// requestTimeout bounds one request, from the look-up of the name to the answer's header.
const requestTimeout = 10 * time.Second

// A Target is where a user's webhooks go.
type Target struct {
	URL    string // http or https; "" for nowhere
	Secret string // what requests are signed with
}

// Lookup returns a user's target, the zero one for users who have none or may no longer use the desk.
type Lookup func(ctx context.Context, userID string) (Target, error)

// Config is what deliveries need. Lookup and Task must be set.
type Config struct {
	Lookup Lookup
	// Task returns a task as it stands in the store, or [tasks.ErrNotFound]; (*tasks.Manager).Get.
	Task func(ctx context.Context, p tasks.Person, id string) (tasks.Task, error)
	// AllowPrivate lets webhooks go to addresses that are not public as well.
	AllowPrivate bool
	Retry        tasks.Retry      // default: 8 attempts, 30 s and more apart, in an hour or so
	Now          func() time.Time // default time.Now
}

// args name the end that is told of. Status and times are read from the task when the request is sent,
// because the end is not stored yet when its webhook is chosen.
type args struct {
	TaskID  string `json:"taskId"`
	Earlier int    `json:"earlier"` // ends of the task before this one; a person's retry makes it end again
}

// A sender is the runner of webhook tasks.
type sender struct {
	cfg    Config
	client *http.Client
}

// Define makes the kind of webhook tasks.
func Define(cfg Config) tasks.Kind {
	if cfg.Retry.MaxAttempts == 0 {
		cfg.Retry = tasks.Retry{MaxAttempts: 8, Base: 30 * time.Second, Cap: time.Hour}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &sender{cfg, newClient(cfg.AllowPrivate)}
	return tasks.Define(tasks.Kind{
		Name: Kind, Lane: Lane, Rerunnable: true, Retry: cfg.Retry, Timeout: 3 * requestTimeout,
		Input: func(ctx context.Context, t tasks.Task) error { return s.input(ctx, t) },
	}, s.run)
}

func (s *sender) run(ctx context.Context, a args, r *tasks.Run) (tasks.Done, error) {
	delivery := r.Task()
	target, err := s.cfg.Lookup(ctx, delivery.UserID)
	if err != nil {
		return tasks.Done{}, fmt.Errorf("look up the webhook: %w", err)
	}
	if target.URL == "" {
		return tasks.Done{Message: "Nothing was sent: there is no webhook any more."}, nil
	}
	ended, err := s.cfg.Task(ctx, tasks.Person{UserID: delivery.UserID}, a.TaskID)
	if errors.Is(err, tasks.ErrNotFound) {
		return tasks.Done{}, tasks.Permanent(tasks.UserError("The task that this tells of is no longer kept.", err))
	}
	if err != nil {
		return tasks.Done{}, err
	}
	notice, ok := noticeOf(ended, a.Earlier)
	if !ok {
		return tasks.Done{}, tasks.Permanent(tasks.UserError("The end that this tells of is no longer in the task's journal.", nil))
	}
	began := s.cfg.Now()
	if err := s.post(ctx, target, delivery.ID, notice); err != nil {
		return tasks.Done{}, err
	}
	r.Log(slog.LevelInfo, "accepted after %d ms", s.cfg.Now().Sub(began).Milliseconds())
	return tasks.Done{Message: "Delivered"}, nil
}

// input refuses a person's retry of what has nothing to tell of any more.
func (s *sender) input(ctx context.Context, t tasks.Task) error {
	a, err := argsOf(t)
	if err != nil {
		return tasks.ErrInputGone
	}
	_, err = s.cfg.Task(ctx, tasks.Person{UserID: t.UserID}, a.TaskID)
	if errors.Is(err, tasks.ErrNotFound) {
		return tasks.ErrInputGone
	}
	return err
}
