package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// A task may be followed by another: a webhook that tells of its end, the next step of a process. The write
// that ends it names the successor, so the two stand or fall together; the successor is stored after, by
// whoever comes to it first, under an id that is chosen already.

// followBatch is how many successors are looked for in one query.
const followBatch = 100

// follow asks what should follow the end of t, or nothing when t has ended or nobody wants to know.
func (m *Manager) follow(ctx context.Context, t Task) *Successor {
	if m.cfg.Follow == nil || t.Status.Final() {
		return nil
	}
	return m.cfg.Follow(ctx, t)
}

// followed submits what an ended task named. It may run twice: the id makes it one task. A kind that this
// version of the program has not got can never be submitted; it is given up, and the log says so.
func (m *Manager) followed(ctx context.Context, t Task) error {
	next := t.Next
	k, ok := m.cfg.Kinds.get(next.Kind)
	if !ok {
		m.log.Error("a successor is given up: no such kind is registered", "task", t.ID, "kind", next.Kind)
		return m.noted(ctx, t)
	}
	spec := Task{ID: next.ID, UserID: t.UserID, UserEmail: t.UserEmail, Kind: next.Kind, Name: printable(next.Name, maxName),
		Args: next.Args, Sealed: next.Sealed, Lane: k.Lane, MaxAttempts: k.Retry.MaxAttempts, Downloadable: k.Downloadable}
	stored, err := m.cfg.Store.Insert(ctx, Submitted(spec, m.now()))
	if err != nil && !errors.Is(err, ErrDuplicate) {
		return fmt.Errorf("follow %s: %w", t.ID, err)
	}
	if err == nil {
		m.moved(ctx, stored)
	}
	return m.noted(ctx, t)
}

// noted stores that nothing is left to submit after t.
func (m *Manager) noted(ctx context.Context, t Task) error {
	_, err := m.cfg.Store.Update(ctx, t, Followed(t.Next.ID))
	if errors.Is(err, ErrUnchanged) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// catchUp submits the successors that a crash left behind. Those that fail are in nobody's way; the first of them is
// the error.
func (m *Manager) catchUp(ctx context.Context) (failure error) {
	for after := ""; ; {
		left, err := m.cfg.Store.Unfollowed(ctx, after, followBatch)
		if err != nil {
			return cmp.Or(failure, err)
		}
		for _, t := range left {
			failure = cmp.Or(failure, m.followed(ctx, t))
			after = t.ID
		}
		if len(left) < followBatch || ctx.Err() != nil {
			return failure
		}
	}
}
