package tasks

import (
	"context"
	"errors"
	"time"
)

// rescueBatch is how many stale tasks are looked at in one query.
const rescueBatch = 100

// maxEarly bounds what is kept of attempts that are not opened yet; beyond it the next heartbeat tells them.
const maxEarly = 4096

// beat renews the leases of all attempts here in one write and takes their progress into the store. An
// attempt that could not be renewed for a lease's length less a heartbeat cancels itself: it must have
// stopped when others may begin to run its task. After a failure it goes on asking, though nothing may be left
// to renew: nothing is claimed until the store has answered.
func (m *Manager) beat(ctx context.Context) {
	runs := m.live()
	now, off := m.now(), m.off()
	if len(runs) == 0 && !m.renewFailed.Load() {
		m.keepTime(off, nil)
		return
	}
	beats := make([]Beat, len(runs))
	for i, r := range runs {
		t := r.Task()
		beats[i] = Beat{TaskID: t.ID, Token: r.token, Progress: t.Progress}
	}
	if len(runs) == 0 {
		beats = []Beat{{}} // nobody's
	}
	write, cancel := context.WithTimeout(ctx, m.cfg.Heartbeat)
	defer cancel()
	renewals, err := m.cfg.Store.Renew(write, beats, now.Add(m.cfg.LeaseTTL+max(off, 0)), now)
	m.renewFailed.Store(err != nil && ctx.Err() == nil)
	if err != nil {
		m.log.Error("renew leases", "attempts", len(runs), "err", err)
	}
	for i := range min(len(runs), len(renewals)) {
		runs[i].renewed(renewals[i], now)
	}
	if err == nil {
		m.keepTime(off, runs)
	}
}

// off is by how much the machine's time is ahead of the engine's clock.
func (m *Manager) off() time.Duration {
	if m.cfg.Clock == nil {
		return 0
	}
	return m.cfg.Clock.Off()
}

// renewed takes in the answer to a heartbeat that was sent at at.
func (r *Run) renewed(answer Renewal, at time.Time) {
	switch {
	case answer.Lost:
		r.cancel(ErrLeaseLost)
		return
	case answer.CancelRequested:
		r.cancel(ErrCanceled)
	}
	r.expiry.Reset(r.m.expiresIn(at))
}

// expiresIn is how long an attempt whose lease was given or renewed at at may still work without another renewal.
func (m *Manager) expiresIn(at time.Time) time.Duration {
	return m.cfg.LeaseTTL - m.cfg.Heartbeat - m.now().Sub(at)
}

// look is the regular pass over expired leases and the lanes' settings. On a shared store it also wakes the lanes,
// for tasks that another process submitted.
func (m *Manager) look(ctx context.Context) {
	if err := m.rescue(ctx, ""); err != nil && ctx.Err() == nil {
		m.log.Error("rescue tasks", "err", err)
	}
	if err := m.catchUp(ctx); err != nil && ctx.Err() == nil {
		m.log.Error("submit successors", "err", err)
	}
	if err := m.refreshLanes(ctx); err != nil && ctx.Err() == nil {
		m.log.Error("look at the lanes", "err", err)
	}
	if _, shared := m.cfg.Store.(Watcher); shared {
		m.wakeLanes()
	}
}

// rescue takes tasks from attempts that nobody runs: those whose lease has expired, and all that are not
// owner's when owner is given. It writes nothing where there are none.
func (m *Manager) rescue(ctx context.Context, owner string) error {
	for {
		stale, err := m.cfg.Store.Stale(ctx, owner, m.now(), rescueBatch)
		if err != nil {
			return err
		}
		for _, t := range stale {
			if err := m.rescueOne(ctx, t, owner); err != nil {
				return err
			}
		}
		if len(stale) < rescueBatch {
			return nil
		}
	}
}

func (m *Manager) rescueOne(ctx context.Context, t Task, owner string) error {
	k, known := m.cfg.Kinds.get(t.Kind)
	a := Abandoned{Rerunnable: known && k.Rerunnable, DeadOwner: owner != "" && t.Lease.Owner != owner}
	stored, err := m.cfg.Store.Update(ctx, t, EndedWith(m.follow(ctx, t), Rescued(a, m.now())))
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
		return nil // somebody was quicker
	}
	if err != nil {
		return err
	}
	m.log.Warn("rescued a task that nobody ran", "task", t.ID, "kind", t.Kind, "attempt", t.Attempt, "status", stored.Status)
	if r := m.runOf(t.ID); r != nil && r.token == t.Lease.Token {
		r.cancel(ErrLeaseLost)
	}
	m.moved(ctx, stored)
	return nil
}

func (m *Manager) lookAtLanes(ctx context.Context) {
	if err := m.refreshLanes(ctx); err != nil && ctx.Err() == nil {
		m.log.Error("look at the lanes", "err", err)
	}
	m.wakeLanes()
}

// watch tells viewers here of what other processes do, and wakes lanes for what they submit or free.
func (m *Manager) watch(ctx context.Context, w Watcher) {
	news := News{Task: m.elsewhere, Lanes: func() { m.lookAtLanes(ctx) }}
	for ctx.Err() == nil {
		err := w.Watch(ctx, m.Boot(), news)
		if ctx.Err() != nil {
			return
		}
		m.log.Error("follow other processes", "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(claimPause):
		}
	}
}

func (m *Manager) elsewhere(t Task) {
	if m.heard(t) {
		return
	}
	m.broker.publish(t)
	if t.Status != StatusProcessing {
		m.wakeLanes() // it waits, or has freed a slot or a lock
	}
}

// heard takes in a newer record of an attempt that runs here: somebody may have asked it to stop. It reports
// whether there is such an attempt, which then tells of itself.
func (m *Manager) heard(t Task) bool {
	if t.Status != StatusProcessing || t.Lease == nil {
		return false
	}
	m.mu.Lock()
	r := m.runs[t.ID]
	here := r != nil && r.token == t.Lease.Token
	if !here && m.leasing > 0 && t.Lease.Owner == m.Boot() && len(m.early) < maxEarly {
		m.early[t.Lease.Token] = t
	}
	m.mu.Unlock()
	if !here {
		return false
	}
	if !t.CancelRequestedAt.IsZero() {
		r.cancel(ErrCanceled)
	}
	r.observe(t)
	return true
}

// maxSweptLines is how many files a sweep names in the log, one a line; the others it counts.
const maxSweptLines = 100

// sweep removes result files that have expired or that no record names.
func (m *Manager) sweep(ctx context.Context) {
	if m.cfg.Results == nil {
		return
	}
	removed, err := m.cfg.Results.sweep(func(taskID, path string) (bool, error) {
		t, err := m.cfg.Store.Get(ctx, taskID)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		if err != nil || m.runOf(taskID) != nil || t.Leased(m.now()) {
			return true, err
		}
		return t.File != nil && t.File.Path == path && m.now().Before(t.File.ExpiresAt), nil
	})
	if err != nil && ctx.Err() == nil {
		m.log.Error("sweep results", "err", err)
	}
	for i, path := range removed {
		if i == maxSweptLines {
			m.log.Info("removed more result files", "files", len(removed)-i)
			break
		}
		m.log.Info("removed a result file that has expired or that no task names", "path", path)
	}
}
