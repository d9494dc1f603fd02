package tasks

import (
	"sync"
	"time"
)

// A throttle spaces out what one task tells its viewers: the first touch is told at once (leading
// edge), later ones at most once an interval, and the last one always (trailing edge). Rate limiters lose that
// last value, which is why this is not one. emit runs under the throttle's lock: emissions of a task are
// in order, and none follows close.
type throttle struct {
	interval time.Duration
	emit     func()

	mu     sync.Mutex
	told   time.Time   // zero: never
	timer  *time.Timer // set while something waits for the interval to pass
	timers int         // so far
	closed bool
}

// touch notes that something changed.
func (t *throttle) touch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		return
	}
	now := time.Now()
	if wait := t.interval - now.Sub(t.told); wait > 0 && !t.closed {
		// Numbered, so that a timer that has fired and waits for the lock is not taken for a later one.
		t.timers++
		n := t.timers
		t.timer = time.AfterFunc(wait, func() { t.elapsed(n) })
		return
	}
	t.tell(now)
}

// flush tells at once what cannot wait: a change of phase or of status.
func (t *throttle) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop()
	t.tell(time.Now())
}

// close ends the telling. The caller tells the end itself.
func (t *throttle) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop()
	t.closed = true
}

func (t *throttle) stop() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}

func (t *throttle) tell(now time.Time) {
	if !t.closed {
		t.told = now
		t.emit()
	}
}

func (t *throttle) elapsed(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil && n == t.timers {
		t.timer = nil
		t.tell(time.Now())
	}
}
