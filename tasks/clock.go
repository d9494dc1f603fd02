package tasks

import (
	"sync"
	"time"
)

// ClockSkew is how far a [Clock] may be from the machine's without anything being done about it.
const ClockSkew = 2 * time.Second

// Monotonic returns a clock that begins with the machine's time and then only counts on: setting the machine's clock
// or letting it sleep changes nothing here.
func Monotonic() func() time.Time {
	started := time.Now()
	return func() time.Time { return started.Add(time.Since(started)) }
}

// A Clock tells the time of a desk that shares its tasks with no other process. It counts by itself, so that no
// lease ends because somebody sets the machine's clock or lets it sleep. A [Manager] brings it back to the machine's
// time with its heartbeat: forwards in one step, once the leases here last beyond it, and backwards
// by standing still for half of the time.
type Clock struct {
	wall, counted func() time.Time

	mu     sync.Mutex
	offset time.Duration
	last   time.Time // what is told never goes back
}

// NewClock returns a clock that begins with the machine's time and follows wall, which is time.Now.
func NewClock(wall func() time.Time) *Clock {
	c := &Clock{wall: wall, counted: Monotonic()}
	c.offset = c.Off()
	return c
}

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.counted().Add(c.offset).Round(0); now.After(c.last) {
		c.last = now
	}
	return c.last
}

// Off is by how much the machine's time is ahead of this clock's, 0 within [ClockSkew].
func (c *Clock) Off() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	off := c.wall().Round(0).Sub(c.counted().Add(c.offset).Round(0))
	if off.Abs() <= ClockSkew {
		return 0
	}
	return off
}

// Step moves the clock.
func (c *Clock) Step(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += by
}

// keepTime brings the clock nearer to the machine's, after all leases that renewed names were made to last a lease's
// length beyond where it steps. While there are others, or are about to be, it waits for the next heartbeat.
func (m *Manager) keepTime(off time.Duration, renewed []*Run) {
	if off == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	safe := map[*Run]bool{}
	for _, r := range renewed {
		safe[r] = true
	}
	for _, r := range m.runs {
		if off > 0 && !safe[r] {
			return
		}
	}
	if off > 0 && m.leasing > 0 {
		return
	}
	off = max(off, -m.cfg.Heartbeat/2)
	m.cfg.Clock.Step(off)
	m.log.Warn("the machine's clock was moved, or it slept", "by", off)
}
