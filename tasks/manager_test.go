package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

func TestASubmittedTaskRunsAndLeavesItsResultAndFile(t *testing.T) {
	t.Parallel()
	run(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		f, err := r.CreateFile("résultat.txt")
		if err != nil {
			return tasks.Done{}, err
		}
		_, err = io.WriteString(f, "hello")
		r.Progress("Working", 3, 3)
		r.Log(slog.LevelInfo, "wrote %d bytes", 5)
		return tasks.Done{Message: "All 3 done", Result: map[string]int{"done": 3}}, err
	}, func(b *bench) {
		task := b.settled(b.submit().ID)
		b.is(task, tasks.StatusFinished, 1)
		if string(task.Result) != `{"done":3}` || task.Progress != (tasks.Progress{Message: "All 3 done", Value: 3, Max: 3}) {
			t.Errorf("result %s, progress %+v", task.Result, task.Progress)
		}
		_, f, err := b.OpenFile(b.t.Context(), ada, task.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, _ := io.ReadAll(f); string(got) != "hello" || task.File.Size != 5 || task.File.Name != "résultat.txt" {
			t.Errorf("the file holds %q and is described as %+v", got, task.File)
		}
		lines, err := b.Log(b.t.Context(), ada, task.ID, 0, 10)
		if err != nil || len(lines) != 1 || lines[0].Text != "wrote 5 bytes" || lines[0].Attempt != 1 {
			t.Errorf("log %+v, %v", lines, err)
		}
	})
}

func TestADownloadEndsWithItsTime(t *testing.T) {
	t.Parallel()
	run(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		_, err := r.CreateFile("a.txt")
		return tasks.Done{}, err
	}, func(b *bench) {
		id := b.submit().ID
		b.settled(id)
		time.Sleep(169 * time.Hour)
		if _, _, err := b.OpenFile(b.t.Context(), ada, id); !errors.Is(err, tasks.ErrExpired) {
			t.Errorf("error %v, want ErrExpired", err)
		}
	})
}

func TestAFailedAttemptIsFollowedByAnotherAfterItsDelay(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	run(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		if attempts.Add(1) < 3 {
			return tasks.Done{}, errors.New("not yet")
		}
		return tasks.Done{}, nil
	}, func(b *bench) {
		id := b.submit().ID
		b.is(b.settled(id), tasks.StatusQueued, 1)
		time.Sleep(time.Minute)
		task := b.settled(id)
		b.is(task, tasks.StatusFinished, 3)
		if len(task.Failures) != 2 {
			t.Errorf("%d failures are kept, want 2", len(task.Failures))
		}
	})
}

func TestAScheduledTaskStartsAtItsTimeWithoutPolling(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		at := time.Now().Add(17 * time.Second)
		id := b.submit(func(s *tasks.Spec) { s.AvailableAt = at }).ID
		time.Sleep(16 * time.Second)
		b.is(b.settled(id), tasks.StatusQueued, 0)
		time.Sleep(1100 * time.Millisecond)
		b.is(b.settled(id), tasks.StatusFinished, 1)
	})
}

// A slot that leaks once in a while stops a lane for good, and nothing says so.
func TestASlotIsNeverLeakedWhateverARunnerDoes(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]work{
		"it returns an error": func(context.Context, *tasks.Run) (tasks.Done, error) {
			return tasks.Done{}, tasks.Permanent(errors.New("no"))
		},
		"it panics":                 func(context.Context, *tasks.Run) (tasks.Done, error) { panic("no") },
		"it stops at its timeout":   blocks,
		"its result is no JSON":     func(context.Context, *tasks.Run) (tasks.Done, error) { return tasks.Done{Result: make(chan int)}, nil },
		"it hangs past its timeout": nil,
	} {
		t.Run(name, func(t *testing.T) {
			runGated(t, func(ctx context.Context, r *tasks.Run, gate <-chan struct{}) (tasks.Done, error) {
				if w == nil {
					<-gate
					return tasks.Done{}, nil
				}
				return w(ctx, r)
			}, func(b *bench, open func()) {
				id := b.submit().ID
				time.Sleep(24 * time.Hour)
				b.is(b.settled(id), tasks.StatusError, b.get(id).Attempt)
				if running := b.Stats().Lanes[0].Running; running != 0 {
					t.Errorf("%d slots are still taken", running)
				}
				open()
			})
		})
	}
}

func TestAnAbandonedRunnerHasNoEffectAndTheThirdStopsTheClaims(t *testing.T) {
	t.Parallel()
	var refused atomic.Int32
	runGated(t, func(ctx context.Context, r *tasks.Run, gate <-chan struct{}) (tasks.Done, error) {
		if r.Task().Name != "hang" {
			return tasks.Done{}, nil
		}
		<-gate
		r.Progress("too late", 1, 1)
		if errors.Is(r.Phase(context.Background(), "too late"), tasks.ErrLeaseLost) {
			refused.Add(1)
		}
		if _, err := r.CreateFile("late"); errors.Is(err, tasks.ErrLeaseLost) {
			refused.Add(1)
		}
		return tasks.Done{Message: "too late"}, nil
	}, func(b *bench, open func()) {
		for n := range 3 {
			hung := b.submit(func(s *tasks.Spec) { s.Name = "hang" })
			synctest.Wait()
			if _, err := b.Cancel(b.t.Context(), ada, hung.ID); err != nil {
				t.Fatal(err)
			}
			time.Sleep(11 * time.Second)
			b.is(b.settled(hung.ID), tasks.StatusCanceled, 1)
			if ills := b.Health(); (len(ills) > 0) != (n == 2) {
				t.Fatalf("after %d abandoned runners the engine says %q", n+1, ills)
			}
		}
		waiting := b.submit()
		time.Sleep(time.Minute)
		b.is(b.settled(waiting.ID), tasks.StatusQueued, 0)
		open()
		time.Sleep(time.Minute)
		b.is(b.settled(waiting.ID), tasks.StatusFinished, 1)
		if refused.Load() != 6 {
			t.Errorf("%d of 6 late writes were refused", refused.Load())
		}
	})
}

func TestACancelStopsARunningTaskWhateverItReturns(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"success": nil, "another error": errors.New("no")} {
		t.Run(name, func(t *testing.T) {
			run(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
				_, err := r.CreateFile("half.zip")
				r.Progress("Packing", 3, 7)
				<-ctx.Done()
				return tasks.Done{}, errors.Join(err, answer)
			}, func(b *bench) {
				id := b.submit().ID
				b.is(b.settled(id), tasks.StatusProcessing, 1)
				if _, err := b.Cancel(b.t.Context(), ada, id); err != nil {
					t.Fatal(err)
				}
				task := b.settled(id)
				b.is(task, tasks.StatusCanceled, 1)
				if task.File != nil {
					t.Error("a canceled task kept its file")
				}
				if task.Error != "Canceled at 3/7 Packing." {
					t.Errorf("it says %q, not how far it was", task.Error)
				}
			})
		})
	}
}

func TestOnlyTheOwnerAndAdministratorsCanTellThatATaskExists(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		ctx, id := b.t.Context(), b.submit().ID
		synctest.Wait()
		for name, call := range map[string]func(p tasks.Person) error{
			"get":      func(p tasks.Person) error { _, err := b.Get(ctx, p, id); return err },
			"cancel":   func(p tasks.Person) error { _, err := b.Cancel(ctx, p, id); return err },
			"retry":    func(p tasks.Person) error { _, err := b.Retry(ctx, p, id); return err },
			"dismiss":  func(p tasks.Person) error { _, err := b.Dismiss(ctx, p, id, true); return err },
			"download": func(p tasks.Person) error { _, _, err := b.OpenFile(ctx, p, id); return err },
			"log":      func(p tasks.Person) error { _, err := b.Log(ctx, p, id, 0, 1); return err },
			"list": func(p tasks.Person) error {
				_, err := b.List(ctx, p, tasks.Query{UserID: "ada", Limit: 1})
				return err
			},
		} {
			for _, stranger := range []tasks.Person{bob, {}} {
				if err := call(stranger); !errors.Is(err, tasks.ErrNotFound) {
					t.Errorf("%s by %q: error %v, want ErrNotFound", name, stranger.UserID, err)
				}
			}
		}
		admin := tasks.Person{UserID: "root", Admin: true}
		if _, err := b.Get(ctx, admin, id); err != nil {
			t.Errorf("an administrator cannot see the task: %v", err)
		}
		page, err := b.List(ctx, admin, tasks.Query{UserID: tasks.Everybody, Limit: 10})
		if err != nil || page.Total != 1 {
			t.Errorf("an administrator sees %d tasks, %v", page.Total, err)
		}
	})
}

func TestAShutdownHandsBackWhatRunsAndTheNextProcessGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var second atomic.Bool
		b := prepare(t, taskstest.NewMemory(), func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
			if second.Load() {
				return tasks.Done{Message: string(r.Checkpoint())}, nil
			}
			if err := r.SaveCheckpoint(ctx, []byte("half way")); err != nil {
				return tasks.Done{}, err
			}
			return blocks(ctx, r)
		})
		b.start()
		id := b.submit().ID
		b.is(b.settled(id), tasks.StatusProcessing, 1)
		sub := b.Subscribe(ada, tasks.Scope{})
		b.stop()
		select {
		case <-sub.Done():
		default:
			t.Error("streams were not told that the desk stops")
		}
		b.is(b.get(id), tasks.StatusQueued, 0)
		second.Store(true)
		b.reboot()
		b.start()
		task := b.settled(id)
		b.is(task, tasks.StatusFinished, 1)
		if task.Progress.Message != "half way" {
			t.Errorf("the next attempt got checkpoint %q", task.Progress.Message)
		}
		b.stop()
	})
}

func TestTheSameIdempotencyKeyIsTheSameTask(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		keyed := func(s *tasks.Spec) { s.IdempotencyKey = "k" }
		first := b.submit(keyed)
		again, err := b.Submit(b.t.Context(), ada, tasks.Spec{Kind: "test", IdempotencyKey: "k"})
		if !errors.Is(err, tasks.ErrDuplicate) || again.ID != first.ID {
			t.Errorf("task %s, error %v, want %s with ErrDuplicate", again.ID, err, first.ID)
		}
		if _, err := b.Submit(b.t.Context(), bob, tasks.Spec{Kind: "test", IdempotencyKey: "k"}); err != nil {
			t.Errorf("another person's task with the same key: %v", err)
		}
	})
}

func TestARegisteredTaskLivesInItsCaller(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		ctx := b.t.Context()
		h, err := b.Register(ctx, ada, tasks.Spec{Kind: "script", Name: "Nightly copy"})
		if err != nil {
			t.Fatal(err)
		}
		h.Progress("Copying", 1, 2)
		if live := b.InProgress(ada); len(live) != 1 || live[0].Progress.Value != 1 {
			t.Errorf("in progress: %+v", live)
		}
		time.Sleep(5 * time.Minute)
		if err := h.Finish(ctx, tasks.Done{Message: "Copied"}); err != nil {
			t.Fatal(err)
		}
		b.is(b.get(h.TaskID()), tasks.StatusFinished, 1)

		left, err := b.Register(ctx, ada, tasks.Spec{Kind: "script", Name: "Nightly copy"})
		if err != nil {
			t.Fatal(err)
		}
		b.stop()
		b.is(b.get(left.TaskID()), tasks.StatusInterrupted, 1)
		if _, err := b.Register(ctx, ada, tasks.Spec{Kind: "script"}); !errors.Is(err, tasks.ErrShutdown) {
			t.Errorf("a stopped engine registers: %v", err)
		}
	})
}

func TestAPersonsRetryRunsAFailedTaskAgain(t *testing.T) {
	t.Parallel()
	var fixed atomic.Bool
	run(t, func(context.Context, *tasks.Run) (tasks.Done, error) {
		if fixed.Load() {
			return tasks.Done{}, nil
		}
		return tasks.Done{}, tasks.Permanent(errors.New("no"))
	}, func(b *bench) {
		id := b.submit().ID
		b.is(b.settled(id), tasks.StatusError, 1)
		fixed.Store(true)
		if _, err := b.Retry(b.t.Context(), ada, id); err != nil {
			t.Fatal(err)
		}
		b.is(b.settled(id), tasks.StatusFinished, 2)
		if _, err := b.Retry(b.t.Context(), ada, id); !errors.Is(err, tasks.ErrConflict) {
			t.Errorf("retry of a finished task: %v, want ErrConflict", err)
		}
	})
}

func TestStopTwiceAndStopWithoutStartAreFine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, taskstest.NewMemory(), nothing)
		b.stop()
		b.stop()
	})
}

func TestManyTasksRunEachOnceWithinTheCapacity(t *testing.T) {
	t.Parallel()
	var at, most, ran atomic.Int32
	run(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		most.Store(max(most.Load(), at.Add(1)))
		defer at.Add(-1)
		time.Sleep(time.Second)
		ran.Add(1)
		return tasks.Done{}, nil
	}, func(b *bench) {
		for i := range 50 {
			b.submit(func(s *tasks.Spec) { s.Name = fmt.Sprint(i) })
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if ran.Load() != 50 || most.Load() != 2 {
			t.Errorf("%d of 50 ran, %d at most at once, want 2", ran.Load(), most.Load())
		}
	})
}
