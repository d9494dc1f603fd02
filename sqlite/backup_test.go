package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

func TestBackupIsTheDatabaseOfOneMoment(t *testing.T) {
	t.Parallel()
	server := open(t)
	beside := openAt(t, server.path, Options{Beside: true})
	s := server.Tasks()
	before := taskstest.Queued()
	insertOne(t, s, before)

	var stop atomic.Bool
	var writes sync.WaitGroup
	writes.Go(func() {
		for !stop.Load() {
			if _, err := s.Insert(t.Context(), taskstest.Queued()); err != nil {
				t.Error(err)
			}
		}
	})
	path := filepath.Join(t.TempDir(), "backup.db")
	err := beside.Backup(t.Context(), path)
	stop.Store(true)
	writes.Wait()
	must(t, err)

	restored := openAt(t, path, Options{}).Tasks()
	if got, err := restored.Get(t.Context(), before.ID); err != nil || got.ID != before.ID {
		t.Errorf("the backup has %q (%v), want the task from before it", got.ID, err)
	}
	counts, err := restored.Counts(t.Context(), before.UserID)
	must(t, err)
	page, err := restored.List(t.Context(), tasks.Query{UserID: before.UserID, Limit: 1_000_000, NoTotal: true})
	must(t, err)
	if len(counts) != 1 || counts[0].N != len(page.Items) {
		t.Errorf("counted %+v, but there are %d tasks: the backup is of two moments", counts, len(page.Items))
	}
}

func TestBackupThatFailsLeavesNoFile(t *testing.T) {
	t.Parallel()
	db := open(t)
	path := filepath.Join(t.TempDir(), "backup.db")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Backup(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
	if err := db.copyTo(ctx, path); err == nil {
		t.Error("a copy went on after its caller had gone")
	}
	_ = os.Remove(path)
	must(t, os.WriteFile(path, []byte("somebody's"), 0o600))
	if err := db.Backup(t.Context(), path); !errors.Is(err, os.ErrExist) {
		t.Errorf("error %v, want ErrExist", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "somebody's" {
		t.Errorf("a file that was there holds %q (%v)", got, err)
	}
}

func insertOne(t *testing.T, s tasks.Store, task tasks.Task) {
	t.Helper()
	_, err := s.Insert(t.Context(), task)
	must(t, err)
}
