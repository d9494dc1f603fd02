package tasks_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// endedWith leaves finished tasks whose successor is still to be submitted, of a kind.
func endedWith(b *bench, kind string, n int) (last tasks.Task) {
	for range n {
		last = crash(b, func(t *tasks.Task) {
			t.Status, t.Lease, t.EndedAt = tasks.StatusFinished, nil, tasks.Millis(time.Now())
			t.Next = &tasks.Successor{ID: tasks.NewID(), Kind: kind, Args: json.RawMessage(`{}`)}
		})
	}
	return last
}

// An upgrade may drop a kind while tasks still name it.
func TestSuccessorsOfAKindThatIsGoneStopNeitherTheStartNorTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, taskstest.NewMemory(), nothing)
		endedWith(b, "gone", 150) // more than are looked for at once
		good := endedWith(b, "test", 1)
		b.start()
		defer b.stop()
		b.is(b.settled(good.Next.ID), tasks.StatusFinished, 1)
		if left, err := b.store.Unfollowed(b.t.Context(), "", 10); len(left) != 0 || err != nil {
			t.Errorf("%d successors are still waited for, %v", len(left), err)
		}
	})
}

func TestATaskWhoseSuccessorWaitsDoesNotKeepOthersFromBeingPruned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, taskstest.NewMemory(), nothing)
		b.cfg.Retention = map[tasks.Status]time.Duration{tasks.StatusFinished: 48 * time.Hour}
		b.reboot()
		b.store.Fail(func(method string) error {
			if method == "Unfollowed" {
				return errors.New("no answer")
			}
			return nil
		})
		waits := endedWith(b, "test", 150)
		time.Sleep(time.Second)
		b.start()
		defer b.stop()
		old := b.settled(b.submit().ID)
		time.Sleep(60 * time.Hour)
		if _, err := b.Get(b.t.Context(), ada, old.ID); !errors.Is(err, tasks.ErrNotFound) {
			t.Errorf("a task past its time: %v", err)
		}
		b.is(b.get(waits.ID), tasks.StatusFinished, 1)
	})
}

func TestSuccessorsThatCannotBeStoredAreInNobodysWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, taskstest.NewMemory(), nothing)
		refuses, stored := map[string]bool{}, 0
		for i := range 130 { // more than are looked for at once
			ended := taskstest.InStatus(tasks.StatusFinished)
			ended.Next = &tasks.Successor{ID: taskstest.ID(), Kind: "test"}
			if _, err := b.store.Insert(t.Context(), ended); err != nil {
				t.Fatal(err)
			}
			refuses[ended.Next.ID] = i < 120
		}
		b.store.Fail(func(method string) error {
			if method != "Insert" {
				return nil
			}
			if stored++; stored <= 120 {
				return errors.New("no")
			}
			return nil
		})
		b.start()
		defer b.stop()
		for id, refused := range refuses {
			if _, err := b.store.Get(t.Context(), id); errors.Is(err, tasks.ErrNotFound) != refused {
				t.Errorf("the successor %s, which the store refuses: %t; it is there: %t", id, refused, err == nil)
			}
		}
	})
}
