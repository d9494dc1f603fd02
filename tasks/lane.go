package tasks

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// claimBatch bounds how many tasks one claim takes, so that a wide lane starts its first soon.
const claimBatch = 64

// claimPause is how long a lane waits after the store failed it.
const claimPause = time.Second

// A lane is this process's view of a [Lane]. Only its own loop claims, so that a slot seen free here is
// not taken by somebody else here; what other processes hold, the store knows.
type lane struct {
	name   string
	wakeup chan struct{} // holds one: there may be work, a slot, or another setting

	mu        sync.Mutex
	set       Lane
	processes int // that share the rate
	rate      *rate.Limiter
	running   int
	ends      int  // of attempts, stored so far
	missed    bool // a task that is due found no slot; the next end that is stored may leave one
}

func newLane(set Lane) *lane {
	l := &lane{name: set.Name, wakeup: make(chan struct{}, 1)}
	l.setting(set, 1)
	return l
}

// setting takes in what people have set, unless something newer is known. Rate and burst are shared evenly by
// the processes there are; each may start one at least, so a burst smaller than their number is exceeded.
func (l *lane) setting(set Lane, processes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if set.Rev < l.set.Rev || l.rate != nil && set == l.set && processes == l.processes {
		return
	}
	l.processes = processes
	limit, burst := rate.Inf, 0
	if set.Rate > 0 {
		limit, burst = rate.Limit(set.Rate/float64(processes)), max(set.Burst/processes, 1)
	}
	if l.rate == nil || l.rate.Limit() == rate.Inf {
		l.rate = rate.NewLimiter(limit, burst) // begins with its burst
	} else {
		l.rate.SetLimit(limit)
		l.rate.SetBurst(burst)
	}
	l.set = set
	l.wake()
}

// shared is how many processes there were at the last look.
func (l *lane) shared() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.processes
}

func (l *lane) wake() {
	select {
	case l.wakeup <- struct{}{}:
	default:
	}
}

// room is how many tasks may be claimed at now, and how many ends were stored so far; when none may because
// of the rate, wait says how long that lasts.
func (l *lane) room(now time.Time) (n, ends int, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ends = l.ends
	if l.set.Paused {
		return 0, ends, 0
	}
	n = min(max(l.set.Capacity-l.running, 0), claimBatch)
	if n == 0 || l.rate.Limit() == rate.Inf {
		return n, ends, 0
	}
	tokens := l.rate.TokensAt(now)
	if tokens < 1 {
		return 0, ends, time.Duration((1 - tokens) / float64(l.rate.Limit()) * float64(time.Second))
	}
	return min(n, int(tokens)), ends, 0
}

// took notes that n tasks were claimed at now.
func (l *lane) took(n int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running += n
	if l.rate.Limit() != rate.Inf {
		l.rate.AllowN(now, n)
	}
}

// vacate gives back the slot of an attempt whose end is on its way to the store. The next claim may so be
// stored together with the end; should it come before, the store knows of no free slot and gives nothing.
func (l *lane) vacate() {
	l.mu.Lock()
	l.running--
	l.mu.Unlock()
	l.wake()
}

// ended notes that the end of an attempt was stored.
func (l *lane) ended() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends++
	if l.missed {
		l.missed = false
		l.wake()
	}
}

// endedSince reports whether an end was stored after room counted them; if not, the next one will wake the lane.
func (l *lane) endedSince(ends int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missed = l.ends == ends
	return !l.missed
}

func (l *lane) stats() LaneStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return LaneStats{l.name, l.set.Capacity, l.running}
}

// serve starts a lane's tasks until ctx ends. It sleeps while there is nothing to do: until it is woken
// by a submit, a slot, a lock or a setting, or until the time of its next task.
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
		want, ends, wait := l.room(m.now())
		switch {
		case want == 0:
			return wait, wait > 0
		case len(m.Health()) > 0:
			return m.cfg.RescueInterval, true
		}
		got, err := m.claim(ctx, l, want)
		if err != nil {
			m.log.Error("claim tasks", "lane", l.name, "err", err)
			return claimPause, true
		}
		if got == want {
			continue
		}
		if wait, ok := m.untilNext(ctx, l); !ok || !l.endedSince(ends) {
			return wait, ok
		}
	}
	return 0, false
}

// claim starts up to n waiting tasks. The write is not cut off by a shutdown: a claim whose outcome is
// unknown would leave tasks leased to nobody until their leases run out.
func (m *Manager) claim(ctx context.Context, l *lane, n int) (int, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	defer m.leases()()
	now := m.now()
	claimed, err := m.cfg.Store.Claim(ctx, Claim{Lane: l.name, Limit: n, Now: now, Move: func(t *Task) error {
		return Claimed(m.lease(now), now)(t)
	}})
	l.took(len(claimed), now)
	for _, t := range claimed {
		m.start(t, l, now)
	}
	return len(claimed), err
}

// leases announces a write that leases tasks to attempts which are opened after it, before the returned function is
// called: a cancel that comes in between is kept for them.
func (m *Manager) leases() (opened func()) {
	m.mu.Lock()
	m.leasing++
	m.mu.Unlock()
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.leasing--; m.leasing == 0 {
			clear(m.early)
		}
	}
}

func (m *Manager) lease(now time.Time) Lease {
	return Lease{Owner: m.Boot(), Token: NewID(), ExpiresAt: now.Add(m.cfg.LeaseTTL)}
}

// untilNext is how long until a lane's next task is due. A task that is due and was not claimed waits for a
// lock or a slot: here their release wakes the lane, elsewhere it is told of, and what a crash holds
// comes free with the next rescue.
func (m *Manager) untilNext(ctx context.Context, l *lane) (time.Duration, bool) {
	at, ok, err := m.cfg.Store.NextAvailable(ctx, l.name)
	if err != nil {
		return claimPause, ctx.Err() == nil
	}
	if wait := at.Sub(m.now()); ok && wait > 0 {
		return min(wait, m.cfg.RescueInterval), true
	}
	return m.cfg.RescueInterval, ok
}
