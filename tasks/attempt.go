package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Three contexts keep a shutdown orderly: lanes fetch under one that ends first, runners work under one
// that ends after their grace, and ends are reported under one that outlives both.

// A result is what a runner came back with.
type result struct {
	done Done
	err  error
}

// start runs a claimed task in a slot of its lane.
func (m *Manager) start(t Task, l *lane, claimedAt time.Time) {
	k, ok := m.cfg.Kinds.get(t.Kind)
	if !ok {
		k = unknownKind(t)
	}
	_ = m.enter() // lanes have ended before Stop closes the door
	r := m.open(t, k, l, claimedAt)
	waited := t.StartedAt.Sub(t.AvailableAt)
	m.cfg.Observer.AttemptStarted(t.Kind, t.Lane, waited)
	go func() {
		done, err := call(r.ctx, k, r, debug.Stack)
		if r.returned() {
			m.conclude(r, result{done, err})
		} else {
			m.abandoned.Add(-1)
		}
	}()
}

// unknownKind stands in for a kind that this version of the program has not got: its attempts fail for good.
func unknownKind(t Task) *Kind {
	return &Kind{Name: t.Kind, Lane: t.Lane, Retry: Retry{MaxAttempts: 1}, run: func(context.Context, *Run) (Done, error) {
		return Done{}, &argumentsError{fmt.Errorf("no kind %q is registered", t.Kind)}
	}}
}

// enter counts an attempt that Stop has to wait for; it refuses once Stop no longer waits for new ones.
func (m *Manager) enter() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopping {
		return ErrShutdown
	}
	m.running.Add(1)
	return nil
}

// open puts an attempt under its lease into memory and tells that it runs. The caller has entered.
func (m *Manager) open(t Task, k *Kind, l *lane, leasedAt time.Time) *Run {
	r := &Run{m: m, kind: k, lane: l, token: t.Lease.Token, task: t, ended: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	if limit := cmp.Or(t.Timeout, k.Timeout); limit > 0 {
		timed, release := context.WithTimeoutCause(r.ctx, limit, ErrTimeout)
		r.ctx = timed
		context.AfterFunc(r.ctx, release)
	}
	r.news = throttle{interval: m.cfg.ProgressInterval, emit: func() { m.broker.publish(r.Task()) }}
	r.expiry = time.AfterFunc(m.expiresIn(leasedAt), func() { r.cancel(ErrLeaseLost) })
	m.mu.Lock()
	m.runs[t.ID] = r
	newer, early := m.early[r.token]
	delete(m.early, r.token)
	m.mu.Unlock()
	r.news.touch()
	r.calm = context.AfterFunc(r.ctx, func() { m.outwait(r) })
	if early {
		m.heard(newer)
	}
	return r
}

// settle is true for the one who is first to say how an attempt came out: its runner, or the loss of patience.
func (r *Run) settle() bool { return r.settled.CompareAndSwap(false, true) }

// returned is settle for the runner.
func (r *Run) returned() bool {
	r.calm()
	return r.settle()
}

// outwait gives a runner its grace, and no longer, once its context has ended.
func (m *Manager) outwait(r *Run) {
	grace := time.NewTimer(m.cfg.AttemptGrace)
	defer grace.Stop()
	select {
	case <-r.ended:
		return
	case <-grace.C:
	}
	if !r.settle() {
		return
	}
	cause := context.Cause(r.ctx)
	if r.lane != nil { // else the goroutine is the caller's own
		// Go cannot kill it, but nothing it still does has an effect: its Run is closed, and so will be its
		// lease. It is counted until it returns.
		m.abandoned.Add(1)
		m.log.Error("a runner did not stop and is abandoned", "task", r.TaskID(), "kind", r.kind.Name, "cause", cause)
	}
	m.conclude(r, result{err: fmt.Errorf("the runner did not stop: %w", cause)})
}

// conclude ends an attempt: first what it leaves is made durable, then its end is stored, then told, and
// only then forgotten here.
func (m *Manager) conclude(r *Run, res result) {
	t, reached, file := r.close()
	cause := context.Cause(r.ctx)
	r.cancel(context.Canceled) // frees what hangs on the context
	out, err := m.outcome(r, reached, file, res)
	v := classify(err, cause, t, r.kind)
	m.tell(t, v, err)
	next := m.follow(context.WithoutCancel(r.ctx), t)
	r.vacate()
	stored, err := m.report(r, t, v, reached, out, next)
	if file != nil && orphaned(file, r.token, stored, err) {
		if err := file.discard(); err != nil {
			m.log.Warn("a result file was left behind until the next sweep", "task", t.ID, "err", err)
		}
	}
	if err == nil {
		m.moved(context.WithoutCancel(r.ctx), stored)
	}
	m.forget(r)
	m.cfg.Observer.AttemptEnded(t.Kind, t.Lane, v.event, m.now().Sub(t.StartedAt))
	r.err = err
	close(r.ended)
	m.running.Done()
}

// orphaned reports whether a file certainly will not be the task's download. While it is not known what became
// of the end, the file stays: the sweep decides.
func orphaned(f *resultFile, token string, stored Task, err error) bool {
	if err != nil && !refused(err) || stored.Lease != nil && stored.Lease.Token == token {
		return false
	}
	return stored.File == nil || stored.File.Path != f.shownPath()
}

// outcome makes what a successful runner left durable; failing that, the attempt has failed.
func (m *Manager) outcome(r *Run, reached Progress, file *resultFile, res result) (out Outcome, err error) {
	if res.err != nil {
		return out, res.err
	}
	out.Progress = reached
	out.Progress.Message = printable(res.done.Message, 500)
	if res.done.Result != nil {
		if out.Result, err = json.Marshal(res.done.Result); err != nil {
			return out, fmt.Errorf("encode the result: %w", err)
		}
	}
	if file == nil {
		return out, nil
	}
	kept, err := file.commit()
	if err != nil {
		return out, err
	}
	kept.Name, kept.ExpiresAt = r.fileName, Millis(m.now().Add(m.cfg.ResultTTL))
	out.File = &kept
	return out, nil
}

// tell logs what an operator should know of an end. The cause is for the log alone.
func (m *Manager) tell(t Task, v verdict, err error) {
	switch v.event {
	case EventRetryScheduled, EventFailed:
		m.log.Warn("an attempt failed", "task", t.ID, "kind", t.Kind, "attempt", t.Attempt, "next", v.event, "cause", v.failure.Cause, "err", err)
	case "":
		m.log.Warn("an attempt lost its lease", "task", t.ID, "kind", t.Kind, "attempt", t.Attempt)
	}
}

// report stores the end of an attempt, as often as it takes while the lease lasts. An answer may get lost after
// the end was stored; the next try is refused then, and the record tells.
func (m *Manager) report(r *Run, t Task, v verdict, reached Progress, out Outcome, next *Successor) (Task, error) {
	if v.event == "" {
		return Task{}, ErrLeaseLost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), storeTimeout)
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause *= 2 {
		stored, err := m.cfg.Store.Update(ctx, t, EndedWith(next, reaching(reached, v.move(r.token, out, m.now()))))
		switch {
		case err == nil, refused(err) && v.ended(t, stored):
			return stored, nil
		case refused(err):
			m.log.Warn("the end of an attempt came too late", "task", t.ID, "attempt", t.Attempt, "err", err)
			return stored, err
		}
		m.log.Error("store the end of an attempt", "task", t.ID, "attempt", t.Attempt, "err", err)
		select {
		case <-ctx.Done():
			return t, err
		case <-time.After(pause):
		}
	}
}

// refused reports whether a move was certainly not made, because the record does not allow it.
func refused(err error) bool {
	return errors.Is(err, ErrLeaseLost) || errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound)
}

// ended reports whether the record says that the attempt of t has ended as the verdict has it, or canceled, which
// beats every other end.
func (v verdict) ended(t, stored Task) bool {
	event, ok := stored.endOf(t)
	return ok && (event == v.event || event == EventCanceled)
}

// reaching makes a move on a record whose attempt has come to the given progress, so that every end can
// say how far it was.
func reaching(p Progress, m Move) Move {
	return func(t *Task) error {
		t.Progress = p
		return m(t)
	}
}

// move is the transition a verdict leads to.
func (v verdict) move(token string, out Outcome, now time.Time) Move {
	switch v.event {
	case EventFinished:
		return Finished(token, out, now)
	case EventCanceled:
		return Canceled(token, now)
	case EventHandedBack:
		return HandedBack(token, now)
	case EventRetryScheduled:
		return RetryScheduled(token, v.failure, now.Add(v.delay), now)
	case EventFailed:
		return Failed(token, v.failure, now)
	default:
		return held(token, now, Rescued(Abandoned{DeadOwner: true}, now))
	}
}

// forget takes an ended attempt out of memory.
func (m *Manager) forget(r *Run) {
	m.mu.Lock()
	if id := r.task.ID; m.runs[id] == r {
		delete(m.runs, id)
	}
	m.mu.Unlock()
	if r.lane != nil {
		r.lane.ended()
	}
}

// vacate gives back the attempt's slot, where it has one.
func (r *Run) vacate() {
	if r.lane != nil {
		r.lane.vacate()
	}
}
