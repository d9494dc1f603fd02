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

// pair plays a test on two processes that share a store. The second starts nothing itself, so that whatever
// it asks for must reach the first.
func pair(t *testing.T, w work, play func(here, there *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		here := prepare(t, taskstest.NewMemory(), w)
		here.cfg.SoleOwner, here.cfg.Store = false, taskstest.NewShared(here.store)
		there := *here
		there.cfg.Healthy = func() error { return errors.New("it only asks") }
		for _, b := range []*bench{here, &there} {
			b.reboot()
			b.start()
			defer b.stop()
		}
		synctest.Wait() // both know of each other
		play(here, &there)
	})
}

// atOnce fails when a step took time: what comes by news does not wait for a heartbeat or a look.
func atOnce(t *testing.T, what string, step func()) {
	t.Helper()
	began := time.Now()
	step()
	if took := time.Since(began); took != 0 {
		t.Errorf("%s took %s, want no time", what, took)
	}
}

func TestACancelElsewhereStopsARunnerHereAtOnce(t *testing.T) {
	t.Parallel()
	pair(t, blocks, func(here, there *bench) {
		id := here.submit().ID
		here.is(here.settled(id), tasks.StatusProcessing, 1)
		atOnce(t, "the cancel", func() {
			if _, err := there.Cancel(there.t.Context(), ada, id); err != nil {
				t.Fatal(err)
			}
			here.is(here.settled(id), tasks.StatusCanceled, 1)
		})
	})
}

func TestATaskSubmittedElsewhereStartsHereAtOnce(t *testing.T) {
	t.Parallel()
	pair(t, nothing, func(here, there *bench) {
		atOnce(t, "the start", func() {
			here.is(here.settled(there.submit().ID), tasks.StatusFinished, 1)
		})
	})
}

func TestALaneRaisedElsewhereStartsWaitingWorkHereAtOnce(t *testing.T) {
	t.Parallel()
	pair(t, blocks, func(here, there *bench) {
		for range 6 {
			here.submit()
		}
		for _, step := range []struct {
			change tasks.LaneChange
			want   int
		}{
			{tasks.LaneChange{}, 2},
			{tasks.LaneChange{Capacity: ptr(4)}, 4},
			{tasks.LaneChange{Capacity: ptr(6), Paused: ptr(true)}, 4},
			{tasks.LaneChange{Paused: ptr(false)}, 6},
		} {
			atOnce(t, "the change", func() {
				there.setLane(step.change)
				synctest.Wait()
				if got := here.running(); got != step.want {
					t.Errorf("%d run here after %+v elsewhere, want %d", got, step.change, step.want)
				}
			})
		}
	})
}

func TestALockFreedElsewhereStartsWhatWaitsForItHereAtOnce(t *testing.T) {
	t.Parallel()
	pair(t, nothing, func(here, there *bench) {
		holder, err := there.Register(there.t.Context(), ada, tasks.Spec{Kind: "script", LockKey: "key"})
		if err != nil {
			t.Fatal(err)
		}
		id := here.submit(func(s *tasks.Spec) { s.LockKey = "key" }).ID
		time.Sleep(time.Minute)
		here.is(here.settled(id), tasks.StatusQueued, 0)
		atOnce(t, "the start", func() {
			if err := holder.Finish(there.t.Context(), tasks.Done{}); err != nil {
				t.Fatal(err)
			}
			here.is(here.settled(id), tasks.StatusFinished, 1)
		})
	})
}

func TestAViewerHearsOfWhatRunsElsewhereAndItsEndOnce(t *testing.T) {
	t.Parallel()
	pair(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		r.Progress("Working", 1, 2)
		time.Sleep(25 * time.Second)
		return tasks.Done{}, nil
	}, func(here, there *bench) {
		sub := there.Subscribe(ada, tasks.Scope{})
		defer sub.Close()
		here.submit()
		var ends, midway int
		for range 30 {
			time.Sleep(time.Second)
			for _, u := range heard(sub) {
				switch {
				case u.Kind == tasks.UpdateFinish:
					ends++
				case ends > 0:
					t.Errorf("told of %s at %+v after the end", u.Kind, u.Task.Progress)
				case u.Task.Progress.Value == 1:
					midway++ // which the heartbeat stored
				}
			}
		}
		if ends != 1 || midway == 0 {
			t.Errorf("told of %d ends and %d times of progress, want 1 and some", ends, midway)
		}
	})
}

func TestARateIsDividedByTheProcessesThatShareItAndWholeAgainForTheLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		here := prepare(t, taskstest.NewMemory(), func(context.Context, *tasks.Run) (tasks.Done, error) {
			ran.Add(1)
			return tasks.Done{}, nil
		})
		here.cfg.SoleOwner, here.cfg.Store = false, taskstest.NewShared(here.store)
		there := *here
		for _, b := range []*bench{here, &there} {
			b.reboot()
			b.start()
		}
		here.setLane(tasks.LaneChange{Rate: ptr(4.0), Burst: ptr(1)})
		for range 200 {
			here.submit()
		}
		started := func(d time.Duration) int {
			before := ran.Load()
			time.Sleep(d)
			synctest.Wait()
			return int(ran.Load() - before)
		}
		started(time.Second) // the bursts are over
		if n := started(10 * time.Second); n < 39 || n > 41 {
			t.Errorf("two processes started %d tasks in 10 s at a rate of 4 a second", n)
		}
		there.stop()
		if n := started(10 * time.Second); n < 39 || n > 41 {
			t.Errorf("the one that is left started %d tasks in 10 s at a rate of 4 a second", n)
		}
		here.stop()
	})
}
