package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// BulkKind is the kind of tasks that act on many others.
const BulkKind = "bulk"

// BulkGrace is how long an action on many tasks waits before it begins, so that it can be undone: canceled
// while it waits.
const BulkGrace = 8 * time.Second

// bulkPage is how many tasks are acted on between two checkpoints.
const bulkPage = 100

// A BulkAction is what is done to each.
type BulkAction string

const (
	BulkCancel  BulkAction = "cancel"
	BulkRetry   BulkAction = "retry"
	BulkDismiss BulkAction = "dismiss"
)

// Valid reports whether a is a known action.
func (a BulkAction) Valid() bool { return a == BulkCancel || a == BulkRetry || a == BulkDismiss }

// BulkArgs say what is done to which of the person's own tasks: all that match, not only those of a page.
type BulkArgs struct {
	Action    BulkAction `json:"action"`
	Statuses  []Status   `json:"statuses,omitempty"`
	Kind      string     `json:"kind,omitempty"`
	Words     []string   `json:"words,omitempty"`
	From      time.Time  `json:"from,omitzero"`
	To        time.Time  `json:"to,omitzero"` // set at submit: what comes later is left alone
	Dismissed *bool      `json:"dismissed,omitempty"`

	IDs []string `json:"ids,omitempty"` // these, whosever they are, instead of what matches: see [Manager.SubmitRetries]
}

func (a BulkArgs) query() Query {
	return Query{Statuses: a.Statuses, Kind: a.Kind, Words: a.Words, From: a.From, To: a.To, Dismissed: a.Dismissed, Sort: OldestFirst}
}

// SubmitBulk submits an action on all tasks of the person that match. It begins after [BulkGrace].
func (m *Manager) SubmitBulk(ctx context.Context, p Person, a BulkArgs) (Task, error) {
	now := m.now()
	if a.To.IsZero() || a.To.After(now) {
		a.To = Millis(now)
	}
	q := a.query()
	page, err := m.List(ctx, p, q)
	if err != nil {
		return Task{}, err
	}
	more := ""
	if !page.TotalExact {
		more = "more than "
	}
	name := fmt.Sprintf("%s %s%d tasks", strings.ToUpper(string(a.Action[:1]))+string(a.Action[1:]), more, page.Total)
	return m.Submit(ctx, p, Spec{Kind: BulkKind, Name: name, Args: a, AvailableAt: now.Add(BulkGrace)})
}

// SubmitRetries submits a retry of these tasks, whosever they are: for administrators, and who is one is the caller's to
// know. It begins after [BulkGrace].
func (m *Manager) SubmitRetries(ctx context.Context, p Person, ids []string) (Task, error) {
	return m.Submit(ctx, p, Spec{Kind: BulkKind, Name: fmt.Sprintf("Retry %d failed tasks", len(ids)), Args: BulkArgs{Action: BulkRetry, IDs: ids},
		AvailableAt: m.now().Add(BulkGrace)})
}

// DefineBulk makes the kind of bulk actions on the tasks of the engine that m returns once it is made.
func DefineBulk(lane string, m func() *Manager) Kind {
	return Define(Kind{Name: BulkKind, Lane: lane, Rerunnable: true, Retry: Retry{MaxAttempts: 10}},
		func(ctx context.Context, a BulkArgs, r *Run) (Done, error) { return m().bulk(ctx, a, r) })
}

// A bulkState is the checkpoint of a bulk action.
type bulkState struct {
	Cursor  string `json:"cursor"`
	Done    int64  `json:"done"`
	Refused int64  `json:"refused"` // their status did not allow it (any more)
}

func (m *Manager) bulk(ctx context.Context, a BulkArgs, r *Run) (Done, error) {
	t := r.Task()
	p := Person{UserID: t.UserID, Email: t.UserEmail}
	var s bulkState
	if saved := r.Checkpoint(); saved != nil {
		if err := json.Unmarshal(saved, &s); err != nil {
			return Done{}, fmt.Errorf("read checkpoint: %w", err)
		}
	}
	if len(a.IDs) > 0 {
		return m.bulkOf(ctx, a, r, s)
	}
	count := a.query()
	all, err := m.List(ctx, p, count)
	if err != nil {
		return Done{}, err
	}
	total := int64(all.Total) + s.Done + s.Refused
	for {
		q := a.query()
		q.Limit, q.Cursor, q.NoTotal = bulkPage, s.Cursor, true
		page, err := m.List(ctx, p, q)
		if err != nil {
			return Done{}, err
		}
		for _, one := range page.Items {
			if err := m.act(ctx, p, a.Action, one.ID, t.ID, &s); err != nil {
				return Done{}, err
			}
			r.Progress("Working", s.Done+s.Refused, total)
		}
		if s.Cursor = page.NextCursor; s.Cursor == "" {
			return s.done(a.Action, r), nil
		}
		if err := s.save(ctx, r); err != nil {
			return Done{}, err
		}
	}
}

// bulkOf acts on the tasks that the arguments name.
func (m *Manager) bulkOf(ctx context.Context, a BulkArgs, r *Run, s bulkState) (Done, error) {
	t, all := r.Task(), int64(len(a.IDs))
	p := Person{UserID: t.UserID, Email: t.UserEmail, Admin: true}
	for i := s.Done + s.Refused; i < all; i++ {
		if err := m.act(ctx, p, a.Action, a.IDs[i], t.ID, &s); err != nil {
			return Done{}, err
		}
		r.Progress("Working", i+1, all)
		if (i+1)%bulkPage == 0 {
			if err := s.save(ctx, r); err != nil {
				return Done{}, err
			}
		}
	}
	return s.done(a.Action, r), nil
}

func (s bulkState) save(ctx context.Context, r *Run) error {
	saved, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return r.SaveCheckpoint(ctx, saved)
}

func (m *Manager) act(ctx context.Context, p Person, a BulkAction, id, self string, s *bulkState) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if id == self {
		return nil
	}
	var err error
	switch a {
	case BulkCancel:
		_, err = m.Cancel(ctx, p, id)
	case BulkRetry:
		_, err = m.Retry(ctx, p, id)
	case BulkDismiss:
		_, err = m.Dismiss(ctx, p, id, true)
	default:
		return Permanent(UserError(fmt.Sprintf("There is no action %q.", a), nil))
	}
	switch {
	case errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound), errors.Is(err, ErrInputGone):
		s.Refused++
		return nil
	case err != nil:
		return err
	}
	s.Done++
	return nil
}

func (s bulkState) done(a BulkAction, r *Run) Done {
	past := map[BulkAction]string{BulkCancel: "canceled", BulkRetry: "retried", BulkDismiss: "dismissed"}[a]
	message := fmt.Sprintf("%d %s", s.Done, past)
	if s.Refused > 0 {
		message += fmt.Sprintf(", %d could not be", s.Refused)
	}
	r.Log(slog.LevelInfo, "%s", message)
	return Done{Message: message, Result: s}
}
