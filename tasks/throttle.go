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

	mu      sync.Mutex
	timer   *time.Timer // set while an interval is open
	opened  int         // intervals so far
	pending bool        // touched since the last emission
	closed  bool
}

// touch notes that something changed.
func (t *throttle) touch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.pending = true
		return
	}
	t.tell()
}

// flush tells at once what cannot wait: a change of phase or of status.
func (t *throttle) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
	}
	t.tell()
}

// close ends the telling. The caller tells the end itself.
func (t *throttle) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
	}
}

func (t *throttle) tell() {
	if t.closed {
		return
	}
	t.pending = false
	t.emit()
	// Counted, so that a timer that has fired and waits for the lock is not taken for the one that
	// flush has started meanwhile.
	t.opened++
	n := t.opened
	t.timer = time.AfterFunc(t.interval, func() { t.elapsed(n) })
}

func (t *throttle) elapsed(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n != t.opened {
		return
	}
	t.timer = nil
	if t.pending {
		t.tell()
	}
}
