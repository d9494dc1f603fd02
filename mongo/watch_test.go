package mongo

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// A process is one of several on a database.
type process struct {
	store *Tasks
	told  chan tasks.Task
	lanes chan struct{} // holds one
	leave func()
}

// join opens the database once more and watches it as a process.
func join(t *testing.T, name, owner string) process {
	t.Helper()
	p := process{store: open(t, name).Tasks(), told: make(chan tasks.Task, 1000), lanes: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	news := tasks.News{Task: func(t tasks.Task) { p.told <- t }, Lanes: p.hear}
	go func() { ended <- p.store.Watch(ctx, owner, news) }()
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

func (p process) hear() {
	select {
	case p.lanes <- struct{}{}:
	default:
	}
}

// hearsOfLanes waits until the process is told to look at a lane that fits.
func (p process) hearsOfLanes(t *testing.T, fits func(tasks.Lane) bool) {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		select {
		case <-p.lanes:
			lanes, err := p.store.Lanes(t.Context())
			did(t, err)
			if slices.ContainsFunc(lanes, fits) {
				return
			}
		case <-patience:
			t.Fatal("never told of the lane")
		}
	}
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
		news: tasks.News{
			Task:  func(tasks.Task) { t.Error("told of a change though nobody else is there") },
			Lanes: func() { t.Error("told of lanes though nobody else is there") },
		}}
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
		news: tasks.News{Task: func(t tasks.Task) { told = append(told, t.ID) }, Lanes: func() {}}}
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

func TestProcessesHearOfEachOthersLanes(t *testing.T) {
	t.Parallel()
	db := setup(t)
	one, two := join(t, db.name, "boot-1"), join(t, db.name, "boot-2")
	did(t, one.store.PutLane(t.Context(), tasks.Lane{Name: "import", Capacity: 1, Rev: 1}))
	two.hearsOfLanes(t, func(l tasks.Lane) bool { return l.Capacity == 1 })
	if n, err := one.store.Processes(t.Context()); err != nil || n != 2 {
		t.Errorf("%d processes, %v, want 2", n, err)
	}
	did(t, two.store.PutLane(t.Context(), tasks.Lane{Name: "import", Capacity: 9, Rev: 2}))
	one.hearsOfLanes(t, func(l tasks.Lane) bool { return l.Capacity == 9 })
}
