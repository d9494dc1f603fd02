package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// TestTasksThatWaitedBeforeLanesAreClaimed takes what waits into a schema that did not know of turns and locks.
func TestTasksThatWaitedBeforeLanesAreClaimed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	c, err := lite.Open(path, 0, nil)
	must(t, err)
	for v := 1; v <= 3; v++ {
		must(t, upgrade(c, v))
	}
	locked := func(t *tasks.Task) { t.LockKey = "key" }
	old := columns[:len(columns)-3]
	for _, task := range []tasks.Task{
		taskstest.Queued(locked, taskstest.Named("locked 1")), taskstest.Queued(locked, taskstest.Named("locked 2")),
		taskstest.Queued(taskstest.Named("free 1")), taskstest.Queued(taskstest.Named("free 2")),
		taskstest.Queued(taskstest.Of("bob"), taskstest.Named("bob's")),
		taskstest.InStatus(tasks.StatusFinished),
	} {
		must(t, old.bind(c.Stmt(old.insertInto("tasks")), &task).Run())
		must(t, groupOf(&task).bind(c.Stmt(addCount)).Int(1).Run())
	}
	must(t, c.Close())
	s := openAt(t, path, Options{}).Tasks()
	must(t, s.PutLane(t.Context(), tasks.Lane{Name: "import", Capacity: 9, Rev: 1}))
	wantNames(t, claimAll(t, s, 9), "locked 1", "bob's", "free 1", "free 2")
}

// TestFirstsAreThoseOfTheTasks plays moves that change what waits and compares both small tables with
// what the tasks themselves say.
func TestFirstsAreThoseOfTheTasks(t *testing.T) {
	t.Parallel()
	db := open(t)
	s := db.Tasks()
	must(t, s.PutLane(t.Context(), tasks.Lane{Name: "import", Capacity: 3, Rev: 1}))
	for i := range 60 {
		task := taskstest.Queued(taskstest.Of(fmt.Sprint("user ", i%4)))
		task.Priority, task.AvailableAt = i%3, taskstest.After(time.Duration(i*37%60)*time.Second)
		if i%5 < 3 {
			task.LockKey = fmt.Sprint("key ", i%5)
		}
		insertOne(t, s, task)
		move := tasks.PausedBy("ada@example.org", taskstest.Epoch)
		switch i % 4 {
		case 1:
			move = tasks.Reprioritised("ada@example.org", 3+i%2, taskstest.Epoch)
		case 2:
			move = tasks.CancelRequested("ada@example.org", taskstest.Epoch)
		case 3:
			claimAll(t, s, 1)
		}
		if _, err := s.Update(t.Context(), task, move); err != nil && i%4 != 3 {
			t.Fatal(err)
		}
		rightFirsts(t, db)
	}
}

func rightFirsts(t *testing.T, db *DB) {
	t.Helper()
	compare := func(what, kept, asked string) {
		t.Helper()
		must(t, db.read(t.Context(), func(c *lite.Conn) error {
			for _, one := range []string{kept + " EXCEPT " + asked, asked + " EXCEPT " + kept} {
				n, err := count(c.Stmt("SELECT count(*) FROM (" + one + ")"))
				if err != nil || n != 0 {
					t.Fatalf("%d %s are not as the tasks say (%v)", n, what, err)
				}
			}
			return nil
		}))
	}
	first := `SELECT lane, priority, partitionKey, %s availableAt, taskId FROM (SELECT *, row_number() OVER
		(PARTITION BY lane, priority, partitionKey %s ORDER BY availableAt, taskId) AS place FROM tasks WHERE status = 'queued' %s) WHERE place = 1`
	compare("partitions", "SELECT lane, priority, partitionKey, availableAt, taskId FROM lane_turns WHERE taskId IS NOT NULL", fmt.Sprintf(first, "", "", ""))
	compare("locks", "SELECT lane, priority, partitionKey, lockKey, availableAt, taskId FROM lane_locks", fmt.Sprintf(first, "lockKey,", ", lockKey", "AND lockKey <> ''"))
}

// TestPartitionsServedLongAgoAreForgotten bounds what is remembered of those that have nothing to do any more.
func TestPartitionsServedLongAgoAreForgotten(t *testing.T) {
	t.Parallel()
	db := open(t)
	s := db.Tasks()
	must(t, s.PutLane(t.Context(), tasks.Lane{Name: "import", Capacity: 9, Rev: 1}))
	insertOne(t, s, taskstest.Queued(taskstest.Of("long ago")))
	claimAll(t, s, 1)
	must(t, db.write(t.Context(), func(tx *tx) error { return tx.Stmt(updateTurns).Int(2*keptTurns - 1).Text("import").Run() }))
	insertOne(t, s, taskstest.Queued(taskstest.Of("now")))
	claimAll(t, s, 1)
	must(t, db.read(t.Context(), func(c *lite.Conn) error {
		s := c.Stmt("SELECT group_concat(partitionKey) FROM lane_turns")
		if s.Next() {
			if got := s.ReadText(); got != "now" {
				t.Errorf("the turns of %q are remembered, want only that of now", got)
			}
		}
		return s.Err()
	}))
}

func claimAll(t *testing.T, s tasks.Store, limit int) []tasks.Task {
	t.Helper()
	now := taskstest.After(time.Hour)
	got, err := s.Claim(t.Context(), tasks.Claim{Lane: "import", Limit: limit, Now: now, Move: func(t *tasks.Task) error {
		return tasks.Claimed(taskstest.Lease("token-"+t.ID, now), now)(t)
	}})
	must(t, err)
	return got
}

func wantNames(t *testing.T, got []tasks.Task, want ...string) {
	t.Helper()
	var names []string
	for _, task := range got {
		names = append(names, task.Name)
	}
	if fmt.Sprint(names) != fmt.Sprint(want) {
		t.Errorf("claimed %q, want %q", names, want)
	}
}
