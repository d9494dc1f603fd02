package tasks

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// telling records what a throttle tells, and when.
type telling struct {
	start time.Time
	value atomic.Int64
	told  []string
}

func (l *telling) emit() {
	l.told = append(l.told, fmt.Sprintf("%d at %s", l.value.Load(), time.Since(l.start)))
}

func throttled(t *testing.T, play func(l *telling, th *throttle)) []string {
	t.Helper()
	var told []string
	synctest.Test(t, func(t *testing.T) {
		l := &telling{start: time.Now()}
		th := &throttle{interval: 293 * time.Millisecond}
		th.emit = l.emit
		play(l, th)
		time.Sleep(time.Minute) // the bubble's clock: everything that is to come has come
		synctest.Wait()
		told = l.told
	})
	return told
}

func TestAThrottleTellsTheFirstAtOnceAndTheLastAlways(t *testing.T) {
	t.Parallel()
	told := throttled(t, func(l *telling, th *throttle) {
		for i := range 100 {
			l.value.Store(int64(i + 1))
			th.touch()
			time.Sleep(10 * time.Millisecond)
		}
	})
	want := []string{"1 at 0s", "30 at 293ms", "59 at 586ms", "88 at 879ms", "100 at 1.172s"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestAThrottleTellsAFlushAtOnceAndSpacesFromThere(t *testing.T) {
	t.Parallel()
	told := throttled(t, func(l *telling, th *throttle) {
		l.value.Store(1)
		th.touch()
		time.Sleep(100 * time.Millisecond)
		l.value.Store(2)
		th.flush()
		l.value.Store(3)
		th.touch()
	})
	want := []string{"1 at 0s", "2 at 100ms", "3 at 393ms"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestNothingIsToldAfterClose(t *testing.T) {
	t.Parallel()
	told := throttled(t, func(l *telling, th *throttle) {
		th.touch()
		th.touch()
		th.close()
		th.touch()
		th.flush()
	})
	if len(told) != 1 {
		t.Errorf("told %q, want only what came before the close", told)
	}
}

func BenchmarkThrottleTouch(b *testing.B) {
	th := &throttle{interval: time.Hour, emit: func() {}}
	for b.Loop() {
		th.touch()
	}
	th.close()
}
