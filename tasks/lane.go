package tasks

import (
	"context"
	"sync"
	"time"
)

// claimBatch bounds how many tasks one claim takes, so that a wide lane starts its first soon.
const claimBatch = 64

// claimPause is how long a lane waits after the store failed it.
const claimPause = time.Second

// A lane is a named queue with a capacity. Only its own loop takes slots, so that a free slot seen is a
// free slot had; runs give them back.
type lane struct {
	name     string
	capacity int
	wakeup   chan struct{} // holds one: there may be work, or a slot

	mu      sync.Mutex
	running int
}

func (l *lane) wake() {
	select {
	case l.wakeup <- struct{}{}:
	default:
	}
}

func (l *lane) free() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.capacity-l.running, 0)
}

func (l *lane) take() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running++
}

func (l *lane) giveBack() {
	l.mu.Lock()
	l.running--
	l.mu.Unlock()
	l.wake()
}

// serve starts a lane's tasks until ctx ends. It sleeps while there is nothing to do: until it is woken
// by a submit or a slot, or until the time of its next task.
func (m *Manager) serve(ctx context.Context, l *lane) {
	for ctx.Err() == nil {
		var due <-chan time.Time
		var timer *time.Timer
		if wait, ok := m.fill(ctx, l); ok {
			timer = time.NewTimer(wait)
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-l.wakeup:
		case <-due:
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// fill claims until the lane is full or nothing is due, and returns how long until it is worth looking
// again; ok is false when only a wake-up can bring work.
func (m *Manager) fill(ctx context.Context, l *lane) (wait time.Duration, ok bool) {
	for ctx.Err() == nil {
		want := min(l.free(), claimBatch)
		if want == 0 || len(m.Health()) > 0 {
			return m.cfg.RescueInterval, want > 0
		}
		got, err := m.claim(ctx, l, want)
		if err != nil {
			m.log.Error("claim tasks", "lane", l.name, "err", err)
			return claimPause, true
		}
		if got == want {
			continue
		}
		return m.untilNext(ctx, l)
	}
	return 0, false
}

// claim starts up to n waiting tasks. The write is not cut off by a shutdown: a claim whose outcome is
// unknown would leave tasks leased to nobody until their leases run out.
func (m *Manager) claim(ctx context.Context, l *lane, n int) (int, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	now := m.now()
	claimed, err := m.cfg.Store.Claim(ctx, Claim{Lane: l.name, Limit: n, Now: now, Move: func(t *Task) error {
		return Claimed(m.lease(now), now)(t)
	}})
	for _, t := range claimed {
		m.start(t, l, now)
	}
	return len(claimed), err
}

func (m *Manager) lease(now time.Time) Lease {
	return Lease{Owner: m.Boot(), Token: NewID(), ExpiresAt: now.Add(m.cfg.LeaseTTL)}
}

func (m *Manager) untilNext(ctx context.Context, l *lane) (time.Duration, bool) {
	at, ok, err := m.cfg.Store.NextAvailable(ctx, l.name)
	if err != nil {
		return claimPause, ctx.Err() == nil
	}
	if !ok {
		return 0, false
	}
	// What is due but was not claimed is being claimed elsewhere, or came in just now.
	return max(at.Sub(m.now()), time.Millisecond), true
}
