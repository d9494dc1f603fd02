package mongo

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// twoClocks are a machine's and a server's, which the test sets.
type twoClocks struct {
	local, remote time.Time
	latency       time.Duration // of the next question; the answer is read in the middle of it
	err           error
}

func (c *twoClocks) pass(d time.Duration) {
	c.local, c.remote = c.local.Add(d), c.remote.Add(d)
}

func (c *twoClocks) clock() *Clock {
	return &Clock{
		local: func() time.Time { return c.local },
		server: func(context.Context) (time.Time, error) {
			c.pass(c.latency / 2)
			at := c.remote
			c.pass(c.latency / 2)
			return at, c.err
		},
	}
}

func fresh(ahead time.Duration) *twoClocks {
	local := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &twoClocks{local: local, remote: local.Add(ahead), latency: 40 * time.Millisecond}
}

func TestTheClockTellsTheServersTime(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, 90 * time.Minute, -90 * time.Minute} {
		two := fresh(ahead)
		c := two.clock()
		if _, err := c.Measure(t.Context()); err != nil {
			t.Fatal(err)
		}
		two.pass(time.Hour)
		if got := c.Now(); !got.Equal(two.remote) {
			t.Errorf("server ahead by %v: the clock tells %v, the server %v", ahead, got, two.remote)
		}
	}
}

func TestASmallCorrectionIsNoJumpAndNeverGoesBack(t *testing.T) {
	t.Parallel()
	two := fresh(time.Hour)
	c := two.clock()
	_, err := c.Measure(t.Context())
	did(t, err)
	before := c.Now()
	two.remote = two.remote.Add(-Skew)
	jump, err := c.Measure(t.Context())
	if jump != 0 || err != nil || c.Jump() != 0 {
		t.Errorf("jump %v (%v), error %v", jump, c.Jump(), err)
	}
	if now := c.Now(); now.Before(before) {
		t.Errorf("the clock went back from %v to %v", before, now)
	}
	two.pass(time.Hour)
	if now := c.Now(); !now.Equal(two.remote) {
		t.Errorf("the clock tells %v, the server %v", now, two.remote)
	}
}

func TestAJumpIsReportedFollowedAndThenOver(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		two := fresh(0)
		c := two.clock()
		_, err := c.Measure(t.Context())
		did(t, err)
		two.remote = two.remote.Add(by)
		if jump, err := c.Measure(t.Context()); jump != by || c.Jump() != by || err != nil {
			t.Errorf("jump %v (%v), error %v, want %v", jump, c.Jump(), err, by)
		}
		if now := c.Now(); !now.Equal(two.remote) {
			t.Errorf("the clock tells %v, the server %v", now, two.remote)
		}
		if jump, err := c.Measure(t.Context()); jump != 0 || c.Jump() != 0 || err != nil {
			t.Errorf("afterwards jump %v (%v), error %v", jump, c.Jump(), err)
		}
	}
}

func TestAFailedMeasurementLeavesTheClock(t *testing.T) {
	t.Parallel()
	two := fresh(time.Hour)
	c := two.clock()
	_, err := c.Measure(t.Context())
	did(t, err)
	two.err = errors.New("no server")
	if _, err := c.Measure(t.Context()); !errors.Is(err, two.err) {
		t.Errorf("error %v, want the server's", err)
	}
	if now := c.Now(); !now.Equal(two.remote) {
		t.Errorf("the clock tells %v, the server told %v", now, two.remote)
	}
}

func TestTheClockIsMeasuredEachMinuteUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		two := fresh(time.Hour) // which the first measurement, in a minute, finds to be a jump
		c := two.clock()
		ctx, cancel := context.WithCancel(t.Context())
		jumps := make(chan time.Duration)
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(ctx, func(jump time.Duration, _ error) { jumps <- jump })
		}()
		began := time.Now()
		if jump := <-jumps; jump != time.Hour {
			t.Errorf("jump %v, want an hour", jump)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("measured after %v, want a minute", took)
		}
		cancel()
		<-done
	})
}

func TestTheClockOfARealServerIsCloseToIt(t *testing.T) {
	t.Parallel()
	db := setup(t)
	c, err := db.Clock(t.Context())
	did(t, err)
	before, err := db.serverTime(t.Context())
	did(t, err)
	if ahead := c.Now().Sub(before); ahead < -Skew {
		t.Errorf("the clock is %v behind the server", -ahead)
	}
	if c.Jump() != 0 {
		t.Errorf("the first measurement counts as a jump of %v", c.Jump())
	}
}
