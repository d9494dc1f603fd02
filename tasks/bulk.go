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

// A BulkWitness is told of each task right after a bulk action moved it; acted is the task that carries the action out.
// After a crash it may be told once more.
type BulkWitness func(ctx context.Context, acted, on Task, action BulkAction)

// DefineBulk makes the kind of bulk actions on the tasks of the engine that m returns once it is made. witness may be nil.
func DefineBulk(lane string, m func() *Manager, witness BulkWitness) Kind {
	return Define(Kind{Name: BulkKind, Lane: lane, Rerunnable: true, Retry: Retry{MaxAttempts: 10}},
		func(ctx context.Context, a BulkArgs, r *Run) (Done, error) {
			b := &bulk{m: m(), args: a, run: r, witness: witness}
			return b.do(ctx)
		})
}

// A bulk is one attempt of an action on many tasks.
type bulk struct {
	m       *Manager
	args    BulkArgs
	run     *Run
	witness BulkWitness
	person  Person
	bulkState
}

// A bulkResult is what came of it, for programs.
type bulkResult struct {
	Done    int64 `json:"done"`
	Refused int64 `json:"refused"` // their status did not allow it (any more)
}

// A bulkState is its checkpoint, saved before each page is acted on: after a crash some of the page may have been moved
// already, and those would no longer match.
type bulkState struct {
	Page   []string `json:"page"`   // tasks to act on now
	Cursor string   `json:"cursor"` // what follows them; "" nothing
	bulkResult
}

func (b *bulk) do(ctx context.Context) (Done, error) {
	t := b.run.Task()
	b.person = Person{UserID: t.UserID, Email: t.UserEmail, Admin: len(b.args.IDs) > 0, through: t.ID}
	saved := b.run.Checkpoint()
	if saved != nil {
		if err := json.Unmarshal(saved, &b.bulkState); err != nil {
			return Done{}, fmt.Errorf("read checkpoint: %w", err)
		}
	}
	total, err := b.total(ctx)
	if err != nil {
		return Done{}, err
	}
	for again := saved != nil; ; again = false {
		if !again {
			if err := b.turn(ctx); err != nil {
				return Done{}, err
			}
		}
		if err := b.actOnPage(ctx, again, total); err != nil {
			return Done{}, err
		}
		if !b.more() {
			return b.end(), nil
		}
	}
}

// total is how many tasks there are to act on, those included that have been.
func (b *bulk) total(ctx context.Context) (int64, error) {
	if len(b.args.IDs) > 0 {
		return int64(len(b.args.IDs)), nil
	}
	all, err := b.m.List(ctx, b.person, b.args.query())
	return int64(all.Total) + b.Done + b.Refused, err
}

func (b *bulk) more() bool {
	if all := len(b.args.IDs); all > 0 {
		return b.Done+b.Refused < int64(all)
	}
	return b.Cursor != ""
}

// turn goes on to the next page, and saves which that is.
func (b *bulk) turn(ctx context.Context) error {
	if err := b.next(ctx); err != nil {
		return err
	}
	saved, err := json.Marshal(b.bulkState)
	if err != nil {
		return err
	}
	return b.run.SaveCheckpoint(ctx, saved)
}

func (b *bulk) next(ctx context.Context) error {
	if all := b.args.IDs; len(all) > 0 {
		from := int(b.Done + b.Refused)
		b.Page = all[from:min(from+bulkPage, len(all))]
		return nil
	}
	q := b.args.query()
	q.Limit, q.Cursor, q.NoTotal = bulkPage, b.Cursor, true
	page, err := b.m.List(ctx, b.person, q)
	b.Page, b.Cursor = nil, page.NextCursor
	for _, t := range page.Items {
		if t.ID != b.run.TaskID() {
			b.Page = append(b.Page, t.ID)
		}
	}
	return err
}

// actOnPage acts on each task of the page. again: an earlier attempt may have done some of it.
func (b *bulk) actOnPage(ctx context.Context, again bool, total int64) error {
	for _, id := range b.Page {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t, err := b.act(ctx, again, id)
		switch {
		case errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound), errors.Is(err, ErrInputGone), errors.Is(err, ErrEqualActive):
			b.Refused++
		case err != nil:
			return err
		default:
			b.Done++
			if b.witness != nil {
				b.witness(ctx, b.run.Task(), t, b.args.Action)
			}
		}
		b.run.Progress("Working", b.Done+b.Refused, total)
	}
	return nil
}

// act makes the action's move of one task, unless this bulk action has made it before.
func (b *bulk) act(ctx context.Context, again bool, id string) (Task, error) {
	if again {
		t, err := b.m.Get(ctx, b.person, id)
		if err != nil || b.person.askedBefore(t) {
			return t, err
		}
	}
	switch b.args.Action {
	case BulkCancel:
		return b.m.Cancel(ctx, b.person, id)
	case BulkRetry:
		return b.m.Retry(ctx, b.person, id)
	case BulkDismiss:
		return b.m.Dismiss(ctx, b.person, id, true)
	default:
		return Task{}, Permanent(UserError(fmt.Sprintf("There is no action %q.", b.args.Action), nil))
	}
}

func (b *bulk) end() Done {
	past := map[BulkAction]string{BulkCancel: "canceled", BulkRetry: "retried", BulkDismiss: "dismissed"}[b.args.Action]
	message := fmt.Sprintf("%d %s", b.Done, past)
	if b.Refused > 0 {
		message += fmt.Sprintf(", %d could not be", b.Refused)
	}
	b.run.Log(slog.LevelInfo, "%s", message)
	return Done{Message: message, Result: b.bulkResult}
}
