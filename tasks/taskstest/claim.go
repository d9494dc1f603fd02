package taskstest

import (
	"fmt"
	"testing"
	"time"

	"filmroom/tasks"
)

var claimScenarios = []scenario{
	{"tasks are claimed by priority, then time, then id", claimOrder},
	{"a task is not claimed before its time", claimDueOnly},
	{"no more tasks are claimed than asked for, each once", claimLimit},
	{"only waiting tasks of the lane are claimed", claimOnlyQueued},
	{"a task whose claim is refused stays as it is", claimRefused},
	{"the earliest waiting task says when to look again", nextAvailable},
}

// claiming asks for tasks of a lane; each gets a token of its own.
func claiming(lane string, limit int, now time.Time) tasks.Claim {
	return tasks.Claim{Lane: lane, Limit: limit, Now: now, Move: func(t *tasks.Task) error {
		return tasks.Claimed(Lease("token-"+t.ID, now), now)(t)
	}}
}

func claim(t testing.TB, s tasks.Store, c tasks.Claim) []tasks.Task {
	t.Helper()
	got, err := s.Claim(t.Context(), c)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return got
}

func waiting(priority int, availableAt time.Time, edits ...func(*tasks.Task)) tasks.Task {
	t := Queued(edits...)
	t.Priority, t.AvailableAt = priority, tasks.Millis(availableAt)
	return t
}

func claimOrder(t *testing.T, s tasks.Store) {
	a, b := waiting(10, After(2*time.Second)), waiting(10, After(2*time.Second))
	c := waiting(10, After(time.Second))
	d := waiting(-5, After(3*time.Second))
	e := waiting(200, Epoch)
	future := waiting(1, After(time.Hour))
	insertAll(t, s, e, b, future, a, d, c)
	got := claim(t, s, claiming("import", 10, After(time.Minute)))
	same(t, "order", idsOf([]tasks.Task{d, c, a, b, e}), idsOf(got))
	for i, was := range []tasks.Task{d, c, a, b, e} {
		want := Moved(was, claiming("import", 1, After(time.Minute)).Move)
		same(t, "returned", want, got[i])
		same(t, "stored", want, get(t, s, was.ID))
	}
}

func claimDueOnly(t *testing.T, s tasks.Store) {
	task := insert(t, s, waiting(1, After(time.Second)))
	if got := claim(t, s, claiming("import", 1, After(999*time.Millisecond))); len(got) != 0 {
		t.Fatalf("claimed a millisecond early")
	}
	unchanged(t, s, task)
	if got := claim(t, s, claiming("import", 1, After(time.Second))); len(got) != 1 {
		t.Errorf("not claimed when its time came")
	}
}

func claimLimit(t *testing.T, s tasks.Store) {
	for range 5 {
		insert(t, s, Queued())
	}
	for i, want := range []int{2, 2, 1, 0} {
		if got := claim(t, s, claiming("import", 2, Epoch)); len(got) != want {
			t.Errorf("claim %d got %d tasks, want %d", i, len(got), want)
		}
	}
	if got := claim(t, s, claiming("import", 0, Epoch)); len(got) != 0 {
		t.Errorf("a claim of 0 tasks got %d", len(got))
	}
}

func claimOnlyQueued(t *testing.T, s tasks.Store) {
	insert(t, s, Queued(In("export")))
	for _, status := range tasks.Statuses {
		if status != tasks.StatusQueued {
			insert(t, s, InStatus(status))
		}
	}
	if got := claim(t, s, claiming("import", 10, After(time.Hour))); len(got) != 0 {
		t.Errorf("claimed a task that is %s in lane %s", got[0].Status, got[0].Lane)
	}
}

func claimRefused(t *testing.T, s tasks.Store) {
	held, free := insert(t, s, Queued()), insert(t, s, Queued())
	c := claiming("import", 10, Epoch)
	allowed := c.Move
	c.Move = func(task *tasks.Task) error {
		if task.ID == held.ID {
			return tasks.ErrConflict
		}
		return allowed(task)
	}
	same(t, "claimed", []string{free.ID}, idsOf(claim(t, s, c)))
	unchanged(t, s, held)
}

func nextAvailable(t *testing.T, s tasks.Store) {
	if _, ok, err := s.NextAvailable(t.Context(), "import"); ok || err != nil {
		t.Errorf("an empty lane has a next task (%v, %v)", ok, err)
	}
	insertAll(t, s, waiting(1, After(time.Hour)), waiting(50, After(time.Minute)), waiting(9, After(2*time.Minute)))
	insertAll(t, s, waiting(1, Epoch, In("export")), InStatus(tasks.StatusPaused), InStatus(tasks.StatusFinished))
	at, ok, err := s.NextAvailable(t.Context(), "import")
	if err != nil || !ok || at != tasks.Millis(After(time.Minute)) {
		t.Errorf("next at %v (%v, %v), want %v", at, ok, err, After(time.Minute))
	}
}

func claimerToken(claimer, n int) string { return fmt.Sprintf("claimer-%d-%d", claimer, n) }
