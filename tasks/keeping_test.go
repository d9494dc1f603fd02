package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// A keeper is an engine that prunes what has finished two days ago, and whose kind leaves a file and staged input.
type keeper struct {
	*bench
	dir    string
	pruned []string // whose staged input was removed
}

// keep plays a test on a keeper, whose runner is w after it has made its file.
func keep(t *testing.T, w work, configure func(k *keeper), play func(k *keeper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{bench: prepare(t, taskstest.NewMemory(), w), dir: t.TempDir()}
		kind := tasks.Kind{Name: "test", Lane: "lane", Rerunnable: true, Downloadable: "text/plain", Retry: tasks.Retry{MaxAttempts: 1},
			Pruned: func(_ context.Context, t tasks.Task) { k.pruned = append(k.pruned, t.ID) }}
		kinds, err := tasks.NewKinds(tasks.Define(kind, func(ctx context.Context, _ map[string]any, r *tasks.Run) (tasks.Done, error) {
			f, err := r.CreateFile("a.txt")
			if err != nil {
				return tasks.Done{}, err
			}
			if _, err = io.WriteString(f, "half of it"); err != nil {
				return tasks.Done{}, err
			}
			return w(ctx, r)
		}))
		if err != nil {
			t.Fatal(err)
		}
		if k.cfg.Results, err = tasks.NewResultDir(k.dir); err != nil {
			t.Fatal(err)
		}
		k.cfg.Kinds, k.cfg.RescueInterval = kinds, time.Hour
		k.cfg.Retention = map[tasks.Status]time.Duration{tasks.StatusFinished: 48 * time.Hour, tasks.StatusError: 48 * time.Hour}
		if configure != nil {
			configure(k)
		}
		k.reboot()
		k.start()
		defer k.stop()
		play(k)
	})
}

// files are the result files there are, by their tasks.
func (k *keeper) files() (ids []string) {
	k.t.Helper()
	err := filepath.WalkDir(k.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			ids = append(ids, filepath.Base(filepath.Dir(path)))
		}
		return err
	})
	if err != nil {
		k.t.Error(err)
	}
	return ids
}

func (k *keeper) gone(id string) bool {
	k.t.Helper()
	_, err := k.store.Get(k.t.Context(), id)
	return errors.Is(err, tasks.ErrNotFound)
}

func refuses(context.Context, *tasks.Run) (tasks.Done, error) {
	return tasks.Done{}, tasks.Permanent(errors.New("no"))
}

func TestAnIdempotencyKeyOutlivesARetentionOfLessThanADay(t *testing.T) {
	t.Parallel()
	shortly := func(k *keeper) { k.cfg.Retention = map[tasks.Status]time.Duration{tasks.StatusFinished: time.Hour} }
	keep(t, nothing, shortly, func(k *keeper) {
		keyed := tasks.Spec{Kind: "test", IdempotencyKey: "k"}
		first, err := k.Submit(k.t.Context(), ada, keyed)
		if err != nil {
			k.t.Fatal(err)
		}
		time.Sleep(23 * time.Hour)
		if again, err := k.Submit(k.t.Context(), ada, keyed); !errors.Is(err, tasks.ErrDuplicate) || again.ID != first.ID {
			t.Errorf("after 23 h: task %s, %v, want the first", again.ID, err)
		}
		time.Sleep(3 * time.Hour)
		if again, err := k.Submit(k.t.Context(), ada, keyed); err != nil || again.ID == first.ID {
			t.Errorf("after 26 h: task %s, %v, want a new one", again.ID, err)
		}
	})
}

func TestPruningTakesFilesAndStagedInputAlong(t *testing.T) {
	t.Parallel()
	keep(t, nothing, nil, func(k *keeper) {
		const n = 110 // more than a batch
		for range n {
			k.submit()
		}
		synctest.Wait()
		if files := k.files(); len(files) != n {
			k.t.Fatalf("%d tasks left %d files", n, len(files))
		}
		time.Sleep(30 * time.Hour)
		young := k.submit()
		time.Sleep(20 * time.Hour)
		page, err := k.List(k.t.Context(), ada, tasks.Query{Limit: 9})
		if err != nil || page.Total != 1 || page.Items[0].ID != young.ID {
			t.Errorf("%d tasks are left, %v, want the young one", page.Total, err)
		}
		if files := k.files(); !slices.Equal(files, []string{young.ID}) {
			t.Errorf("files of %d tasks are left, want the young one's", len(files))
		}
		if len(k.pruned) != n || slices.Contains(k.pruned, young.ID) {
			t.Errorf("the staged input of %d tasks was removed, want %d", len(k.pruned), n)
		}
	})
}

// A late store does something just before it deletes.
type late struct {
	*taskstest.Memory
	before func(t tasks.Task)
}

func (s *late) Delete(ctx context.Context, t tasks.Task) error {
	s.before(t)
	return s.Memory.Delete(ctx, t)
}

func TestATaskThatIsRetriedWhileItIsPrunedStaysWithItsInput(t *testing.T) {
	t.Parallel()
	var retried atomic.Int32
	configure := func(k *keeper) {
		k.cfg.Store = &late{k.store, func(task tasks.Task) {
			if _, err := k.Retry(k.t.Context(), ada, task.ID); err != nil {
				k.t.Error(err)
			}
			retried.Add(1)
		}}
	}
	keep(t, refuses, configure, func(k *keeper) {
		id := k.submit().ID
		time.Sleep(50 * time.Hour)
		synctest.Wait()
		k.is(k.get(id), tasks.StatusError, 2)
		if retried.Load() != 1 || len(k.pruned) != 0 {
			t.Errorf("retried %d times, and the staged input of %d tasks is gone", retried.Load(), len(k.pruned))
		}
	})
}

func TestNoByteIsLeftOfAFileWhoseAttemptDidNotFinish(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]struct {
		w      work
		cancel bool
	}{
		"it failed":    {w: refuses},
		"it panicked":  {w: func(context.Context, *tasks.Run) (tasks.Done, error) { panic("no") }},
		"was canceled": {w: blocks, cancel: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keep(t, ends.w, nil, func(k *keeper) {
				id := k.submit().ID
				synctest.Wait()
				if ends.cancel {
					if files := k.files(); len(files) != 1 {
						k.t.Fatalf("%d files are being written, want 1", len(files))
					}
					if _, err := k.Cancel(k.t.Context(), ada, id); err != nil {
						k.t.Fatal(err)
					}
				}
				if task := k.settled(id); !task.Status.Final() {
					k.t.Fatalf("the task is %s", task.Status)
				}
				entries, err := os.ReadDir(k.dir)
				if err != nil || len(entries) != 0 {
					t.Errorf("%d folders are left, %v", len(entries), err)
				}
			})
		})
	}
}

func TestFilesThatNoRecordNamesAreSwept(t *testing.T) {
	t.Parallel()
	keep(t, nothing, nil, func(k *keeper) {
		kept := k.settled(k.submit().ID)
		for _, orphan := range []string{
			filepath.Join(tasks.NewID(), "1.of-a-task-that-is-gone"),
			filepath.Join(kept.ID, "1.of-an-attempt-that-died"),
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(k.dir, orphan)), 0o700); err != nil {
				k.t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(k.dir, orphan), []byte("half"), 0o600); err != nil {
				k.t.Fatal(err)
			}
		}
		time.Sleep(61 * time.Minute)
		synctest.Wait()
		entries, err := os.ReadDir(k.dir)
		if files := k.files(); err != nil || !slices.Equal(files, []string{kept.ID}) || len(entries) != 1 {
			t.Errorf("after a sweep there are files of %v in %d folders, want the one that a record names", files, len(entries))
		}
		if _, f, err := k.OpenFile(k.t.Context(), ada, kept.ID); err != nil {
			t.Errorf("a download within its time: %v", err)
		} else {
			f.Close()
		}
	})
}

func TestAFileThatHasExpiredIsSwept(t *testing.T) {
	t.Parallel()
	forGood := func(k *keeper) { k.cfg.Retention, k.cfg.ResultTTL = nil, 24*time.Hour }
	keep(t, nothing, forGood, func(k *keeper) {
		id := k.settled(k.submit().ID).ID
		time.Sleep(26 * time.Hour)
		synctest.Wait()
		if files := k.files(); len(files) != 0 {
			t.Errorf("files of %v are left", files)
		}
		if _, _, err := k.OpenFile(k.t.Context(), ada, id); !errors.Is(err, tasks.ErrExpired) {
			t.Errorf("the download says %v, want that it has expired", err)
		}
	})
}

func TestAPrioritizedTaskRunsNext(t *testing.T) {
	t.Parallel()
	var order []string
	runGated(t, func(ctx context.Context, r *tasks.Run, gate <-chan struct{}) (tasks.Done, error) {
		order = append(order, r.Task().Name)
		<-gate
		return tasks.Done{}, nil
	}, func(b *bench, open func()) {
		b.setLane(tasks.LaneChange{Capacity: ptr(1)})
		named := func(name string) tasks.Task {
			time.Sleep(2 * time.Millisecond) // ids that are made in one millisecond are in no order
			return b.submit(func(s *tasks.Spec) { s.Name = name })
		}
		named("runs")
		synctest.Wait()
		var waiting []tasks.Task
		for i := range 4 {
			waiting = append(waiting, named(fmt.Sprint(i)))
		}
		if _, err := b.Prioritize(b.t.Context(), ada, waiting[2].ID, 1); err != nil {
			b.t.Fatal(err)
		}
		open()
		synctest.Wait()
		if want := []string{"runs", "2", "0", "1", "3"}; !slices.Equal(order, want) {
			t.Errorf("they ran in the order %q, want %q", order, want)
		}
	})
}

// told plays a test on an engine whose tasks fail and are followed by one that tells of it; while away, the
// store takes no new tasks.
func told(t *testing.T, play func(k *keeper, away *atomic.Bool, told func() []string)) {
	t.Helper()
	var away atomic.Bool
	var mu sync.Mutex
	var all []string
	keep(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		if r.Task().Name != "tell" {
			return refuses(ctx, r)
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, string(r.Task().Args))
		return tasks.Done{}, nil
	}, func(k *keeper) {
		k.cfg.Follow = func(_ context.Context, ending tasks.Task) *tasks.Successor {
			if ending.Name == "tell" {
				return nil
			}
			return &tasks.Successor{ID: tasks.NewID(), Kind: "test", Name: "tell", Args: json.RawMessage(fmt.Sprintf(`{"attempt":%d}`, ending.Attempt))}
		}
		k.store.Fail(func(method string) error {
			if method == "Insert" && away.Load() {
				return errors.New("no answer")
			}
			return nil
		})
	}, func(k *keeper) {
		play(k, &away, func() []string { synctest.Wait(); return slices.Sorted(slices.Values(all)) })
	})
}

// A task that ended names its successor until that is stored. Another end must not take its place.
func TestASuccessorThatIsNotStoredYetIsNotLostToARetry(t *testing.T) {
	t.Parallel()
	told(t, func(k *keeper, away *atomic.Bool, told func() []string) {
		id := k.submit().ID
		away.Store(true)
		k.is(k.settled(id), tasks.StatusError, 1)
		if _, err := k.Retry(k.t.Context(), ada, id); err == nil {
			t.Error("the task is retried, and who is to be told of its first end can not be")
		}
		away.Store(false)
		if _, err := k.Retry(k.t.Context(), ada, id); err != nil {
			k.t.Fatal(err)
		}
		k.is(k.settled(id), tasks.StatusError, 2)
		if got, want := told(), []string{`{"attempt":1}`, `{"attempt":2}`}; !slices.Equal(got, want) {
			t.Errorf("told of %q, want %q", got, want)
		}
	})
}

func TestATaskIsNotPrunedBeforeItsSuccessorIsStored(t *testing.T) {
	t.Parallel()
	told(t, func(k *keeper, away *atomic.Bool, told func() []string) {
		id := k.submit().ID
		away.Store(true)
		time.Sleep(60 * time.Hour)
		if got := told(); k.gone(id) || len(got) != 0 {
			k.t.Fatalf("the task is gone: %v; told of %q", k.gone(id), got)
		}
		away.Store(false)
		time.Sleep(2 * time.Hour)
		if got := told(); !slices.Equal(got, []string{`{"attempt":1}`}) || !k.gone(id) {
			t.Errorf("told of %q, want of the end; the task is gone: %v", got, k.gone(id))
		}
	})
}
