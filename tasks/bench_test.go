package tasks_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ada = tasks.Person{UserID: "ada", Email: "ada@example.org"}
	bob = tasks.Person{UserID: "bob", Email: "bob@example.org"}
)

// A work is a runner under test.
type work = func(ctx context.Context, r *tasks.Run) (tasks.Done, error)

// A bench is an engine over a store in memory, on a bubble's clock.
type bench struct {
	*tasks.Manager
	t     *testing.T
	store *taskstest.Memory
	cfg   tasks.Config
}

// run plays a test inside a bubble, on an engine of two slots whose one kind does w.
func run(t *testing.T, w work, play func(b *bench)) {
	t.Helper()
	runGated(t, func(ctx context.Context, r *tasks.Run, _ <-chan struct{}) (tasks.Done, error) { return w(ctx, r) },
		func(b *bench, _ func()) { play(b) })
}

// runGated is run for a runner that waits at a gate, which play opens. Gates are made inside the bubble.
func runGated(t *testing.T, w func(ctx context.Context, r *tasks.Run, gate <-chan struct{}) (tasks.Done, error), play func(b *bench, open func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		b := prepare(t, taskstest.NewMemory(), func(ctx context.Context, r *tasks.Run) (tasks.Done, error) { return w(ctx, r, gate) })
		b.start()
		defer func() { b.stop() }() // of whatever process it is by then
		play(b, sync.OnceFunc(func() { close(gate) }))
	})
}

func prepare(t *testing.T, store *taskstest.Memory, w work) *bench {
	t.Helper()
	kind := tasks.Kind{Name: "test", Lane: "lane", Rerunnable: true, Downloadable: "text/plain", Timeout: time.Hour, Retry: tasks.Retry{MaxAttempts: 3}}
	kinds, err := tasks.NewKinds(tasks.Define(kind, func(ctx context.Context, _ map[string]any, r *tasks.Run) (tasks.Done, error) { return w(ctx, r) }))
	if err != nil {
		t.Fatal(err)
	}
	results, err := tasks.NewResultDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, store: store, cfg: tasks.Config{Store: store, Results: results, Kinds: kinds, Lanes: map[string]int{"lane": 2},
		SoleOwner: true, Logger: slog.New(slog.DiscardHandler)}}
	b.reboot()
	return b
}

// reboot makes a new process of the bench, over the same store and files.
func (b *bench) reboot() {
	b.t.Helper()
	m, err := tasks.NewManager(b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Manager = m
}

func (b *bench) start() {
	b.t.Helper()
	if err := b.Start(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) stop() {
	b.t.Helper()
	if err := b.Stop(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) submit(edits ...func(*tasks.Spec)) tasks.Task {
	b.t.Helper()
	spec := tasks.Spec{Kind: "test", Name: "Test, 1 file", Args: map[string]any{}}
	for _, e := range edits {
		e(&spec)
	}
	t, err := b.Submit(b.t.Context(), ada, spec)
	if err != nil {
		b.t.Fatal(err)
	}
	return t
}

// settled lets everything happen that needs no time to pass, and returns the task.
func (b *bench) settled(id string) tasks.Task {
	b.t.Helper()
	synctest.Wait()
	return b.get(id)
}

func (b *bench) get(id string) tasks.Task {
	b.t.Helper()
	t, err := b.Get(b.t.Context(), ada, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return t
}

func (b *bench) is(task tasks.Task, status tasks.Status, attempt int) {
	b.t.Helper()
	if task.Status != status || task.Attempt != attempt {
		b.t.Fatalf("the task is %s after attempt %d (%s), want %s after %d", task.Status, task.Attempt, task.Error, status, attempt)
	}
}

// blocks waits for its context, as a well-behaved long runner does.
func blocks(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
	r.Progress("Working", 12, 150)
	<-ctx.Done()
	return tasks.Done{}, context.Cause(ctx)
}

func nothing(context.Context, *tasks.Run) (tasks.Done, error) { return tasks.Done{}, nil }
