package tasks_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

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
