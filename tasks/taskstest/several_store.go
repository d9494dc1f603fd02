package taskstest

import (
	"context"
	"time"

	"filmroom/tasks"
)

// What a process writes counts leases where there are more of them than before, and is lost where the process
// was killed: before the write, or between the write and its answer. What a dead process still reads is of no effect.

func (p *process) Claim(ctx context.Context, c tasks.Claim) ([]tasks.Task, error) {
	if p.dead.Load() {
		return nil, errKilled
	}
	got, err := p.Store.Claim(ctx, c)
	if err != nil || len(got) == 0 {
		return got, err
	}
	p.count(c.Lane)
	p.mu.Lock()
	if p.claims++; p.claims == firstDeath {
		p.kill()
	}
	p.mu.Unlock()
	return unlessKilled(p, got, err)
}

func (p *process) Update(ctx context.Context, known tasks.Task, m tasks.Move) (tasks.Task, error) {
	if p.dead.Load() {
		return known, errKilled
	}
	t, err := p.Store.Update(ctx, known, m)
	return unlessKilled(p, t, err)
}

func (p *process) Renew(ctx context.Context, beats []tasks.Beat, until, now time.Time) ([]tasks.Renewal, error) {
	if p.dead.Load() {
		return nil, errKilled
	}
	answers, err := p.Store.Renew(ctx, beats, until, now)
	return unlessKilled(p, answers, err)
}

func unlessKilled[A any](p *process, a A, err error) (A, error) {
	if p.dead.Load() {
		var none A
		return none, errKilled
	}
	return a, err
}
