package tasks_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// A mortal is one process's way to a shared store. When the process is killed it reaches nothing any more.
type mortal struct {
	*taskstest.Memory
	dead atomic.Bool
}

func (m *mortal) gone() error {
	if m.dead.Load() {
		return errors.New("killed")
	}
	return nil
}

func (m *mortal) Update(ctx context.Context, known tasks.Task, mv tasks.Move) (tasks.Task, error) {
	if err := m.gone(); err != nil {
		return tasks.Task{}, err
	}
	return m.Memory.Update(ctx, known, mv)
}

func (m *mortal) Claim(ctx context.Context, c tasks.Claim) ([]tasks.Task, error) {
	if err := m.gone(); err != nil {
		return nil, err
	}
	return m.Memory.Claim(ctx, c)
}

func (m *mortal) Renew(ctx context.Context, beats []tasks.Beat, until, now time.Time) ([]tasks.Renewal, error) {
	if err := m.gone(); err != nil {
		return nil, err
	}
	return m.Memory.Renew(ctx, beats, until, now)
}

func (m *mortal) Stale(ctx context.Context, owner string, now time.Time, limit int) ([]tasks.Task, error) {
	if err := m.gone(); err != nil {
		return nil, err
	}
	return m.Memory.Stale(ctx, owner, now, limit)
}

// crowd counts runners at work, over all processes.
type crowd struct{ at, most, done atomic.Int32 }

// work takes 20 s, unless its context ends before.
func (c *crowd) work(ctx context.Context, _ *tasks.Run) (tasks.Done, error) {
	now := c.at.Add(1)
	defer c.at.Add(-1)
	for old := c.most.Load(); now > old && !c.most.CompareAndSwap(old, now); old = c.most.Load() {
	}
	select {
	case <-ctx.Done():
		return tasks.Done{}, context.Cause(ctx)
	case <-time.After(20 * time.Second):
		c.done.Add(1)
		return tasks.Done{}, nil
	}
}

// A killed process cannot give its slots back, and cannot be asked whether it still works: its attempts must
// have stopped by themselves before its leases let others in.
func TestSeveralProcessesNeverRunMoreThanTheLaneAllowsThoughSomeAreKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var busy crowd
		b := prepare(t, taskstest.NewMemory(), busy.work)
		b.cfg.SoleOwner, b.cfg.Lanes = false, map[string]int{"lane": 3}
		var processes [4]*mortal
		var managers [4]*tasks.Manager
		for i := range processes {
			processes[i] = &mortal{Memory: b.store}
			b.cfg.Store = processes[i]
			b.reboot()
			b.start()
			managers[i] = b.Manager
		}
		const n = 40
		for range n {
			b.submit()
		}
		for _, kill := range []int{0, 2} {
			time.Sleep(33 * time.Second)
			processes[kill].dead.Store(true)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		page, err := b.List(b.t.Context(), ada, tasks.Query{Statuses: []tasks.Status{tasks.StatusFinished}})
		if err != nil || page.Total != n {
			t.Errorf("%d of %d finished, %v", page.Total, n, err)
		}
		if most := busy.most.Load(); most != 3 {
			t.Errorf("%d ran at once over all processes, in a lane of 3", most)
		}
		for _, m := range managers {
			if err := m.Stop(b.t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
