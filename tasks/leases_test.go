package tasks_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// crash leaves a task in the store as a killed process does: processing, under a lease of its own.
func crash(b *bench, edits ...func(*tasks.Task)) tasks.Task {
	b.t.Helper()
	now := time.Now()
	lease := tasks.Lease{Owner: "the dead", Token: "dead", ExpiresAt: now.Add(time.Minute)}
	task := tasks.Submitted(tasks.Task{ID: tasks.NewID(), UserID: "ada", Kind: "test", Lane: "lane", MaxAttempts: 3}, now)
	task = taskstest.Moved(task, tasks.Claimed(lease, now), tasks.Renewed("dead", tasks.Progress{Message: "Importing", Value: 12, Max: 150}, lease.ExpiresAt, now))
	for _, e := range edits {
		e(&task)
	}
	if _, err := b.store.Insert(b.t.Context(), task); err != nil {
		b.t.Fatal(err)
	}
	return task
}

func TestASoleOwnerRescuesEverythingBeforeItServes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, taskstest.NewMemory(), nothing)
		again := crash(b)
		asked := crash(b, func(t *tasks.Task) { t.CancelRequestedAt = time.Now().UTC() })
		unknown := crash(b, func(t *tasks.Task) { t.Kind = "gone" })
		b.start()
		b.is(b.get(asked.ID), tasks.StatusCanceled, 1)
		b.is(b.get(unknown.ID), tasks.StatusInterrupted, 1)
		b.is(b.settled(again.ID), tasks.StatusFinished, 2)
		if got := b.get(unknown.ID).Error; !strings.Contains(got, "12/150 Importing") {
			t.Errorf("an interrupted task says %q, not how far it was", got)
		}
		b.stop()
	})
}

func TestAStaleTaskIsNeverShownAsRunning(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(b *bench, id string) tasks.Status{
		"get": func(b *bench, id string) tasks.Status { return b.get(id).Status },
		"list": func(b *bench, id string) tasks.Status {
			page, err := b.List(b.t.Context(), ada, tasks.Query{Statuses: []tasks.Status{tasks.StatusInterrupted}, Limit: 1})
			if err != nil || len(page.Items) != 1 {
				return ""
			}
			return page.Items[0].Status
		},
		"download": func(b *bench, id string) tasks.Status {
			task, _, _ := b.OpenFile(b.t.Context(), ada, id)
			return task.Status
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := prepare(t, taskstest.NewMemory(), nothing)
				b.cfg.SoleOwner, b.cfg.RescueInterval = false, time.Hour
				b.reboot()
				b.start()
				task := crash(b, func(t *tasks.Task) { t.Kind, t.Downloadable = "gone", "text/plain" })
				time.Sleep(61 * time.Second)
				if got := look(b, task.ID); got != tasks.StatusInterrupted {
					t.Errorf("shown as %q, want interrupted", got)
				}
				b.stop()
			})
		})
	}
}

func TestHeartbeatsKeepALongTaskAliveAndStoreItsProgress(t *testing.T) {
	t.Parallel()
	run(t, blocks, func(b *bench) {
		id := b.submit().ID
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		stored, err := b.store.Get(b.t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		b.is(stored, tasks.StatusProcessing, 1)
		if !stored.Leased(time.Now()) || stored.Progress.Value != 12 {
			t.Errorf("lease until %v, stored progress %+v", stored.Lease.ExpiresAt, stored.Progress)
		}
	})
}

// Two processes must never both believe that they hold a task: the first has to stop by itself while
// the store cannot be reached, before the second may take over.
func TestAnAttemptThatCannotRenewStopsBeforeItsLeaseRunsOut(t *testing.T) {
	t.Parallel()
	var stopped atomic.Pointer[time.Time]
	run(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		<-ctx.Done()
		if errors.Is(context.Cause(ctx), tasks.ErrLeaseLost) {
			at := time.Now()
			stopped.CompareAndSwap(nil, &at)
		}
		return tasks.Done{}, ctx.Err()
	}, func(b *bench) {
		start := time.Now()
		b.submit()
		synctest.Wait()
		b.store.Fail(func(method string) error {
			if method == "Renew" {
				return errors.New("no answer")
			}
			return nil
		})
		time.Sleep(2 * time.Minute)
		if after := stopped.Load().Sub(start); after >= time.Minute || after < 50*time.Second {
			t.Errorf("stopped after %s, want within the lease's minute, less a heartbeat", after)
		}
		if len(b.Health()) == 0 {
			t.Error("the engine says it is well while it cannot renew")
		}
		b.store.Fail(nil)
	})
}

func TestALongAttemptKeepsItsLeaseAndItsProgressIsStored(t *testing.T) {
	t.Parallel()
	runGated(t, func(ctx context.Context, r *tasks.Run, gate <-chan struct{}) (tasks.Done, error) {
		for i := int64(1); ; i++ {
			r.Progress("Working", i, 0)
			select {
			case <-gate:
				return tasks.Done{}, nil
			case <-ctx.Done():
				return tasks.Done{}, context.Cause(ctx)
			case <-time.After(time.Second):
			}
		}
	}, func(b *bench, open func()) {
		id := b.submit().ID
		token, reached := "", int64(0)
		for range 40 { // minutes, under a lease of one
			time.Sleep(time.Minute)
			synctest.Wait()
			stored, err := b.store.Get(b.t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			b.is(stored, tasks.StatusProcessing, 1)
			if left := time.Until(stored.Lease.ExpiresAt); left < 40*time.Second {
				t.Fatalf("the lease has %s left", left)
			}
			if token == "" {
				token = stored.Lease.Token
			}
			if stored.Lease.Token != token || stored.Progress.Value < reached+40 {
				t.Fatalf("token %s at %d, want %s and further than %d", stored.Lease.Token, stored.Progress.Value, token, reached)
			}
			reached = stored.Progress.Value
		}
		open()
		b.is(b.settled(id), tasks.StatusFinished, 1)
	})
}

func TestACancelThatAnotherProcessTookArrivesWithTheHeartbeat(t *testing.T) {
	t.Parallel()
	run(t, blocks, func(b *bench) {
		task := b.settled(b.submit().ID)
		stored, err := b.store.Get(b.t.Context(), task.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.store.Update(b.t.Context(), stored, tasks.CancelRequested("ada", time.Now())); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		b.is(b.settled(task.ID), tasks.StatusCanceled, 1)
	})
}

func TestAnEndIsStoredEvenWhenTheStoreFailsForAWhile(t *testing.T) {
	t.Parallel()
	runGated(t, func(ctx context.Context, r *tasks.Run, gate <-chan struct{}) (tasks.Done, error) {
		<-gate
		return tasks.Done{}, nil
	}, func(b *bench, open func()) {
		id := b.submit().ID
		synctest.Wait()
		left := 4
		b.store.Fail(func(method string) error {
			if method == "Update" && left > 0 {
				left--
				return errors.New("no answer")
			}
			return nil
		})
		open()
		time.Sleep(5 * time.Second)
		b.is(b.settled(id), tasks.StatusFinished, 1)
	})
}

// An attempt gives its slot back before its end is stored. The store then knows of no free slot yet.
func TestASlotWhoseEndIsStoredLateIsTakenWithTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var started []time.Time
		b := prepare(t, taskstest.NewMemory(), func(context.Context, *tasks.Run) (tasks.Done, error) {
			started = append(started, time.Now())
			return tasks.Done{}, nil
		})
		b.cfg.Lanes = map[string]int{"lane": 1}
		b.reboot()
		b.submit()
		last := b.submit().ID
		b.start()
		defer b.stop()
		left := 2
		b.store.Fail(func(method string) error {
			if method == "Update" && left > 0 {
				left--
				return errors.New("no answer")
			}
			return nil
		})
		time.Sleep(time.Second)
		b.is(b.settled(last), tasks.StatusFinished, 1)
		if len(started) != 2 || started[1].Sub(started[0]) > 200*time.Millisecond {
			t.Errorf("started at %v, want the second with the stored end of the first", started)
		}
	})
}
