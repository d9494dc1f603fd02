package tasks

import (
	"context"
	"errors"
	"time"
)

// keepKeys is how long a task is kept for its idempotency key, whatever the retention says.
const keepKeys = 24 * time.Hour

// pruneBatch is how many tasks are removed between two breaths.
const pruneBatch = 100

// prune removes final tasks that are older than their status is kept, with their files, in small steps. What
// they brought in or sent out stays, and so do receipts.
func (m *Manager) prune(ctx context.Context) {
	for status, age := range m.cfg.Retention {
		if age < 0 || !status.Final() {
			continue
		}
		if err := m.pruneStatus(ctx, status, max(age, keepKeys)); err != nil && ctx.Err() == nil {
			m.log.Error("prune tasks", "status", status, "err", err)
		}
	}
}

func (m *Manager) pruneStatus(ctx context.Context, status Status, age time.Duration) error {
	before := m.now().Add(-age)
	q := Query{Statuses: []Status{status}, Sort: FirstEndedFirst, Limit: pruneBatch, NoTotal: true}
	for {
		page, err := m.cfg.Store.List(ctx, q)
		if err != nil {
			return err
		}
		q.Cursor = page.NextCursor
		for _, t := range page.Items {
			if !t.EndedAt.Before(before) {
				return nil // the oldest that ended are first
			}
			if t.Next != nil {
				continue // until its successor is stored
			}
			if err := m.forgetTask(ctx, t); err != nil {
				return err
			}
			q.Cursor = "" // the oldest are others now
		}
		if page.NextCursor == "" {
			return nil
		}
		select { // others write meanwhile
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// recall lets tasks that were submitted at a moment which is still to come wait no longer for that moment: the
// machine's clock has been set back since. A shared store's clock is not the machine's.
func (m *Manager) recall(ctx context.Context) error {
	if m.cfg.Clock == nil {
		return nil
	}
	now := m.now()
	q := Query{Statuses: []Status{StatusQueued}, From: now.Add(ClockSkew), Sort: OldestFirst, Limit: pruneBatch, NoTotal: true}
	for {
		page, err := m.cfg.Store.List(ctx, q)
		if err != nil {
			return err
		}
		for _, t := range page.Items {
			_, err := m.cfg.Store.Update(ctx, t, Recalled(now))
			if err != nil && !errors.Is(err, ErrUnchanged) && !refused(err) {
				return err
			}
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return nil
		}
	}
}

// forgetTask removes the record first: what is then left behind by a crash, the sweeps find.
func (m *Manager) forgetTask(ctx context.Context, t Task) error {
	err := m.cfg.Store.Delete(ctx, t)
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
		return nil // retried by a person, or pruned by another process
	}
	if err != nil {
		return err
	}
	if t.File != nil && m.cfg.Results != nil {
		if err := m.cfg.Results.remove(t.File.Path); err != nil {
			m.log.Warn("a result file was left behind until the next sweep", "task", t.ID, "err", err)
		}
	}
	if k, ok := m.cfg.Kinds.get(t.Kind); ok && k.Pruned != nil {
		k.Pruned(ctx, t)
	}
	m.log.Info("pruned a task", "task", t.ID, "kind", t.Kind, "status", t.Status, "endedAt", t.EndedAt)
	return nil
}
