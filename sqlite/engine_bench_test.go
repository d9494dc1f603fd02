package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

var worker = tasks.Person{UserID: "bench", Email: "bench@example.org"}

// A bench is a database file under the whole engine.
type bench struct{ path string }

func fresh(b *testing.B) bench { return bench{filepath.Join(b.TempDir(), "bench.db")} }

// laneOf is a lane of its own for each capacity, so that what one benchmark leaves waiting is not run by another.
func laneOf(capacity int) string { return fmt.Sprintf("noop-%d", capacity) }

// engine starts the engine with one kind that does nothing but what ran does.
func (s bench) engine(b *testing.B, capacity int, o tasks.Observer, ran func(r *tasks.Run)) *tasks.Manager {
	b.Helper()
	db, err := Open(b.Context(), s.path, Options{})
	if err != nil {
		b.Fatal(err)
	}
	kinds, err := tasks.NewKinds(tasks.Define(tasks.Kind{Name: "noop", Lane: laneOf(capacity), Rerunnable: true, Retry: tasks.Retry{MaxAttempts: 3}},
		func(_ context.Context, _ struct{}, r *tasks.Run) (tasks.Done, error) {
			ran(r)
			return tasks.Done{}, nil
		}))
	if err != nil {
		b.Fatal(err)
	}
	results, err := tasks.NewResultDir(filepath.Join(b.TempDir(), "results"))
	if err != nil {
		b.Fatal(err)
	}
	m, err := tasks.NewManager(tasks.Config{Store: db.Tasks(), Results: results, Kinds: kinds, Lanes: map[string]int{laneOf(capacity): capacity},
		SoleOwner: true, Observer: o, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = m.Stop(context.Background())
		_ = db.Close()
	})
	return m
}

func submit(b *testing.B, m *tasks.Manager) {
	if _, err := m.Submit(b.Context(), worker, tasks.Spec{Kind: "noop", Name: "Nothing", Args: struct{}{}}); err != nil {
		b.Error(err)
	}
}

// each calls do n times from so many callers, each one after the other.
func each(callers, n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				do(int(i))
			}
		})
	}
	all.Wait()
}

func BenchmarkEngineSubmit8Callers(b *testing.B) { fresh(b).submit(b, 8) }

func BenchmarkEngineSubmit256Callers(b *testing.B) { fresh(b).submit(b, 256) }

func BenchmarkEngineDrain(b *testing.B) { fresh(b).drain(b) }

func BenchmarkEnginePickup(b *testing.B) { fresh(b).pickup(b) }

// BenchmarkEngineBesideAMillion is the same in a file that holds a million finished tasks of the same person.
func BenchmarkEngineBesideAMillion(b *testing.B) {
	s := fresh(b)
	s.finished(b, 1_000_000)
	b.Run("submit 8 callers", func(b *testing.B) { s.submit(b, 8) })
	b.Run("submit 256 callers", func(b *testing.B) { s.submit(b, 256) })
	b.Run("drain", s.drain)
	b.Run("pickup", s.pickup)
}

// finished stores tasks as they are at their end.
func (s bench) finished(b *testing.B, n int) {
	db, err := Open(b.Context(), s.path, Options{})
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now().Add(-time.Duration(n) * time.Second).Truncate(time.Second)
	each(256, n, func(i int) {
		at := began.Add(time.Duration(i) * time.Second)
		t := tasks.Submitted(tasks.Task{ID: tasks.NewID(), UserID: worker.UserID, UserEmail: worker.Email, Kind: "noop", Name: "Nothing",
			Lane: laneOf(64), Args: []byte("{}"), MaxAttempts: 3}, at)
		t = taskstest.Moved(t, tasks.Claimed(taskstest.Lease("token", at), at), tasks.Finished("token", tasks.Outcome{}, at))
		if _, err := db.Tasks().Insert(b.Context(), t); err != nil {
			b.Error(err)
		}
	})
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}

func (s bench) submit(b *testing.B, callers int) {
	m := s.engine(b, 0, nil, func(*tasks.Run) {})
	began := cpu()
	b.ResetTimer()
	each(callers, b.N, func(int) { submit(b, m) })
	b.StopTimer()
	reportTasks(b, began)
}

// drain runs tasks that wait already, claim to stored end.
func (s bench) drain(b *testing.B) {
	ends := make(chan tasks.Event, b.N)
	m := s.engine(b, 64, endings(ends), func(*tasks.Run) {})
	each(256, b.N, func(int) { submit(b, m) })
	began := cpu()
	b.ResetTimer()
	if err := m.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	for range b.N {
		if how := <-ends; how != tasks.EventFinished {
			b.Errorf("a task ended as %s", how)
		}
	}
	b.StopTimer()
	reportTasks(b, began)
}

// endings hears of each end that was stored.
type endings chan<- tasks.Event

func (endings) AttemptStarted(string, string, time.Duration) {}

func (e endings) AttemptEnded(_, _ string, how tasks.Event, _ time.Duration) { e <- how }

// reportTasks adds tasks a second and processor time a task.
func reportTasks(b *testing.B, began time.Duration) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
	b.ReportMetric(float64((cpu()-began).Microseconds())/float64(b.N), "cpu-µs/task")
}

// pickup submits 100 tasks a second and tells how long each took from submit to start.
func (s bench) pickup(b *testing.B) {
	var mu sync.Mutex
	starts := map[string]time.Time{}
	m := s.engine(b, 4, nil, func(r *tasks.Run) {
		mu.Lock()
		starts[r.TaskID()] = time.Now()
		mu.Unlock()
	})
	if err := m.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	const n = 500
	submits := map[string]time.Time{}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for b.Loop() {
		for range n {
			<-tick.C
			id := tasks.NewID()
			submits[id] = time.Now()
			if _, err := m.Submit(b.Context(), worker, tasks.Spec{ID: id, Kind: "noop", Args: struct{}{}}); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := m.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
	var waits []time.Duration
	for id, at := range starts {
		waits = append(waits, at.Sub(submits[id]))
	}
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "p99-ms")
}
