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

// A dawdler is a store whose lanes, once read, take until the next change to arrive.
type dawdler struct {
	*taskstest.Memory
	meanwhile atomic.Pointer[func()]
	answer    error // to the next PutLane, which is carried out nevertheless
}

func (d *dawdler) Lanes(ctx context.Context) ([]tasks.Lane, error) {
	lanes, err := d.Memory.Lanes(ctx)
	if f := d.meanwhile.Swap(nil); f != nil {
		(*f)()
	}
	return lanes, err
}

func (d *dawdler) PutLane(ctx context.Context, l tasks.Lane) error {
	err := d.Memory.PutLane(ctx, l)
	if d.answer != nil {
		err, d.answer = d.answer, nil
	}
	return err
}

func runDawdling(t *testing.T, play func(b *bench, d *dawdler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &dawdler{Memory: taskstest.NewMemory()}
		b := prepare(t, d.Memory, blocks)
		b.cfg.Store = d
		b.reboot()
		b.start()
		defer b.stop()
		for range 6 {
			b.submit()
		}
		synctest.Wait()
		play(b, d)
	})
}

func TestALaneThatWasReadBeforeAChangeDoesNotUndoIt(t *testing.T) {
	t.Parallel()
	runDawdling(t, func(b *bench, d *dawdler) {
		d.meanwhile.Store(ptr(func() { b.setLane(tasks.LaneChange{Capacity: ptr(5)}) }))
		time.Sleep(11 * time.Second) // the regular look
		b.settled(b.submit().ID)
		if got := b.Stats().Lanes[0].Capacity; got != 5 || b.running() != 5 {
			t.Errorf("the lane has room for %d and runs %d, want what is stored, 5", got, b.running())
		}
	})
}

func TestALaneChangeWhoseAnswerWasLostIsInForceSoon(t *testing.T) {
	t.Parallel()
	runDawdling(t, func(b *bench, d *dawdler) {
		d.answer = errors.New("connection lost")
		if _, err := b.SetLane(b.t.Context(), root, "lane", tasks.LaneChange{Capacity: ptr(4)}); err == nil {
			t.Error("an unknown outcome was reported as success")
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if b.running() != 4 {
			t.Errorf("%d run, want 4", b.running())
		}
	})
}
