package tasks_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// A meddler is a store in which something happens just before the next move is made.
type meddler struct {
	*taskstest.Memory
	first func()
}

func (m *meddler) Update(ctx context.Context, known tasks.Task, mv tasks.Move) (tasks.Task, error) {
	if first := m.first; first != nil {
		m.first = nil
		first()
	}
	return m.Memory.Update(ctx, known, mv)
}

func TestAFileThatArrivesWhileAnExternalTaskFinishesIsItsDownload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &meddler{Memory: taskstest.NewMemory()}
		b := prepare(t, store.Memory, nothing)
		b.cfg.Store = store
		b.reboot()
		b.start()
		defer b.stop()
		ctx := b.t.Context()
		task, err := b.RegisterExternal(ctx, ada, tasks.Spec{Name: "Nightly copy"})
		if err != nil {
			t.Fatal(err)
		}
		store.first = func() {
			if err := b.ReportFile(ctx, ada, task.ID, "log.txt", "text/plain", strings.NewReader("copied")); err != nil {
				t.Error(err)
			}
			if _, err := b.Report(ctx, ada, task.ID, tasks.Report{Progress: &tasks.Progress{Value: 3, Max: 3}}); err != nil {
				t.Error(err)
			}
		}
		done, err := b.ReportFinish(ctx, ada, task.ID, tasks.Outcome{})
		if err != nil || done.File == nil || done.Progress.Value != 3 {
			t.Errorf("it ended with the file %+v at %+v, %v", done.File, done.Progress, err)
		}
	})
}

// Lines are numbered by what is stored already: two reports at once must not take the same numbers, for a
// store takes the second line of a number for the first, sent again.
func TestLinesReportedAtOnceAllHaveNumbersOfTheirOwn(t *testing.T) {
	t.Parallel()
	run(t, nothing, func(b *bench) {
		ctx := b.t.Context()
		task, err := b.RegisterExternal(ctx, ada, tasks.Spec{Name: "Nightly copy"})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if err := b.ReportLog(ctx, ada, task.ID, slog.LevelInfo, []string{fmt.Sprint(i), "and on"}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		lines, err := b.Log(ctx, ada, task.ID, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		numbers := map[int64]bool{}
		for _, l := range lines {
			numbers[l.Seq] = true
		}
		if len(numbers) != 40 {
			t.Errorf("%d lines have %d numbers, want 40", len(lines), len(numbers))
		}
	})
}

func TestWhatASweepRemovesStandsInTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		var mu sync.Mutex
		b := prepare(t, taskstest.NewMemory(), func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
			_, err := r.CreateFile("a secret name.txt")
			return tasks.Done{}, err
		})
		b.cfg.Logger = slog.New(slog.NewTextHandler(&lockedWriter{w: &said, mu: &mu}, nil))
		b.reboot()
		b.start()
		path := b.settled(b.submit().ID).File.Path
		time.Sleep(200 * time.Hour)
		b.stop()
		if log := said.String(); strings.Count(log, path) != 1 || strings.Contains(log, "secret") {
			t.Errorf("the log does not name the removed file by our ids alone, once:\n%s", log)
		}
	})
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
