package mongo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"filmroom/tasks"
)

// Skew is how far two clocks that were measured against the server may differ. A measurement that moves
// a clock by more is a jump.
const Skew = 2 * time.Second

// A Clock tells the server's time, so that the leases of all processes are told by one clock: this process's
// monotonic clock and an offset that is measured now and then. It may be used by many goroutines at once.
type Clock struct {
	server func(context.Context) (time.Time, error)
	local  func() time.Time

	mu     sync.Mutex
	offset time.Duration // of the server's time beyond the local one
	last   time.Time     // the latest time told; what is told never goes back by less than a jump
	jump   time.Duration
}

// Clock returns a clock that has been measured against the server.
func (db *DB) Clock(ctx context.Context) (*Clock, error) {
	c := &Clock{
		server: db.serverTime,
		local:  tasks.Monotonic(),
	}
	if _, err := c.Measure(ctx); err != nil {
		return nil, err
	}
	c.jump = 0 // the first measurement is none
	return c, nil
}

func (db *DB) serverTime(ctx context.Context) (time.Time, error) {
	var hello struct {
		LocalTime time.Time `bson:"localTime"`
	}
	err := db.client.Database("admin").RunCommand(ctx, with("hello", 1)).Decode(&hello)
	if err == nil && hello.LocalTime.IsZero() {
		err = fmt.Errorf("the server's answer to hello has no localTime")
	}
	return hello.LocalTime, wrap(err, "ask the server for its time")
}

// Now is the server's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.local().Add(c.offset); now.After(c.last) {
		c.last = now
	}
	return c.last.Round(0).UTC()
}

// Jump is by how much the last measurement moved the clock when that was more than [Skew], else 0. While it is
// not 0, leases cannot be trusted: nothing should be claimed, and the desk is not ready.
func (c *Clock) Jump() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jump
}

// Measure asks the server three times and believes the answer that took least. It returns the jump, if it
// was one.
func (c *Clock) Measure(ctx context.Context) (jump time.Duration, err error) {
	var offset time.Duration
	best := time.Duration(-1)
	for range 3 {
		sent := c.local()
		at, err := c.server(ctx)
		if err != nil {
			return 0, err
		}
		if took := c.local().Sub(sent); best < 0 || took < best {
			best, offset = took, at.Sub(sent.Add(took/2))
		}
	}
	return c.set(offset), nil
}

func (c *Clock) set(offset time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	moved := offset - c.offset
	c.offset, c.jump = offset, 0
	if moved.Abs() > Skew {
		c.jump, c.last = moved, time.Time{}
	}
	return c.jump
}

// Run measures each minute until ctx ends, and reports jumps and measurements that failed.
func (c *Clock) Run(ctx context.Context, report func(jump time.Duration, err error)) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			jump, err := c.Measure(ctx)
			if ctx.Err() == nil && (jump != 0 || err != nil) {
				report(jump, err)
			}
		}
	}
}
