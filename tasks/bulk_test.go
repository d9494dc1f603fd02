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

// Threat: a process dies between an action and the note of it, and the next one counts what is done as what could not
// be, or does it twice.
func TestABulkActionThatWasKilledTellsTheSameStory(t *testing.T) {
	t.Parallel()
	const all = 250
	failed := []tasks.Status{tasks.StatusError}
	for name, c := range map[string]struct {
		submit func(b *bench, ids []string) (tasks.Task, error)
		event  tasks.Event
		want   string
	}{
		"retrying what matches": {func(b *bench, _ []string) (tasks.Task, error) {
			return b.SubmitBulk(b.t.Context(), ada, tasks.BulkArgs{Action: tasks.BulkRetry, Statuses: failed})
		}, tasks.EventRetried, "250 retried"},
		"dismissing what matches": {func(b *bench, _ []string) (tasks.Task, error) {
			return b.SubmitBulk(b.t.Context(), ada, tasks.BulkArgs{Action: tasks.BulkDismiss, Statuses: failed})
		}, tasks.EventDismissed, "250 dismissed"},
		"retrying what is named": {func(b *bench, ids []string) (tasks.Task, error) {
			return b.SubmitRetries(b.t.Context(), tasks.Person{UserID: "root", Admin: true}, ids)
		}, tasks.EventRetried, "250 retried"},
	} {
		for _, at := range []int{1, 100, 130, all} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := prepare(t, taskstest.NewMemory(), nothing)
					seen := b.failing(at)
					ids := make([]string, all)
					for i := range ids {
						ids[i] = b.submit().ID
					}
					time.Sleep(time.Second)
					made, err := c.submit(b, ids)
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(tasks.BulkGrace + time.Second)
					synctest.Wait()
					if len(seen) != at {
						t.Fatalf("killed after %d actions instead of %d", len(seen), at)
					}
					killed := b.Manager
					b.reboot()
					b.start()
					time.Sleep(time.Second)
					synctest.Wait()
					done, err := b.Get(t.Context(), tasks.Person{UserID: "root", Admin: true}, made.ID)
					if err != nil || done.Status != tasks.StatusFinished || done.Attempt != 2 || done.Progress.Message != c.want {
						t.Errorf("after attempt %d it is %s: %q, %v; want %q after 2", done.Attempt, done.Status, done.Progress.Message, err, c.want)
					}
					for _, id := range ids {
						b.happenedOnce(id, c.event, "by task "+made.ID)
						if !seen[id] {
							t.Errorf("nobody was told of %s", id)
						}
					}
					_ = killed.Stop(t.Context()) // it has lost its leases, and may say so
					b.stop()
				})
			})
		}
	}
}

// failing makes all that the bench runs fail, and bulk actions stand still right after so many moves, as a process does
// that is killed there; not so those of the next process. seen are the tasks that were told of.
func (b *bench) failing(at int) (seen map[string]bool) {
	b.t.Helper()
	seen = map[string]bool{}
	kinds, err := tasks.NewKinds(
		tasks.Define(tasks.Kind{Name: "test", Lane: "lane", Retry: tasks.Retry{MaxAttempts: 1}}, func(context.Context, map[string]any, *tasks.Run) (tasks.Done, error) {
			return tasks.Done{}, tasks.Permanent(errors.New("no"))
		}),
		tasks.DefineBulk("bulk", func() *tasks.Manager { return b.Manager }, func(ctx context.Context, acted, on tasks.Task, _ tasks.BulkAction) {
			seen[on.ID] = true
			if acted.Attempt == 1 && len(seen) == at {
				<-ctx.Done()
			}
		}))
	if err != nil {
		b.t.Fatal(err)
	}
	b.cfg.Kinds, b.cfg.Lanes = kinds, map[string]int{"lane": 4, "bulk": 1}
	b.reboot()
	b.start()
	return seen
}

func (b *bench) happenedOnce(id string, event tasks.Event, note string) {
	b.t.Helper()
	n := 0
	for _, e := range b.get(id).Journal {
		if e.Event == event && e.Note == note {
			n++
		}
	}
	if n != 1 {
		b.t.Errorf("%s was %s %d times", id, event, n)
	}
}

func TestAGroupOfFailuresIsRetriedWhoseverTheyAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mended atomic.Bool
		b := prepare(t, taskstest.NewMemory(), nothing)
		kinds, err := tasks.NewKinds(
			tasks.Define(tasks.Kind{Name: "test", Lane: "lane", Retry: tasks.Retry{MaxAttempts: 1}}, func(context.Context, map[string]any, *tasks.Run) (tasks.Done, error) {
				if mended.Load() {
					return tasks.Done{}, nil
				}
				return tasks.Done{}, tasks.Permanent(errors.New("no"))
			}),
			tasks.DefineBulk("bulk", func() *tasks.Manager { return b.Manager }, nil))
		if err != nil {
			t.Fatal(err)
		}
		b.cfg.Kinds, b.cfg.Lanes = kinds, map[string]int{"lane": 4, "bulk": 1}
		b.reboot()
		b.start()
		defer b.stop()
		root := tasks.Person{UserID: "root", Admin: true}
		var group []string
		for i := range 120 { // more than one page of a bulk action
			task, err := b.Submit(b.t.Context(), []tasks.Person{ada, bob}[i%2], tasks.Spec{Kind: "test", Args: map[string]any{}})
			if err != nil {
				t.Fatal(err)
			}
			group = append(group, task.ID)
		}
		other := b.submit().ID
		time.Sleep(time.Second)
		synctest.Wait()
		mended.Store(true)
		if _, err := b.Retry(b.t.Context(), ada, group[0]); err != nil { // somebody was quicker with one
			t.Fatal(err)
		}
		retry, err := b.SubmitRetries(b.t.Context(), root, group)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(tasks.BulkGrace + time.Second)
		synctest.Wait()
		if done, err := b.Get(b.t.Context(), root, retry.ID); err != nil || done.Status != tasks.StatusFinished || done.Progress.Message != "119 retried, 1 could not be" {
			t.Errorf("the retry is %s with %q, %v", done.Status, done.Progress.Message, err)
		}
		for _, id := range group {
			if task, err := b.Get(b.t.Context(), root, id); err != nil || task.Status != tasks.StatusFinished {
				t.Fatalf("a task of the group is %s, %v", task.Status, err)
			}
		}
		b.is(b.get(other), tasks.StatusError, 1)
	})
}

func TestABulkActionTakesAllThatMatchAndCanBeUndone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, taskstest.NewMemory(), nothing)
		kinds, err := tasks.NewKinds(
			tasks.Define(tasks.Kind{Name: "test", Lane: "lane", Retry: tasks.Retry{MaxAttempts: 1}}, func(ctx context.Context, _ map[string]any, r *tasks.Run) (tasks.Done, error) {
				return tasks.Done{}, tasks.Permanent(errors.New("no"))
			}),
			tasks.DefineBulk("bulk", func() *tasks.Manager { return b.Manager }, nil))
		if err != nil {
			t.Fatal(err)
		}
		b.cfg.Kinds, b.cfg.Lanes = kinds, map[string]int{"lane": 4, "bulk": 1}
		b.reboot()
		b.start()
		for range 250 {
			b.submit()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		dismiss := tasks.BulkArgs{Action: tasks.BulkDismiss, Statuses: []tasks.Status{tasks.StatusError}}
		undone, err := b.SubmitBulk(b.t.Context(), ada, dismiss)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Cancel(b.t.Context(), ada, undone.ID); err != nil {
			t.Fatal(err)
		}
		taken, err := b.SubmitBulk(b.t.Context(), ada, dismiss)
		if err != nil {
			t.Fatal(err)
		}
		b.submit() // came later: left alone
		time.Sleep(tasks.BulkGrace + time.Second)
		done := b.settled(taken.ID)
		b.is(done, tasks.StatusFinished, 1)
		if done.Name != "Dismiss 250 tasks" || done.Progress.Message != "250 dismissed" {
			t.Errorf("%q ended with %q", done.Name, done.Progress.Message)
		}
		page, err := b.List(b.t.Context(), ada, tasks.Query{Dismissed: ptr(false), Statuses: []tasks.Status{tasks.StatusError}, Limit: 5})
		if err != nil || page.Total != 1 {
			t.Errorf("%d are left, %v, want the one that came later", page.Total, err)
		}
		b.stop()
	})
}
