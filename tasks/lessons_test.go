package tasks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// What broke in other task systems, and must not here.

// A viewer who is told of an end before it is written believes what a crash then takes back.
func TestNothingFinalIsToldWhileTheEndCannotBeStored(t *testing.T) {
	t.Parallel()
	runGated(t, func(ctx context.Context, r *tasks.Run, gate <-chan struct{}) (tasks.Done, error) {
		<-gate
		r.Progress("Done", 3, 3)
		return tasks.Done{Message: "All 3 done"}, nil
	}, func(b *bench, open func()) {
		sub := b.Subscribe(ada, tasks.Scope{})
		defer sub.Close()
		id := b.submit().ID
		heard(sub)
		b.store.Fail(func(method string) error {
			if method == "Update" {
				return errors.New("no answer")
			}
			return nil
		})
		open()
		for range 5 {
			time.Sleep(time.Second)
			for _, u := range heard(sub) {
				if u.Task.Status.Final() {
					t.Errorf("told that the task is %s, and that is not stored", u.Task.Status)
				}
			}
			b.is(b.get(id), tasks.StatusProcessing, 1)
		}
		b.store.Fail(nil)
		time.Sleep(5 * time.Second)
		b.is(b.settled(id), tasks.StatusFinished, 1)
		updates := heard(sub)
		if n := len(updates); n != 1 || updates[0].Kind != tasks.UpdateFinish {
			t.Errorf("told %d things once it was stored, want the end alone", n)
		}
	})
}

// A retry that forgets what was asked for does something else under the old name.
func TestWhatWasAskedForOutlivesEachKindOfRetry(t *testing.T) {
	t.Parallel()
	var attempts []tasks.Task
	run(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		attempts = append(attempts, r.Task()) // one at a time: they share a lock
		switch len(attempts) {
		case 1:
			return tasks.Done{}, errors.New("try again")
		case 2, 3: // handed back, rescued
			return blocks(ctx, r)
		case 4:
			return tasks.Done{}, tasks.Permanent(errors.New("no"))
		}
		return tasks.Done{}, nil
	}, func(b *bench) {
		id := b.submit(func(s *tasks.Spec) {
			s.Args, s.Sealed, s.LockKey = map[string]any{"a": 1}, []byte{1, 2, 3}, "key"
			s.PartitionKey, s.Priority, s.Timeout, s.MaxAttempts = "p", 7, 2*time.Hour, 3
		}).ID
		time.Sleep(time.Minute) // the second attempt runs
		b.stop()                // which hands it back
		b.reboot()
		b.start()
		synctest.Wait() // the third runs, and is cut off until its lease is over
		b.store.Fail(func(method string) error {
			if method == "Renew" || method == "Update" {
				return errors.New("no answer")
			}
			return nil
		})
		time.Sleep(2 * time.Minute)
		b.store.Fail(nil)
		time.Sleep(time.Minute) // rescued, and the fourth fails for good
		b.is(b.settled(id), tasks.StatusError, 3)
		if _, err := b.Retry(b.t.Context(), ada, id); err != nil {
			t.Fatal(err)
		}
		b.is(b.settled(id), tasks.StatusFinished, 4)
		if len(attempts) != 5 {
			t.Fatalf("%d attempts ran, want 5", len(attempts))
		}
		for i, got := range attempts {
			if string(got.Args) != `{"a":1}` || !bytes.Equal(got.Sealed, []byte{1, 2, 3}) || got.LockKey != "key" ||
				got.PartitionKey != "p" || got.Priority != 7 || got.Timeout != 2*time.Hour {
				t.Errorf("attempt %d was given %+v", i+1, got)
			}
		}
	})
}

// An engine that holds back while its store is away must notice that it is back, with nothing left to renew.
func TestAfterAnOutageLongerThanItsLeasesTheEngineGoesOn(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	run(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		if ran.Add(1) == 1 {
			return blocks(ctx, r)
		}
		return tasks.Done{}, nil
	}, func(b *bench) {
		id := b.submit().ID
		b.is(b.settled(id), tasks.StatusProcessing, 1)
		b.store.Fail(func(string) error { return errors.New("no answer") })
		time.Sleep(10 * time.Minute)
		if len(b.Health()) == 0 {
			t.Error("the engine says it is well while its store is away")
		}
		b.store.Fail(nil)
		time.Sleep(time.Minute)
		b.is(b.settled(id), tasks.StatusFinished, 2)
		if ills := b.Health(); len(ills) > 0 {
			t.Errorf("the store is back, and the engine says %q", ills)
		}
	})
}

// One slow deletion in a shared scheduler once stopped a whole queue for an hour.
func TestASlowPassOfMaintenanceDelaysNeitherClaimsNorHeartbeats(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]string{"retention": "Delete", "rescue": "Stale", "successors": "Unfollowed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := prepare(t, taskstest.NewMemory(), func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
					time.Sleep(30 * time.Minute)
					return tasks.Done{}, nil
				})
				slow := &stuck{Memory: b.store, method: method}
				b.cfg.Store, b.cfg.Retention = slow, map[tasks.Status]time.Duration{tasks.StatusFinished: 48 * time.Hour}
				b.reboot()
				b.start()
				b.submit()
				time.Sleep(47 * time.Hour)
				slow.on.Store(true)
				time.Sleep(3 * time.Hour)
				if !slow.hangs.Load() {
					t.Fatal("the pass was never made")
				}
				began := time.Now()
				id := b.submit().ID
				b.is(b.settled(id), tasks.StatusProcessing, 1)
				time.Sleep(31 * time.Minute) // many leases long
				done := b.settled(id)
				b.is(done, tasks.StatusFinished, 1)
				if !done.StartedAt.Equal(tasks.Millis(began)) {
					t.Errorf("started %s after it was submitted", done.StartedAt.Sub(began))
				}
				b.stop()
			})
		})
	}
}

// A stuck store does not come back from one of its methods.
type stuck struct {
	*taskstest.Memory
	method    string
	on, hangs atomic.Bool
}

func (s *stuck) hang(ctx context.Context, method string) {
	if s.on.Load() && s.method == method {
		s.hangs.Store(true)
		<-ctx.Done()
	}
}

func (s *stuck) Delete(ctx context.Context, t tasks.Task) error {
	s.hang(ctx, "Delete")
	return s.Memory.Delete(ctx, t)
}

func (s *stuck) Stale(ctx context.Context, owner string, now time.Time, limit int) ([]tasks.Task, error) {
	s.hang(ctx, "Stale")
	return s.Memory.Stale(ctx, owner, now, limit)
}

func (s *stuck) Unfollowed(ctx context.Context, after string, limit int) ([]tasks.Task, error) {
	s.hang(ctx, "Unfollowed")
	return s.Memory.Unfollowed(ctx, after, limit)
}

// What another version of the program stored, or a bad disk changed, must neither run nor block the lane.
func TestAStoredTaskThatCannotBeReadFailsWithoutARunAndFreesItsSlot(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	run(t, func(context.Context, *tasks.Run) (tasks.Done, error) {
		ran.Add(1)
		return tasks.Done{}, nil
	}, func(b *bench) {
		b.setLane(tasks.LaneChange{Capacity: ptr(1)})
		var all []string
		for _, edit := range []func(*tasks.Task){
			func(t *tasks.Task) { t.Kind = "gone" },
			func(t *tasks.Task) { t.Args = json.RawMessage(`{"a":`) },
			func(t *tasks.Task) { t.Args = json.RawMessage(`[1]`) },
		} {
			spec := taskstest.Task(taskstest.In("lane"), func(t *tasks.Task) { t.Kind, t.UserID = "test", "ada" }, edit)
			stored, err := b.store.Insert(b.t.Context(), tasks.Submitted(spec, time.Now()))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, stored.ID)
		}
		sound := b.submit()
		b.is(b.settled(sound.ID), tasks.StatusFinished, 1)
		for _, id := range all {
			task := b.get(id)
			b.is(task, tasks.StatusError, 1)
			if len(task.Failures) != 1 || task.Failures[0].Cause != tasks.CauseArguments {
				t.Errorf("the task failed by %+v, want its arguments", task.Failures)
			}
		}
		if ran.Load() != 1 {
			t.Errorf("the runner was called %d times, want once, for the sound task", ran.Load())
		}
	})
}

// Memory that grows with each task ends every long-lived process.
func TestTasksThatHaveEndedLeaveMemory(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		for range 100 {
			b.submit()
		}
		synctest.Wait()
		attempts, ends := b.Remembered()
		if attempts != 0 || ends != 100 || len(b.InProgress(ada)) != 0 {
			t.Errorf("%d attempts and %d ends of 100 tasks are in memory", attempts, ends)
		}
		done := taskstest.InStatus(tasks.StatusFinished)
		for range 5000 {
			done.ID = taskstest.ID()
			b.Publish(done)
		}
		if _, ends := b.Remembered(); ends != tasks.RememberedEnds {
			t.Errorf("after 5,100 ends %d are in memory, want %d", ends, tasks.RememberedEnds)
		}
	})
}

// Failed tasks that cannot be put away stay on the board for ever.
func TestEveryEndCanBeDismissedOneByOneAndComesBack(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		for _, status := range []tasks.Status{tasks.StatusFinished, tasks.StatusError, tasks.StatusCanceled, tasks.StatusInterrupted} {
			task := taskstest.InStatus(status, func(t *tasks.Task) { t.UserID = "ada" })
			if _, err := b.store.Insert(b.t.Context(), task); err != nil {
				t.Fatal(err)
			}
			for _, dismissed := range []bool{true, false} {
				got, err := b.Dismiss(b.t.Context(), ada, task.ID, dismissed)
				page, _ := b.List(b.t.Context(), ada, tasks.Query{Dismissed: &dismissed, Limit: 9})
				listed := slices.ContainsFunc(page.Items, func(t tasks.Task) bool { return t.ID == task.ID })
				if err != nil || got.Dismissed != dismissed || got.Status != status || !listed {
					t.Errorf("%s: dismissed %v, %s, listed %v, %v", status, got.Dismissed, got.Status, listed, err)
				}
			}
		}
	})
}
