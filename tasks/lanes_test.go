package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

var root = tasks.Person{UserID: "root", Email: "root@example.org", Admin: true}

func (b *bench) setLane(c tasks.LaneChange) tasks.Lane {
	b.t.Helper()
	l, err := b.SetLane(b.t.Context(), root, "lane", c)
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

func (b *bench) running() int { return b.Stats().Lanes[0].Running }

func ptr[A any](a A) *A { return &a }

func TestALaneIsSteeredWhileItRuns(t *testing.T) {
	t.Parallel()
	run(t, blocks, func(b *bench) {
		for range 6 {
			b.submit()
		}
		steps := []struct {
			name   string
			change tasks.LaneChange
			want   int
		}{
			{"as configured", tasks.LaneChange{}, 2},
			{"raising starts waiting work at once", tasks.LaneChange{Capacity: ptr(4)}, 4},
			{"lowering stops nothing that runs", tasks.LaneChange{Capacity: ptr(1)}, 4},
			{"a paused lane starts nothing", tasks.LaneChange{Capacity: ptr(6), Paused: ptr(true)}, 4},
			{"resumed it goes on", tasks.LaneChange{Paused: ptr(false)}, 6},
		}
		for _, s := range steps {
			b.setLane(s.change)
			synctest.Wait()
			if got := b.running(); got != s.want {
				t.Errorf("%s: %d run, want %d", s.name, got, s.want)
			}
		}
	})
}

func TestALaneChangeSaysWhoAndWhyAndOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		b.setLane(tasks.LaneChange{Capacity: ptr(7), Reason: "the nightly import"})
		b.stop()
		b.reboot()
		b.start()
		lanes, err := b.Lanes(b.t.Context())
		if err != nil || len(lanes) != 1 {
			t.Fatalf("%d lanes, %v", len(lanes), err)
		}
		if l := lanes[0].Lane; l.Capacity != 7 || l.By != root.Email || l.Reason != "the nightly import" || l.ChangedAt.IsZero() {
			t.Errorf("the lane is %+v: stored settings win over the configuration", l)
		}
	})
}

func TestWrongLaneChangesAreRefused(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		for name, c := range map[string]tasks.LaneChange{"negative": {Capacity: ptr(-1)}, "huge": {Capacity: ptr(1 << 30)}, "negative rate": {Rate: ptr(-0.5)}} {
			if _, err := b.SetLane(b.t.Context(), root, "lane", c); !errors.Is(err, tasks.ErrLaneChange) {
				t.Errorf("%s: %v, want ErrLaneChange", name, err)
			}
		}
		if _, err := b.SetLane(b.t.Context(), ada, "lane", tasks.LaneChange{}); !errors.Is(err, tasks.ErrNotFound) {
			t.Errorf("by somebody who is no administrator: %v", err)
		}
		if _, err := b.SetLane(b.t.Context(), root, "nowhere", tasks.LaneChange{}); !errors.Is(err, tasks.ErrNotFound) {
			t.Errorf("an unknown lane: %v", err)
		}
	})
}

func TestARateSpacesStartsOut(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	run(t, func(context.Context, *tasks.Run) (tasks.Done, error) {
		ran.Add(1)
		return tasks.Done{}, nil
	}, func(b *bench) {
		b.setLane(tasks.LaneChange{Rate: ptr(2.0), Burst: ptr(3)})
		for range 20 {
			b.submit()
		}
		for _, want := range []int32{3, 5, 7, 9} {
			synctest.Wait()
			if got := ran.Load(); got != want {
				t.Fatalf("%d have started, want %d", got, want)
			}
			time.Sleep(time.Second + time.Millisecond)
		}
		b.setLane(tasks.LaneChange{Rate: ptr(0.0)})
		synctest.Wait()
		if got := ran.Load(); got != 20 {
			t.Errorf("%d have started without a rate, want all", got)
		}
	})
}

func TestALocksReleaseStartsTheNextAtOnce(t *testing.T) {
	t.Parallel()
	var at, most atomic.Int32
	run(t, func(context.Context, *tasks.Run) (tasks.Done, error) {
		most.Store(max(most.Load(), at.Add(1)))
		time.Sleep(time.Second)
		at.Add(-1)
		return tasks.Done{}, nil
	}, func(b *bench) {
		var last tasks.Task
		for range 3 {
			last = b.submit(func(s *tasks.Spec) { s.LockKey = "key" })
		}
		time.Sleep(3*time.Second + time.Millisecond)
		b.is(b.settled(last.ID), tasks.StatusFinished, 1)
		if most.Load() != 1 {
			t.Errorf("%d ran at once under one lock", most.Load())
		}
	})
}

func TestAWaitingTaskIsPausedResumedAndPrioritized(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		ctx := b.t.Context()
		b.setLane(tasks.LaneChange{Paused: ptr(true)})
		id := b.submit().ID
		if task, err := b.Pause(ctx, ada, id); err != nil || task.Status != tasks.StatusPaused {
			t.Fatalf("paused: %s, %v", task.Status, err)
		}
		b.setLane(tasks.LaneChange{Paused: ptr(false)})
		b.is(b.settled(id), tasks.StatusPaused, 0)
		if task, err := b.Prioritize(ctx, ada, id, 7); err != nil || task.Priority != 7 {
			t.Errorf("priority %d, %v", task.Priority, err)
		}
		if _, err := b.Resume(ctx, ada, id); err != nil {
			t.Fatal(err)
		}
		b.is(b.settled(id), tasks.StatusFinished, 1)
		if _, err := b.Pause(ctx, ada, id); !errors.Is(err, tasks.ErrConflict) {
			t.Errorf("pausing a finished task: %v", err)
		}
	})
}

func TestAnEqualTaskThatHasNotEndedIsReturnedInstead(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		b.setLane(tasks.LaneChange{Paused: ptr(true)})
		asks := func(args map[string]any) (tasks.Task, error) {
			return b.Submit(b.t.Context(), ada, tasks.Spec{Kind: "test", Args: args, Dedupe: true})
		}
		first, err := asks(map[string]any{"title": "x", "n": 1})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := asks(map[string]any{"n": 1, "title": " x ", "no": nil, "blank": ""}); !errors.Is(err, tasks.ErrDuplicate) || again.ID != first.ID {
			t.Errorf("an equal one: %s, %v", again.ID, err)
		}
		if other, err := asks(map[string]any{"title": "y", "n": 1}); err != nil || other.ID == first.ID {
			t.Errorf("another one: %s, %v", other.ID, err)
		}
		b.setLane(tasks.LaneChange{Paused: ptr(false)})
		b.is(b.settled(first.ID), tasks.StatusFinished, 1)
		if again, err := asks(map[string]any{"title": "x", "n": 1}); err != nil || again.ID == first.ID {
			t.Errorf("after its end: %s, %v", again.ID, err)
		}
	})
}

func TestCanonicalArguments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                                      `{}`,
		`null`:                                  `{}`,
		`{"b":1,"a":2}`:                         `{"a":2,"b":1}`,
		`{"a":" x ","b":"  ","c":null}`:         `{"a":"x"}`,
		`{"a":{"b":null},"c":[]}`:               `{}`,
		`{"a":[null,"",{"b":" "}," y "]}`:       `{"a":[null,"",{},"y"]}`,
		`{"n":1.50,"big":12345678901234567890}`: `{"big":12345678901234567890,"n":1.50}`,
	} {
		got, err := tasks.Canonical(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s becomes %s, %v, want %s", in, got, err, want)
		}
	}
}

func TestWhatATaskWaitsForIsExplained(t *testing.T) {
	t.Parallel()
	run(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		if strings.HasPrefix(r.Task().Name, "quick") {
			time.Sleep(10 * time.Second)
			return tasks.Done{}, nil
		}
		return blocks(ctx, r)
	}, func(b *bench) {
		ctx := b.t.Context()
		wait := func(id string) tasks.Wait {
			w, ok, err := b.Waiting(ctx, ada, b.settled(id))
			if err != nil || !ok {
				t.Fatalf("no explanation: %v, %v", ok, err)
			}
			return w
		}
		var quick tasks.Task
		for range 4 {
			quick = b.submit(func(s *tasks.Spec) { s.Name = "quick" })
			time.Sleep(11 * time.Second)
			quick = b.settled(quick.ID)
			b.is(quick, tasks.StatusFinished, 1)
		}
		holder := b.submit(func(s *tasks.Spec) { s.LockKey = "key" })
		locked := b.submit(func(s *tasks.Spec) { s.LockKey = "key" })
		if w := wait(locked.ID); w.For != tasks.WaitsForLock || w.Holder == nil || w.Holder.ID != holder.ID {
			t.Errorf("a locked task: %+v", w)
		}
		var all []tasks.Task
		for range 3 {
			time.Sleep(2 * time.Millisecond) // ids that are made in one millisecond are in no order across bubbles
			all = append(all, b.submit())
		}
		first, second := all[1], all[2]
		if w := wait(second.ID); !w.Start.IsZero() || !w.Earliest.IsZero() || !w.Latest.IsZero() {
			t.Errorf("after 4 of its kind a task is said to start at %s", w.Start)
		}
		fifth := taskstest.InStatus(tasks.StatusFinished, taskstest.In("another"))
		fifth.ID, fifth.Kind, fifth.StartedAt, fifth.EndedAt = taskstest.ID(), quick.Kind, quick.StartedAt, quick.EndedAt
		if _, err := b.store.Insert(ctx, fifth); err != nil {
			t.Fatal(err)
		}
		if w := wait(second.ID); w.For != tasks.WaitsForSlot || w.Ahead != 2 || time.Until(w.Start) != 15*time.Second {
			t.Errorf("waits for %s behind %d, starts in %s; want a slot, 2 and 15 s", w.For, w.Ahead, time.Until(w.Start))
		} else if time.Until(w.Earliest) != 10*time.Second || time.Until(w.Latest) != 20*time.Second {
			t.Errorf("it starts in %s to %s; want 10 to 20 s", time.Until(w.Earliest), time.Until(w.Latest))
		}
		if w := wait(first.ID); w.Ahead != 1 {
			t.Errorf("the first is behind %d", w.Ahead)
		}
		scheduled := b.submit(func(s *tasks.Spec) { s.AvailableAt = time.Now().Add(time.Hour) })
		if w := wait(scheduled.ID); w.For != tasks.WaitsForTime || !w.Until.Equal(scheduled.AvailableAt) {
			t.Errorf("a scheduled task: %+v", w)
		}
		b.setLane(tasks.LaneChange{Paused: ptr(true), Reason: "disk full"})
		if w := wait(first.ID); w.For != tasks.WaitsForLane || w.Lane.By != root.Email || w.Lane.Reason != "disk full" {
			t.Errorf("in a paused lane: %+v", w)
		}
		if _, ok, _ := b.Waiting(ctx, ada, b.get(quick.ID)); ok {
			t.Error("a task that has ended waits")
		}
	})
}

func TestAnExternalTaskIsReportedAndSilenceInterruptsIt(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		ctx := b.t.Context()
		start := func() tasks.Task {
			task, err := b.RegisterExternal(ctx, ada, tasks.Spec{Name: "Nightly copy"})
			if err != nil {
				t.Fatal(err)
			}
			return task
		}
		told, silent := start(), start()
		for i := range int64(5) {
			time.Sleep(50 * time.Second)
			if _, err := b.Report(ctx, ada, told.ID, tasks.Report{Progress: &tasks.Progress{Message: "Copying", Value: i, Max: 5}, Phase: "copying"}); err != nil {
				t.Fatalf("report %d: %v", i, err)
			}
		}
		b.is(b.get(silent.ID), tasks.StatusInterrupted, 1)
		if _, err := b.Report(ctx, ada, silent.ID, tasks.Report{}); !errors.Is(err, tasks.ErrConflict) {
			t.Errorf("a report after the interruption: %v", err)
		}
		if _, err := b.Report(ctx, bob, told.ID, tasks.Report{}); !errors.Is(err, tasks.ErrNotFound) {
			t.Errorf("a stranger's report: %v", err)
		}
		if err := b.ReportFile(ctx, ada, told.ID, "log.txt", "text/plain", strings.NewReader("copied")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.OpenFile(ctx, ada, told.ID); !errors.Is(err, tasks.ErrConflict) {
			t.Errorf("its file before the end: %v", err)
		}
		b.stop() // the program that reports does not care
		b.reboot()
		b.start()
		done, err := b.ReportFinish(ctx, ada, told.ID, tasks.Outcome{Progress: tasks.Progress{Message: "Copied"}, Result: json.RawMessage(`{"n":5}`)})
		if err != nil || done.Status != tasks.StatusFinished || done.Progress.Message != "Copied" {
			t.Fatalf("finish: %s %+v, %v", done.Status, done.Progress, err)
		}
		_, f, err := b.OpenFile(ctx, ada, told.ID)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	})
}

func TestFinalTasksArePrunedAfterTheirTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, taskstest.NewMemory(), func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
			if r.Task().Name == "fails" {
				return tasks.Done{}, tasks.Permanent(errors.New("no"))
			}
			return tasks.Done{}, nil
		})
		b.cfg.Retention = map[tasks.Status]time.Duration{tasks.StatusFinished: 48 * time.Hour, tasks.StatusError: -1}
		b.reboot()
		b.start()
		old, kept := b.submit(), b.submit(func(s *tasks.Spec) { s.Name = "fails" })
		time.Sleep(30 * time.Hour)
		young := b.submit()
		time.Sleep(20 * time.Hour)
		if _, err := b.Get(b.t.Context(), ada, old.ID); !errors.Is(err, tasks.ErrNotFound) {
			t.Errorf("a task past its time: %v", err)
		}
		b.is(b.get(young.ID), tasks.StatusFinished, 1)
		b.is(b.get(kept.ID), tasks.StatusError, 1)
		b.stop()
	})
}

func TestASuccessorIsSubmittedOnceAlsoAfterACrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		b := prepare(t, taskstest.NewMemory(), func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
			if r.Task().Name == "next" {
				ran.Add(1)
			}
			return tasks.Done{}, nil
		})
		b.cfg.Follow = func(_ context.Context, ending tasks.Task) *tasks.Successor {
			if ending.Name == "next" {
				return nil
			}
			return &tasks.Successor{ID: tasks.NewID(), Kind: "test", Name: "next", Args: json.RawMessage(`{}`)}
		}
		b.reboot()
		b.start()
		b.submit()
		synctest.Wait()
		if ran.Load() != 1 {
			t.Fatalf("the successor ran %d times", ran.Load())
		}
		b.stop()

		// A process that dies between the end and the successor leaves this:
		died := crash(b, func(t *tasks.Task) { t.Status, t.Lease, t.EndedAt = tasks.StatusFinished, nil, time.Now().UTC() },
			func(t *tasks.Task) {
				t.Next = &tasks.Successor{ID: tasks.NewID(), Kind: "test", Name: "next", Args: json.RawMessage(`{}`)}
			})
		b.reboot()
		b.start()
		synctest.Wait()
		b.stop()
		b.reboot()
		b.start()
		synctest.Wait()
		if ran.Load() != 2 || b.get(died.ID).Next != nil {
			t.Errorf("successors ran %d times in all, want 2", ran.Load())
		}
		b.stop()
	})
}
