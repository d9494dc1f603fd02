package tasks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// ErrExpired: the task's download is no longer kept.
var ErrExpired = errors.New("the download has expired")

// Everybody, as the user of a [Query], asks for all users' tasks. Only administrators get them.
const Everybody = "*"

// Get returns a task of the person (an administrator's are all), with live progress.
func (m *Manager) Get(ctx context.Context, p Person, id string) (Task, error) {
	t, err := m.record(ctx, p, id)
	if err == nil {
		m.overlay(&t)
	}
	return t, err
}

// Keyed returns the person's own task that was submitted with this idempotency key, or [ErrNotFound].
func (m *Manager) Keyed(ctx context.Context, p Person, key string) (Task, error) {
	if p.UserID == "" || key == "" {
		return Task{}, ErrNotFound
	}
	t, err := m.cfg.Store.Keyed(ctx, p.UserID, key)
	if err != nil {
		return Task{}, err
	}
	return m.Get(ctx, p, t.ID)
}

// record is a task of the person as it is stored, which is what a move must start from.
func (m *Manager) record(ctx context.Context, p Person, id string) (Task, error) {
	t, err := m.cfg.Store.Get(ctx, id)
	if err == nil && !p.sees(t) {
		err = ErrNotFound
	}
	if err != nil {
		return Task{}, err
	}
	if t.Status == StatusProcessing && !t.Leased(m.now()) {
		if err := m.rescue(ctx, ""); err != nil {
			return Task{}, err
		}
		return m.cfg.Store.Get(ctx, id)
	}
	return t, nil
}

func (p Person) sees(t Task) bool { return p.UserID != "" && (p.Admin || p.UserID == t.UserID) }

// List returns a page of the person's own tasks; an administrator may name another user, or [Everybody].
func (m *Manager) List(ctx context.Context, p Person, q Query) (Page, error) {
	switch {
	case p.UserID == "":
		return Page{}, ErrNotFound
	case q.UserID == "" || q.UserID == p.UserID:
		q.UserID = p.UserID
	case !p.Admin:
		return Page{}, ErrNotFound
	case q.UserID == Everybody:
		q.UserID = ""
	}
	// Before the list is read, so that filter and row agree on what is interrupted.
	if err := m.rescue(ctx, ""); err != nil {
		return Page{}, err
	}
	page, err := m.cfg.Store.List(ctx, q)
	for i := range page.Items {
		m.overlay(&page.Items[i])
	}
	return page, err
}

// Counts returns how many tasks the person has, by status, kind and dismissed.
func (m *Manager) Counts(ctx context.Context, p Person) ([]Count, error) {
	if p.UserID == "" {
		return nil, ErrNotFound
	}
	if err := m.rescue(ctx, ""); err != nil {
		return nil, err
	}
	return m.cfg.Store.Counts(ctx, p.UserID)
}

// CountsOfAll returns how many tasks there are, by status, kind, lane and dismissed; for metrics.
func (m *Manager) CountsOfAll(ctx context.Context) ([]Count, error) {
	return m.cfg.Store.Counts(ctx, "")
}

// OpenFile opens the download of a finished task. [ErrConflict]: it has not finished; [ErrNotFound]: it has
// no file; [ErrExpired]: it is no longer kept.
func (m *Manager) OpenFile(ctx context.Context, p Person, id string) (Task, *os.File, error) {
	t, err := m.Get(ctx, p, id)
	switch {
	case err != nil:
		return t, nil, err
	case t.Downloadable == "" && t.File == nil:
		return t, nil, ErrNotFound
	case t.Status != StatusFinished:
		return t, nil, &ConflictError{"downloaded", t.Status}
	case t.File == nil:
		return t, nil, ErrNotFound
	case !m.now().Before(t.File.ExpiresAt):
		return t, nil, ErrExpired
	}
	f, err := m.cfg.Results.open(t.File.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil, ErrExpired
	}
	if err != nil {
		return t, nil, fmt.Errorf("open result of %s: %w", id, err)
	}
	return t, f, nil
}

// Log returns up to limit lines of a task's log after a sequence, over all attempts.
func (m *Manager) Log(ctx context.Context, p Person, id string, after int64, limit int) ([]LogLine, error) {
	if _, err := m.Get(ctx, p, id); err != nil {
		return nil, err
	}
	return m.cfg.Store.Log(ctx, id, after, limit)
}

// InProgress returns the person's tasks that run in this process, oldest first.
func (m *Manager) InProgress(p Person) []Task {
	var own []Task
	for _, r := range m.live() {
		if t := r.Task(); p.sees(t) && t.UserID == p.UserID {
			own = append(own, t)
		}
	}
	slices.SortFunc(own, func(a, b Task) int { return strings.Compare(a.ID, b.ID) })
	return own
}

// Subscribe follows the person's tasks, or what scope names; a scope the person has no right to hears
// nothing. The caller closes it.
func (m *Manager) Subscribe(p Person, scope Scope) *Subscription {
	if scope.Everybody && !p.Admin {
		scope = Scope{}
	}
	return m.broker.subscribe(p, scope)
}

// Since is the moment an event id stands for, whichever process gave it out.
func (m *Manager) Since(eventID string) (time.Time, bool) { return since(eventID) }

// Health says in sentences why this process takes no work; none when it does.
func (m *Manager) Health() []string {
	var ills []string
	if n := m.abandoned.Load(); n >= maxAbandoned {
		ills = append(ills, fmt.Sprintf("%d runners did not stop when they were told to: restart the program", n))
	}
	if m.renewFailed.Load() {
		ills = append(ills, "leases could not be renewed: the store does not answer")
	}
	if m.cfg.Healthy != nil {
		if err := m.cfg.Healthy(); err != nil {
			ills = append(ills, err.Error())
		}
	}
	return ills
}

// Stats is what the engine does at this moment, in this process.
type Stats struct {
	Lanes     []LaneStats
	Viewers   int // open subscriptions
	Abandoned int // runners that did not stop
}

// LaneStats is one lane of [Stats].
type LaneStats struct {
	Name              string
	Capacity, Running int
}

// Stats counts; it asks no store.
func (m *Manager) Stats() Stats {
	s := Stats{Viewers: m.broker.viewers(), Abandoned: int(m.abandoned.Load())}
	for _, l := range m.lanes {
		s.Lanes = append(s.Lanes, l.stats())
	}
	slices.SortFunc(s.Lanes, func(a, b LaneStats) int { return strings.Compare(a.Name, b.Name) })
	return s
}
