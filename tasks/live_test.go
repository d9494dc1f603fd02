package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"filmroom/tasks"
)

// heard collects what a subscription has to tell now.
func heard(s *tasks.Subscription) []*tasks.Update {
	synctest.Wait()
	updates, _ := s.Take()
	return updates
}

func TestAViewerSeesTheBarAdvanceAndTheEndLast(t *testing.T) {
	t.Parallel()
	run(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		for i := range int64(50) {
			r.Progress("Importing", i+1, 50)
			time.Sleep(20 * time.Millisecond)
		}
		return tasks.Done{Message: "50 imported"}, nil
	}, func(b *bench) {
		sub := b.Subscribe(ada, tasks.Scope{})
		defer sub.Close()
		b.submit()
		var values []int64
		var kinds []tasks.UpdateKind
		for range 40 {
			time.Sleep(50 * time.Millisecond)
			for _, u := range heard(sub) {
				values, kinds = append(values, u.Task.Progress.Value), append(kinds, u.Kind)
			}
		}
		for i := 1; i < len(values); i++ {
			if values[i] < values[i-1] {
				t.Errorf("the bar went back: %v", values)
			}
		}
		if n := len(kinds); n < 4 || n > 8 || kinds[n-1] != tasks.UpdateFinish {
			t.Errorf("told %v over one second, want about one each 300 ms and the finish last", kinds)
		}
	})
}

func TestAViewerHearsOnlyOfItsOwnPersonsTasks(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		task := b.submit()
		synctest.Wait()
		strangers := []*tasks.Subscription{b.Subscribe(bob, tasks.Scope{}), b.Subscribe(bob, tasks.Scope{TaskID: task.ID}),
			b.Subscribe(bob, tasks.Scope{Everybody: true}), b.Subscribe(tasks.Person{}, tasks.Scope{})}
		admin := b.Subscribe(tasks.Person{UserID: "root", Admin: true}, tasks.Scope{Everybody: true})
		defer admin.Close()
		if _, err := b.Dismiss(b.t.Context(), ada, task.ID, true); err != nil {
			t.Fatal(err)
		}
		for i, s := range strangers {
			if got := heard(s); len(got) != 0 {
				t.Errorf("stranger %d heard of somebody else's task", i)
			}
			s.Close()
		}
		if got := heard(admin); len(got) != 1 {
			t.Errorf("an administrator heard %d updates, want 1", len(got))
		}
	})
}

func TestASnapshotJoinsTheNewsWithoutASeam(t *testing.T) {
	t.Parallel()
	var stage atomic.Int64
	run(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		for ctx.Err() == nil {
			r.Progress("Importing", stage.Load(), 100)
			time.Sleep(10 * time.Millisecond)
		}
		return tasks.Done{}, ctx.Err()
	}, func(b *bench) {
		stage.Store(1)
		id := b.submit().ID
		synctest.Wait()
		sub := b.Subscribe(ada, tasks.Scope{})
		defer sub.Close()
		page, err := b.List(b.t.Context(), ada, tasks.Query{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		stage.Store(2) // news between the reading of the snapshot and the join
		time.Sleep(time.Second)
		other := b.submit()
		synctest.Wait()
		items := sub.Join(page.Items)
		if items[0].ID != id || items[0].Progress.Value != 2 {
			t.Errorf("the joined snapshot shows %d, want the newest, 2", items[0].Progress.Value)
		}
		for _, u := range heard(sub) {
			if u.Task.ID != other.ID {
				t.Errorf("what the snapshot shows was told again: %s at %d", u.Task.ID, u.Task.Progress.Value)
			}
		}
		for _, task := range []string{id, other.ID} {
			if _, err := b.Cancel(b.t.Context(), ada, task); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A viewer that never reads must cost neither memory without bound nor the others their news.
func TestAViewerThatFallsBehindIsToldToBeginAgain(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		stuck, quick := b.Subscribe(ada, tasks.Scope{}), b.Subscribe(ada, tasks.Scope{})
		defer stuck.Close()
		defer quick.Close()
		seen := map[string]bool{}
		for i := range 300 {
			b.submit(func(s *tasks.Spec) { s.Name = fmt.Sprint(i) })
			for _, u := range heard(quick) {
				seen[u.Task.ID] = u.Kind == tasks.UpdateFinish
			}
		}
		if len(seen) != 300 {
			t.Errorf("the other viewer heard of %d of 300 tasks", len(seen))
		}
		if updates, lagged := stuck.Take(); !lagged || len(updates) != 0 {
			t.Errorf("lagged %v with %d updates, want to begin again", lagged, len(updates))
		}
	})
}

func TestAnUpdateIsEncodedOnceForAllViewers(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		var subs []*tasks.Subscription
		for range 10 {
			s := b.Subscribe(ada, tasks.Scope{})
			defer s.Close()
			subs = append(subs, s)
		}
		b.submit()
		rendered := 0
		for _, s := range subs {
			for _, u := range heard(s) {
				u.Encoded(tasks.EncodingJSON, func(u *tasks.Update) []byte {
					rendered++
					return []byte(u.ID)
				})
			}
		}
		if rendered != 1 {
			t.Errorf("rendered %d times for ten viewers of one coalesced update", rendered)
		}
	})
}

func TestAnEventIDTellsItsMomentAlsoToALaterProcess(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		time.Sleep(42 * time.Minute)
		id := b.Subscribe(ada, tasks.Scope{}).LastID()
		b.stop()
		b.reboot()
		at, ok := b.Since(id)
		if off := time.Since(at); !ok || off < 0 || off > time.Millisecond {
			t.Errorf("the id stands for %v ago, %v", off, ok)
		}
		for _, bad := range []string{"", "x", "x-1", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAV--1", "01ARZ3NDEKTSV4RRFFQ69G5FAV-9999999999999999999"} {
			if _, ok := b.Since(bad); ok {
				t.Errorf("%q passes for an event id", bad)
			}
		}
	})
}

// Live progress comes again and again under one revision: what refuses late news of an end must let it through.
func TestABarMovesInTheAttemptThatAPersonsRetryBringsAbout(t *testing.T) {
	t.Parallel()
	run(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		if r.Attempt() == 1 {
			return tasks.Done{}, tasks.Permanent(errors.New("no"))
		}
		for i := range int64(20) {
			time.Sleep(time.Second)
			r.Progress("Importing", i+1, 20)
		}
		return tasks.Done{}, nil
	}, func(b *bench) {
		sub := b.Subscribe(ada, tasks.Scope{})
		defer sub.Close()
		failed := b.settled(b.submit().ID)
		late := heard(sub)
		if _, err := b.Retry(b.t.Context(), ada, failed.ID); err != nil {
			t.Fatal(err)
		}
		told := len(heard(sub))
		for range 25 {
			time.Sleep(time.Second)
			told += len(heard(sub))
		}
		b.is(b.settled(failed.ID), tasks.StatusFinished, 2)
		if len(late) == 0 || told < 20 {
			t.Errorf("%d updates of a retried attempt with 20 steps of progress", told)
		}
	})
}
