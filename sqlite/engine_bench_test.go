package sqlite_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"filmroom/sqlite"
	"filmroom/tasks"
)

var worker = tasks.Person{UserID: "bench", Email: "bench@example.org"}

// engine starts the whole engine on a fresh file, with one kind that does nothing but count.
func engine(b *testing.B, capacity int, o tasks.Observer, ran func(r *tasks.Run)) *tasks.Manager {
	b.Helper()
	dir := b.TempDir()
	db, err := sqlite.Open(b.Context(), filepath.Join(dir, "bench.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	kinds, err := tasks.NewKinds(tasks.Define(tasks.Kind{Name: "noop", Lane: "noop", Rerunnable: true, Retry: tasks.Retry{MaxAttempts: 3}},
		func(_ context.Context, _ struct{}, r *tasks.Run) (tasks.Done, error) {
			ran(r)
			return tasks.Done{}, nil
		}))
	if err != nil {
		b.Fatal(err)
	}
	results, err := tasks.NewResultDir(filepath.Join(dir, "results"))
	if err != nil {
		b.Fatal(err)
	}
	m, err := tasks.NewManager(tasks.Config{Store: db.Tasks(), Results: results, Kinds: kinds, Lanes: map[string]int{"noop": capacity},
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

// submitAll submits n tasks from so many callers, each one after the other.
func submitAll(b *testing.B, m *tasks.Manager, callers, n int) {
	var left atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				submit(b, m)
			}
		})
	}
	all.Wait()
}

func BenchmarkEngineSubmit8Callers(b *testing.B) { benchSubmit(b, 8) }

func BenchmarkEngineSubmit256Callers(b *testing.B) { benchSubmit(b, 256) }

func benchSubmit(b *testing.B, callers int) {
	m := engine(b, 0, nil, func(*tasks.Run) {})
	began := cpu()
	b.ResetTimer()
	submitAll(b, m, callers, b.N)
	reportTasks(b, began)
}

// BenchmarkEngineDrain runs tasks that wait already, claim to stored end.
func BenchmarkEngineDrain(b *testing.B) {
	ends := make(chan struct{}, b.N)
	m := engine(b, 64, endings(ends), func(*tasks.Run) {})
	submitAll(b, m, 256, b.N)
	began := cpu()
	b.ResetTimer()
	if err := m.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	for range b.N {
		<-ends
	}
	b.StopTimer()
	reportTasks(b, began)
	counts, err := m.Counts(b.Context(), worker)
	if err != nil || len(counts) != 1 || counts[0].Status != tasks.StatusFinished || counts[0].N != b.N {
		b.Fatalf("the store has %v, %v", counts, err)
	}
}

// endings hears of each end that was stored.
type endings chan<- struct{}

func (endings) AttemptStarted(string, string, time.Duration) {}

func (e endings) AttemptEnded(string, string, tasks.Event, time.Duration) { e <- struct{}{} }

// cpu is the processor time this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func reportTasks(b *testing.B, began time.Duration) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
	b.ReportMetric(float64((cpu()-began).Microseconds())/float64(b.N), "cpu-µs/task")
}

// BenchmarkEnginePickup submits 100 tasks a second and tells how long each took from submit to start.
func BenchmarkEnginePickup(b *testing.B) {
	var mu sync.Mutex
	starts := map[string]time.Time{}
	m := engine(b, 4, nil, func(r *tasks.Run) {
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
