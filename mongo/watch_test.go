package mongo

import (
	"context"
	"errors"
	"testing"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// A process is one of several on a database.
type process struct {
	store *Tasks
	told  chan tasks.Task
	leave func()
}

// join opens the database once more and watches it as a process.
func join(t *testing.T, name, owner string) process {
	t.Helper()
	p := process{store: open(t, name).Tasks(), told: make(chan tasks.Task, 1000)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.store.Watch(ctx, owner, func(t tasks.Task) { p.told <- t }) }()
	p.leave = func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: watching ended with %v, want the context's error", owner, err)
		}
		ended <- context.Canceled // leaving twice is fine
	}
	t.Cleanup(p.leave)
	return p
}

// hears waits until the process is told of a task's revision.
func (p process) hears(t *testing.T, want tasks.Task) {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		select {
		case got := <-p.told:
			if got.ID == want.ID && got.Rev == want.Rev {
				if got.Status != want.Status {
					t.Errorf("told that the task is %s, it is %s", got.Status, want.Status)
				}
				return
			}
		case <-patience:
			t.Fatalf("never told of revision %d of the task", want.Rev)
		}
	}
}

func TestProcessesHearOfEachOthersChanges(t *testing.T) {
	t.Parallel()
	db := setup(t)
	one, two := join(t, db.name, "boot-1"), join(t, db.name, "boot-2")
	clock := must2(db.Clock(t.Context()))

	task, err := one.store.Insert(t.Context(), tasks.Submitted(taskstest.Task(), clock.Now()))
	did(t, err)
	two.hears(t, task)
	now := clock.Now()
	task, err = two.store.Update(t.Context(), task, tasks.Claimed(taskstest.Lease(taskstest.Token, now), now))
	did(t, err)
	one.hears(t, task)
	_, err = two.store.Renew(t.Context(), []tasks.Beat{{TaskID: task.ID, Token: taskstest.Token}}, now.Add(time.Minute), clock.Now())
	did(t, err)
	task, err = one.store.Get(t.Context(), task.ID)
	did(t, err)
	one.hears(t, task)
}

func TestTheLastChangesOfAProcessThatLeavesAreHeard(t *testing.T) {
	t.Parallel()
	db := setup(t)
	one, two := join(t, db.name, "boot-1"), join(t, db.name, "boot-2")
	task, err := two.store.Insert(t.Context(), taskstest.Queued())
	did(t, err)
	one.hears(t, task) // so both know of each other
	task, err = two.store.Update(t.Context(), task, tasks.PausedBy("", taskstest.Epoch))
	did(t, err)
	two.leave()
	one.hears(t, task)
}

func TestAProcessAloneReadsNothingButTheRegister(t *testing.T) {
	t.Parallel()
	db := setup(t)
	s := db.Tasks()
	f := follower{store: s, owner: "boot-1", clock: must2(db.Clock(t.Context())), seen: map[string]sighting{},
		changed: func(tasks.Task) { t.Error("told of a change though nobody else is there") }}
	for range 3 {
		did(t, f.look(t.Context()))
		_, err := s.Insert(t.Context(), taskstest.Queued())
		did(t, err)
	}
	did(t, f.look(t.Context()))
}

func TestWhatAProcessDidAloneIsNotToldOfLater(t *testing.T) {
	t.Parallel()
	db := setup(t)
	s, told := db.Tasks(), []string{}
	f := follower{store: s, owner: "boot-1", clock: must2(db.Clock(t.Context())), seen: map[string]sighting{},
		changed: func(t tasks.Task) { told = append(told, t.ID) }}
	did(t, f.look(t.Context()))
	var last tasks.Task
	for i := range 3 {
		var err error
		last, err = s.Insert(t.Context(), tasks.Submitted(taskstest.Task(), taskstest.After(time.Duration(i)*time.Hour)))
		did(t, err)
		did(t, f.look(t.Context()))
	}
	did(t, s.enter(t.Context(), "boot-2", f.clock.Now()))
	did(t, f.look(t.Context()))
	if len(told) > 1 || len(told) == 1 && told[0] != last.ID {
		t.Errorf("told of %v, want no more than the very last, %s", told, last.ID)
	}
}

func TestAProcessWhoseLeaseRanOutIsGone(t *testing.T) {
	t.Parallel()
	db := setup(t)
	s, now := db.Tasks(), taskstest.Epoch
	did(t, s.enter(t.Context(), "boot-1", now))
	for _, c := range []struct {
		owner string
		at    time.Time
		want  bool
	}{
		{"boot-2", now, true}, {"boot-1", now, false}, {"boot-2", now.Add(processLease), false},
	} {
		others, err := s.others(t.Context(), c.owner, c.at)
		did(t, err)
		if others != c.want {
			t.Errorf("for %s after %v: others %v, want %v", c.owner, c.at.Sub(now), others, c.want)
		}
	}
}
