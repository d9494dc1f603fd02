package tasks_test

import (
	"context"
	"errors"
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
