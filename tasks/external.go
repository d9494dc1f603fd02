package tasks

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"sync"
	"time"
)

// ExternalKind is the kind of tasks whose work another program does and reports through the API.
const ExternalKind = "external"

// ErrNotExternal: only the reports of an external task's own program move it.
var ErrNotExternal = errors.New("the task is not reported from outside")

// RegisterExternal stores a task that is running from its first moment on, in another program. Each report
// renews its lease; silence longer than Config.ExternalTTL leaves it interrupted.
func (m *Manager) RegisterExternal(ctx context.Context, p Person, s Spec) (Task, error) {
	s.Kind, s.Lane = ExternalKind, ExternalKind
	t, err := s.record(p)
	if err != nil {
		return Task{}, fmt.Errorf("register %s: %w", s.Kind, err)
	}
	now := m.now()
	lease := Lease{Owner: External, Token: NewID(), ExpiresAt: now.Add(m.cfg.ExternalTTL)}
	stored, err := m.cfg.Store.Insert(ctx, Registered(t, lease, now))
	if err == nil {
		m.moved(ctx, stored)
	}
	return stored, err
}

// A Report is what an external program says of its task; nil and "" leave a thing as it is.
type Report struct {
	Progress *Progress
	Phase    string
}

// Report takes in how far an external task is, and renews its lease. [ErrLeaseLost]: it was silent for too
// long. Renewal tells whether the program should stop.
func (m *Manager) Report(ctx context.Context, p Person, id string, rep Report) (Renewal, error) {
	t, err := m.external(ctx, p, id)
	if err != nil {
		return Renewal{}, err
	}
	if rep.Progress != nil {
		rep.Progress.Message = printable(rep.Progress.Message, 500)
	}
	if rep.Phase != "" && rep.Phase != t.Phase {
		if t, err = m.cfg.Store.Update(ctx, t, PhaseEntered(t.Lease.Token, printable(rep.Phase, 100), m.now())); err != nil {
			return Renewal{}, err
		}
	}
	now := m.now()
	reached := t.Progress
	if rep.Progress != nil {
		reached = *rep.Progress
	}
	t, err = m.cfg.Store.Update(ctx, t, Renewed(t.Lease.Token, reached, now.Add(m.cfg.ExternalTTL), now))
	if err != nil {
		return Renewal{}, err
	}
	m.broker.publish(t)
	return Renewal{CancelRequested: !t.CancelRequestedAt.IsZero()}, nil
}

// ReportLog keeps lines of an external task, up to what one attempt of any task may log.
func (m *Manager) ReportLog(ctx context.Context, p Person, id string, level slog.Level, texts []string) error {
	t, err := m.external(ctx, p, id)
	if err != nil {
		return err
	}
	defer m.logging.lock(id)()
	had, err := m.cfg.Store.Log(ctx, id, 0, maxLogLines)
	if err != nil {
		return err
	}
	lines := logBuffer{total: len(had)}
	if len(had) > 0 {
		lines.seq = had[len(had)-1].Seq
	}
	for _, text := range texts {
		lines.add(t, m.now(), level, text)
	}
	if kept := lines.take(); len(kept) > 0 {
		err = m.cfg.Store.AppendLog(ctx, kept)
	}
	if err == nil {
		_, err = m.Report(ctx, p, id, Report{})
	}
	return err
}

// A stripe of locks lets one caller at a time into what belongs to a task, in bounded memory: two tasks may share a
// lock, which costs them a moment.
type stripe struct {
	seed  maphash.Seed
	locks [64]sync.Mutex
}

func (s *stripe) lock(taskID string) (unlock func()) {
	l := &s.locks[maphash.String(s.seed, taskID)%uint64(len(s.locks))]
	l.Lock()
	return l.Unlock
}

// ReportFile takes the bytes of an external task's download from r. A second file replaces the first.
func (m *Manager) ReportFile(ctx context.Context, p Person, id, name, mime string, r io.Reader) error {
	t, err := m.external(ctx, p, id)
	if err != nil {
		return err
	}
	f, err := m.cfg.Results.createNamed(t, NewID())
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, r); err != nil {
		return errors.Join(fmt.Errorf("keep file of %s: %w", id, err), f.discard())
	}
	kept, err := f.commit()
	if err != nil {
		return errors.Join(err, f.discard())
	}
	kept.Name, kept.ExpiresAt = printable(name, 255), Millis(m.now().Add(m.cfg.ResultTTL))
	if _, err = m.cfg.Store.Update(ctx, t, FileAttached(t.Lease.Token, mime, &kept, m.now())); err != nil {
		return errors.Join(err, f.discard())
	}
	if t.File != nil {
		err = m.cfg.Results.remove(t.File.Path)
	}
	return errors.Join(err, second(m.Report(ctx, p, id, Report{})))
}

func second[A any](_ A, err error) error { return err }

// ReportFinish ends an external task with success, ReportFail without.
func (m *Manager) ReportFinish(ctx context.Context, p Person, id string, done Outcome) (Task, error) {
	return m.endExternal(ctx, p, id, func(token string, now time.Time) Move {
		return func(t *Task) error { // a file or a report may have come since the record was read
			end := Outcome{Result: done.Result, File: t.File, Progress: t.Progress}
			end.Progress.Message = printable(done.Progress.Message, 500)
			return Finished(token, end, now)(t)
		}
	})
}

// ReportFail ends an external task as failed, with a message for its owner.
func (m *Manager) ReportFail(ctx context.Context, p Person, id, message string) (Task, error) {
	return m.endExternal(ctx, p, id, func(token string, now time.Time) Move {
		return Failed(token, Failure{Cause: CauseError, Message: printable(message, 500)}, now)
	})
}

func (m *Manager) endExternal(ctx context.Context, p Person, id string, end func(token string, now time.Time) Move) (Task, error) {
	t, err := m.external(ctx, p, id)
	if err != nil {
		return t, err
	}
	stored, err := m.cfg.Store.Update(ctx, t, EndedWith(m.follow(ctx, t), end(t.Lease.Token, m.now())))
	if err == nil {
		m.moved(ctx, stored)
	}
	return stored, err
}

// external is a task of the person's that is running elsewhere.
func (m *Manager) external(ctx context.Context, p Person, id string) (Task, error) {
	t, err := m.record(ctx, p, id)
	switch {
	case err != nil:
		return t, err
	case t.Kind != ExternalKind:
		return t, ErrNotExternal
	case t.Status != StatusProcessing:
		return t, &ConflictError{"reported", t.Status}
	}
	return t, nil
}
