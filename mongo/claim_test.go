package mongo

import (
	"testing"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// claimAt claims under tokens of its own, as another process would.
func claimAt(t *testing.T, s *Tasks, now time.Time) ([]tasks.Task, error) {
	t.Helper()
	return s.Claim(t.Context(), tasks.Claim{Lane: "import", Limit: 9, Now: now, Move: func(t *tasks.Task) error {
		return tasks.Claimed(taskstest.Lease(tasks.NewID(), now), now)(t)
	}})
}

func TestAClaimThatDiesAtAnyWriteLeavesNoSlotAndNoLockBehind(t *testing.T) {
	t.Parallel()
	untilItSurvives(t, func(t *testing.T, db *DB, writes int) bool {
		s, now := db.Tasks(), taskstest.Epoch
		did(t, s.PutLane(t.Context(), tasks.Lane{Name: "import", Capacity: 1, Rev: 1}))
		for range 2 {
			_, err := s.Insert(t.Context(), taskstest.Queued(func(t *tasks.Task) { t.LockKey = "key" }))
			did(t, err)
		}
		first, life := dying(t, db.name, writes)
		had, _ := claimAt(t, first.Tasks(), now)
		got, err := claimAt(t, s, now)
		did(t, err)
		if len(had)+len(got) > 1 {
			t.Errorf("died after %d writes: %d tasks run in a lane of 1", writes, len(had)+len(got))
		}
		if got, err = claimAt(t, s, now.Add(2*time.Minute)); err != nil || len(got) != 1 {
			t.Errorf("died after %d writes: %d tasks were claimed when all had run out, %v, want 1", writes, len(got), err)
		}
		return life.dead()
	})
}

// A process that stalls between its writes for longer than others wait must not come back with a lease.
func TestAClaimThatWasOverruledCanNoLongerBeMade(t *testing.T) {
	t.Parallel()
	s, now := setup(t).Tasks(), taskstest.Epoch
	did(t, s.PutLane(t.Context(), tasks.Lane{Name: "import", Capacity: 1, Rev: 1}))
	stalled, err := s.Insert(t.Context(), taskstest.Queued())
	did(t, err)
	h := holdDoc{ID: slotID("import", 0), Lane: "import", Claim: "a", TaskID: stalled.ID, Token: "a", Rev: stalled.Rev, ClaimUntil: now.Add(claimTakes)}
	if ok, err := s.take(t.Context(), nil, h); !ok || err != nil {
		t.Fatalf("the slot was not taken: %v", err)
	}
	if got, err := claimAt(t, s, now); err != nil || len(got) != 0 {
		t.Errorf("%d tasks got the slot of a claim under way, %v", len(got), err)
	}
	later := now.Add(claimTakes)
	if got, err := claimAt(t, s, later); err != nil || len(got) != 1 {
		t.Fatalf("%d tasks got the slot of a claim that was given up, %v", len(got), err)
	}
	next, err := tasks.Apply(stalled, tasks.Claimed(taskstest.Lease("a", later), later))
	did(t, err)
	if written, err := s.replace(t.Context(), stalled.Rev, next); written || err != nil {
		t.Errorf("the overruled claim was written: %v, %v", written, err)
	}
}

// Two claims that both see one slot must both leave it to the task that runs beyond a lowered capacity.
func TestTasksBeyondALoweredCapacityKeepSlotsClosed(t *testing.T) {
	t.Parallel()
	s, now := setup(t).Tasks(), taskstest.Epoch
	did(t, s.PutLane(t.Context(), tasks.Lane{Name: "import", Capacity: 3, Rev: 1}))
	for range 2 { // without slots of their own, as those that are registered as running
		_, err := s.Insert(t.Context(), taskstest.Running())
		did(t, err)
	}
	for range 3 {
		st, err := s.takeStock(t.Context(), tasks.Claim{Lane: "import", Now: now}, 3)
		did(t, err)
		if len(st.open) != 1 || st.open[0].n != 0 {
			t.Errorf("open slots are %+v, want the first alone", st.open)
		}
	}
}
