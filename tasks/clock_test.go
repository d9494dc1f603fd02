package tasks_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// runJumping plays on a machine whose clock jump moves.
func runJumping(t *testing.T, w work, play func(b *bench, jump func(time.Duration))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var off atomic.Int64
		wall := func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
		b := prepare(t, taskstest.NewMemory(), w)
		b.cfg.Clock = tasks.NewClock(wall)
		b.reboot()
		b.start()
		defer func() { b.stop() }()
		play(b, func(by time.Duration) { off.Add(int64(by)) })
	})
}

// A laptop sleeps for an hour, or somebody sets its clock.
func TestARunningAttemptSurvivesAJumpOfTheClock(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"forwards": time.Hour, "backwards": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runJumping(t, blocks, func(b *bench, jump func(time.Duration)) {
				task := b.settled(b.submit().ID)
				time.Sleep(15 * time.Second)
				jump(by)
				for range 60 {
					time.Sleep(7 * time.Second)
					b.is(b.settled(task.ID), tasks.StatusProcessing, 1)
				}
				second := b.settled(b.submit().ID)
				b.is(second, tasks.StatusProcessing, 1)
				if off := b.cfg.Clock.Off(); by > 0 && off != 0 {
					t.Errorf("the engine's clock is still off by %s", off)
				}
			})
		})
	}
}

func TestTheClockComesBackToTheMachines(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"forwards": time.Hour, "backwards": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runJumping(t, nothing, func(b *bench, jump func(time.Duration)) {
				jump(by)
				last := b.cfg.Clock.Now()
				for range 3 * 60 {
					time.Sleep(time.Minute)
					if now := b.cfg.Clock.Now(); now.Before(last) {
						t.Fatalf("the clock went back by %s", last.Sub(now))
					} else {
						last = now
					}
				}
				if off := b.cfg.Clock.Off(); off != 0 {
					t.Errorf("it is still off by %s", off)
				}
			})
		})
	}
}

func TestAfterTheClockWasSetBackATaskDoesNotWaitForTheHourToComeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, taskstest.NewMemory(), nothing)
		store := func(edits ...func(*tasks.Task)) tasks.Task {
			spec := tasks.Task{ID: tasks.NewID(), UserID: "ada", Kind: "test", Lane: "lane", MaxAttempts: 3}
			for _, e := range edits {
				e(&spec)
			}
			task, err := b.store.Insert(b.t.Context(), tasks.Submitted(spec, time.Now().Add(time.Hour)))
			if err != nil {
				t.Fatal(err)
			}
			return task
		}
		due := store()
		chosen := store(func(t *tasks.Task) { t.AvailableAt = time.Now().Add(3 * time.Hour) })
		b.start()
		defer b.stop()
		b.is(b.settled(due.ID), tasks.StatusFinished, 1)
		if got := b.get(chosen.ID); got.Status != tasks.StatusQueued || !got.AvailableAt.Equal(chosen.AvailableAt) {
			t.Errorf("a task for a time that was chosen is %s, for %s", got.Status, got.AvailableAt)
		}
		running := taskstest.Moved(due, tasks.Claimed(tasks.Lease{}, due.AvailableAt))
		if _, err := tasks.Apply(running, tasks.Recalled(time.Now())); !errors.Is(err, tasks.ErrConflict) {
			t.Errorf("a running task is recalled: %v", err)
		}
	})
}
