package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// maxName bounds a task's name, in bytes.
const maxName = 200

// A Spec is what a new task is asked to do.
type Spec struct {
	ID             string // chosen beforehand with [NewID], or ""
	Kind           string
	Name           string // for people: kind and count, never a file's or a patient's name
	Args           any    // becomes JSON
	Sealed         []byte // secret arguments, encrypted by the caller
	IdempotencyKey string // at most one task of the person has it; "" for none
	AvailableAt    time.Time
	Lane           string // "": the kind's lane; another must exist, or the task waits until it does

	Priority     int           // lower runs first, 0: DefaultPriority
	LockKey      string        // one task of a key runs at a time, over all lanes and processes; "" for none
	PartitionKey string        // fair share between these; "": the person
	MaxAttempts  int           // 0: what the kind says
	Timeout      time.Duration // of each attempt; 0: what the kind says
	Dedupe       bool          // an equal task of the person that has not ended is returned instead
}

// Submit stores a task for its lane to run. With [ErrDuplicate] it returns the task that already has the
// idempotency key, or (Dedupe) asks for the same and has not ended.
func (m *Manager) Submit(ctx context.Context, p Person, s Spec) (Task, error) {
	k, ok := m.cfg.Kinds.get(s.Kind)
	if !ok {
		return Task{}, fmt.Errorf("submit: no kind %q is registered", s.Kind)
	}
	t, err := s.record(p)
	if err != nil {
		return Task{}, fmt.Errorf("submit %s: %w", s.Kind, err)
	}
	if err := k.check(t.Args); err != nil {
		return Task{}, fmt.Errorf("submit %s: %w", s.Kind, err)
	}
	t.Lane, t.Downloadable = cmp.Or(s.Lane, k.Lane), k.Downloadable
	t.MaxAttempts = cmp.Or(s.MaxAttempts, k.Retry.MaxAttempts)
	stored, err := m.cfg.Store.Insert(ctx, Submitted(t, m.now()))
	if err != nil {
		return stored, err
	}
	m.moved(ctx, stored)
	return stored, nil
}

func (s Spec) record(p Person) (Task, error) {
	args, err := json.Marshal(s.Args)
	if err != nil {
		return Task{}, fmt.Errorf("encode arguments: %w", err)
	}
	id := s.ID
	if id == "" {
		id = NewID()
	}
	t := Task{ID: id, UserID: p.UserID, UserEmail: p.Email, Kind: s.Kind, Name: printable(s.Name, maxName), Lane: s.Lane,
		Args: args, Sealed: s.Sealed, IdempotencyKey: s.IdempotencyKey, AvailableAt: s.AvailableAt,
		Priority: s.Priority, LockKey: s.LockKey, PartitionKey: s.PartitionKey, Timeout: s.Timeout}
	if s.Dedupe {
		t.DedupeKey, err = DedupeKey(s.Kind, args)
	}
	return t, err
}

// A Handle is a task whose work runs in the caller. It ends with Finish or Fail; a crash leaves it
// interrupted, for nobody else can do the work again.
type Handle struct{ *Run }

// Register stores a task that is running from its first moment on, in the caller.
func (m *Manager) Register(ctx context.Context, p Person, s Spec) (*Handle, error) {
	t, err := s.record(p)
	if err != nil {
		return nil, fmt.Errorf("register %s: %w", s.Kind, err)
	}
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.leases()()
	now := m.now()
	stored, err := m.cfg.Store.Insert(ctx, Registered(t, m.lease(now), now))
	if err != nil {
		m.running.Done()
		return nil, err
	}
	return &Handle{m.open(stored, &Kind{Name: s.Kind, Lane: s.Lane, Retry: Retry{MaxAttempts: 1}}, nil, now)}, nil
}

// Context ends when the work should stop: cancel, shutdown, or a lost lease; its cause says which.
func (h *Handle) Context() context.Context { return h.ctx }

// Finish ends the task with success and returns when that is stored. If a cancel was asked for, the task
// ends canceled instead.
func (h *Handle) Finish(ctx context.Context, done Done) error { return h.end(ctx, result{done: done}) }

// Fail ends the task with err; see [UserError].
func (h *Handle) Fail(ctx context.Context, err error) error {
	return h.end(ctx, result{err: Permanent(err)})
}

func (h *Handle) end(ctx context.Context, res result) error {
	if h.returned() { // else it has ended before; the first word counts
		go h.m.conclude(h.Run, res)
	}
	select {
	case <-h.ended:
		return h.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Cancel stops a waiting task at once and asks a running one to stop.
func (m *Manager) Cancel(ctx context.Context, p Person, id string) (Task, error) {
	return m.move(ctx, p, id, func(now time.Time) Move { return CancelRequested(p.Email, now) })
}

// Retry puts a task that ended without success back into its lane. [ErrInputGone]: there is nothing left
// for it to work on. [ErrEqualActive]: it is on its way already.
func (m *Manager) Retry(ctx context.Context, p Person, id string) (Task, error) {
	t, err := m.Get(ctx, p, id)
	if err != nil {
		return t, err
	}
	if !t.Status.Retryable() {
		return t, &ConflictError{EventRetried, t.Status}
	}
	if err := m.rerun(ctx, t); err != nil {
		return t, err
	}
	if t.Next != nil { // the next end will name another
		if err := m.followed(ctx, t); err != nil {
			return t, err
		}
	}
	k, _ := m.cfg.Kinds.get(t.Kind)
	t, err = m.move(ctx, p, id, func(now time.Time) Move { return RetriedByPerson(p.Email, k.Retry.MaxAttempts, now) })
	if errors.Is(err, ErrDuplicate) {
		err = ErrEqualActive
	}
	return t, err
}

// Retryable reports whether Retry would take this task.
func (m *Manager) Retryable(ctx context.Context, t Task) bool {
	return t.Status.Retryable() && m.rerun(ctx, t) == nil
}

func (m *Manager) rerun(ctx context.Context, t Task) error {
	k, known := m.cfg.Kinds.get(t.Kind)
	if !known {
		return ErrInputGone
	}
	if k.Input == nil {
		return nil
	}
	return k.Input(ctx, t)
}

// Dismiss puts a final task out of its owner's sight, or back into it.
func (m *Manager) Dismiss(ctx context.Context, p Person, id string, dismissed bool) (Task, error) {
	return m.move(ctx, p, id, func(now time.Time) Move { return DismissedBy(p.Email, dismissed, now) })
}

// noted makes a person's move whose journal row names the task through which they ask, if they do not do so themselves.
func (p Person) noted(m Move) Move {
	if p.through == "" {
		return m
	}
	return func(t *Task) error {
		err := m(t)
		if err == nil {
			t.Journal[len(t.Journal)-1].Note = p.note()
		}
		return err
	}
}

func (p Person) note() string { return "by task " + p.through }

// askedBefore reports whether the person has moved t before, through the same task.
func (p Person) askedBefore(t Task) bool {
	return slices.ContainsFunc(t.Journal, func(e Entry) bool { return e.Note == p.note() })
}

// move makes a person's move of a task that is theirs to move. What is so already is no error.
func (m *Manager) move(ctx context.Context, p Person, id string, mv func(now time.Time) Move) (Task, error) {
	t, err := m.record(ctx, p, id)
	if err != nil {
		return t, err
	}
	stored, err := m.cfg.Store.Update(ctx, t, EndedWith(m.follow(ctx, t), p.noted(mv(m.now()))))
	if err == nil {
		m.moved(ctx, stored)
	} else if errors.Is(err, ErrUnchanged) {
		m.heard(stored) // what was asked for elsewhere may not have come here yet
		err = nil
	}
	m.overlay(&stored)
	return stored, err
}
