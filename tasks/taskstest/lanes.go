package taskstest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"filmroom/tasks"
)

var laneScenarios = []scenario{
	{"a lane is stored once and changed by one at a time", lanesChangeOneAtATime},
	{"never more slots than the capacity, and a lowered one stops nothing", capacityHolds},
	{"a paused lane and one that is not stored start nothing", pausedLanesStartNothing},
	{"an expired lease gives its slot and its lock back", expiryFrees},
	{"a lock runs one at a time, in order, over all lanes", locksSerialise},
	{"what waits for a lock holds nobody up", locksHoldNobodyUp},
	{"partitions take turns within a priority", partitionsTakeTurns},
	{"loads tell waiting, scheduled and running", loadsTell},
	{"a place counts what comes before", placesCount},
	{"places are those in which partitions take turns", placesTakeTurns},
	{"successors are found until they are followed", successorsAreFound},
	{"only a final record of the same revision is deleted", deletesFinalAlone},
	{"an external lease outlives the process", externalLeasesOutlive},
}

// contendedLanes has many claimers fight over a part of so many tasks.
func contendedLanes(fight int, beside func(testing.TB, tasks.Store) tasks.Store) []scenario {
	return []scenario{
		{"many claimers never hold more than the capacity", func(t *testing.T, s tasks.Store) { capacityHoldsAtOnce(t, s, fight/8) }},
		{"many claimers never hold one lock twice", func(t *testing.T, s tasks.Store) { locksHoldAtOnce(t, s, fight/16) }},
		{"four managers, two of them killed, never hold more leases than the lanes allow", func(t *testing.T, s tasks.Store) {
			if fight < 500 {
				severalManagers(t, s, beside, 24, 4*time.Second) // a slow backend, whose heartbeats must not come too late
			} else {
				severalManagers(t, s, beside, 60, time.Second)
			}
		}},
	}
}

// lane stores a lane as it is to be, over what is there.
func lane(t testing.TB, s tasks.Store, name string, capacity int, edits ...func(*tasks.Lane)) {
	t.Helper()
	all, err := s.Lanes(t.Context())
	if err != nil {
		t.Fatalf("lanes: %v", err)
	}
	l := tasks.Lane{Name: name, Capacity: capacity, Rev: 1}
	for _, old := range all {
		if old.Name == name {
			l.Rev = old.Rev + 1
		}
	}
	for _, edit := range edits {
		edit(&l)
	}
	if err := s.PutLane(t.Context(), l); err != nil {
		t.Fatalf("put lane %s: %v", name, err)
	}
}

func lanesChangeOneAtATime(t *testing.T, s tasks.Store) {
	first := tasks.Lane{Name: "wide", Capacity: 3, Paused: true, Rate: 2.5, Burst: 4, By: "ada@example.org", Reason: "too slow", ChangedAt: Epoch, Rev: 1}
	if err := s.PutLane(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	refused(t, "a second new lane of the name", s.PutLane(t.Context(), first), tasks.ErrConflict)
	next := first
	next.Capacity, next.Rev = 9, 2
	if err := s.PutLane(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	refused(t, "a change of what has changed", s.PutLane(t.Context(), next), tasks.ErrConflict)
	unknown := tasks.Lane{Name: "unknown", Rev: 2}
	refused(t, "a change of what is not there", s.PutLane(t.Context(), unknown), tasks.ErrConflict)
	all, err := s.Lanes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(l tasks.Lane) bool { return l.Name != "wide" })
	same(t, "the lane", []tasks.Lane{next}, all)
}

func capacityHolds(t *testing.T, s tasks.Store) {
	lane(t, s, "wide", 3)
	for range 9 {
		insert(t, s, Queued(In("wide")))
	}
	got := claim(t, s, claiming("wide", 2, Epoch))
	got = append(got, claim(t, s, claiming("wide", 9, Epoch))...)
	if len(got) != 3 {
		t.Fatalf("%d tasks run in a lane of 3", len(got))
	}
	lane(t, s, "wide", 1)
	update(t, s, got[0], tasks.Finished(got[0].Lease.Token, tasks.Outcome{}, Epoch))
	if more := claim(t, s, claiming("wide", 9, Epoch)); len(more) != 0 {
		t.Errorf("%d tasks were started while 2 run in a lane lowered to 1", len(more))
	}
	lane(t, s, "wide", 4)
	if more := claim(t, s, claiming("wide", 9, Epoch)); len(more) != 2 {
		t.Errorf("%d tasks were started with 2 of 4 slots free", len(more))
	}
}

func pausedLanesStartNothing(t *testing.T, s tasks.Store) {
	lane(t, s, "wide", 3, func(l *tasks.Lane) { l.Paused = true })
	for _, name := range []string{"wide", "nowhere"} {
		insert(t, s, Queued(In(name)))
		if got := claim(t, s, claiming(name, 9, Epoch)); len(got) != 0 {
			t.Errorf("lane %s started %d tasks", name, len(got))
		}
	}
}

func expiryFrees(t *testing.T, s tasks.Store) {
	lane(t, s, "wide", 1)
	locked := func(t *tasks.Task) { t.LockKey = "key" }
	insert(t, s, Queued(In("wide"), locked))
	insert(t, s, Queued(In("wide"), locked))
	claim(t, s, claiming("wide", 9, Epoch))
	if got := claim(t, s, claiming("wide", 9, After(59*time.Second))); len(got) != 0 {
		t.Error("a slot and a lock under a valid lease were given away")
	}
	if got := claim(t, s, claiming("wide", 9, After(time.Minute))); len(got) != 1 {
		t.Error("what an expired lease held is not free")
	}
}

func locksSerialise(t *testing.T, s tasks.Store) {
	lane(t, s, "wide", 9)
	lane(t, s, "other", 9)
	var ids []string
	for i, name := range []string{"wide", "other", "wide"} {
		ids = append(ids, insert(t, s, Queued(In(name), func(t *tasks.Task) { t.LockKey = "key"; t.Priority = 10 * (i + 1) })).ID)
	}
	for i, name := range []string{"wide", "other", "wide"} {
		got := claim(t, s, claiming(name, 9, Epoch))
		if len(got) != 1 || got[0].ID != ids[i] {
			t.Fatalf("turn %d: %d tasks got the lock, want the one in order", i, len(got))
		}
		holder, err := s.Holder(t.Context(), "key", Epoch)
		if err != nil || holder.ID != ids[i] {
			t.Errorf("the lock is held by %q, %v", holder.ID, err)
		}
		for _, other := range []string{"other", "wide"} {
			if more := claim(t, s, claiming(other, 9, Epoch)); len(more) != 0 {
				t.Errorf("turn %d: the lock was given twice", i)
			}
		}
		update(t, s, got[0], tasks.Finished(got[0].Lease.Token, tasks.Outcome{}, Epoch))
	}
	_, err := s.Holder(t.Context(), "key", Epoch)
	refused(t, "the holder of a free lock", err, tasks.ErrNotFound)
}

func locksHoldNobodyUp(t *testing.T, s tasks.Store) {
	lane(t, s, "wide", 9)
	for range 30 {
		insert(t, s, Queued(In("wide"), func(t *tasks.Task) { t.LockKey = "key" }))
	}
	free := insert(t, s, Queued(In("wide")))
	got := claim(t, s, claiming("wide", 5, Epoch))
	if len(got) != 2 || got[1].ID != free.ID {
		t.Errorf("%d tasks were started, want the first of the lock and the one that needs none", len(got))
	}
}

// One person's many tasks must not make another wait for all of them.
func partitionsTakeTurns(t *testing.T, s tasks.Store) {
	lane(t, s, "wide", 1)
	var want []string
	for i := range 4 {
		insert(t, s, Queued(In("wide"), Of("ada"), Named(fmt.Sprint("ada ", i))))
	}
	for i := range 2 {
		insert(t, s, Queued(In("wide"), Of("bob"), Named(fmt.Sprint("bob ", i))))
	}
	insert(t, s, Queued(In("wide"), Of("ada"), Named("urgent"), func(t *tasks.Task) { t.Priority = 1 }))
	want = []string{"urgent", "bob 0", "ada 0", "bob 1", "ada 1", "ada 2", "ada 3"}
	var order []string
	for range want {
		for _, got := range claim(t, s, claiming("wide", 5, Epoch)) {
			order = append(order, got.Name)
			update(t, s, got, tasks.Finished(got.Lease.Token, tasks.Outcome{}, Epoch))
		}
	}
	same(t, "the order", want, order)
	for i := range 3 {
		insert(t, s, Queued(In("wide"), Of("ada"), Named(fmt.Sprint("ada ", i))))
	}
	insert(t, s, Queued(In("wide"), Of("bob"), Named("bob")))
	lane(t, s, "wide", 2)
	order = nil
	for _, got := range claim(t, s, claiming("wide", 2, Epoch)) {
		order = append(order, got.UserID)
	}
	slices.Sort(order)
	same(t, "whose tasks share two slots", []string{"ada", "bob"}, order)
}

func loadsTell(t *testing.T, s tasks.Store) {
	lane(t, s, "wide", 1)
	at := func(d time.Duration) func(*tasks.Task) { return func(t *tasks.Task) { t.AvailableAt = After(d) } }
	insertAll(t, s, Queued(In("wide")), Queued(In("wide"), at(time.Second)), Queued(In("wide"), at(time.Hour)), InStatus(tasks.StatusFinished, In("wide")),
		InStatus(tasks.StatusPaused, In("wide")), Queued(In("other")))
	claim(t, s, claiming("wide", 1, Epoch))
	loads, err := s.Loads(t.Context(), After(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "loads", []tasks.Load{
		{Lane: "other", Queued: 1, OldestQueuedAt: Epoch},
		{Lane: "wide", Queued: 1, Scheduled: 1, Processing: 1, OldestQueuedAt: After(time.Second)},
	}, loads)
}

func placesCount(t *testing.T, s tasks.Store) {
	for range 3 {
		insert(t, s, Queued(In("wide")))
	}
	insertAll(t, s, Queued(In("wide"), func(t *tasks.Task) { t.AvailableAt = After(time.Hour) }), Queued(In("other")))
	mine := insert(t, s, Queued(In("wide")))
	insert(t, s, Queued(In("wide"), func(t *tasks.Task) { t.Priority = 1 }))
	insert(t, s, Queued(In("wide")))
	if n, err := s.Ahead(t.Context(), mine, Epoch); err != nil || n != 4 {
		t.Errorf("%d tasks are ahead, %v, want the 3 older and the 1 more urgent", n, err)
	}
}

// placesTakeTurns asks for all places and then claims all tasks, which must come in that order.
func placesTakeTurns(t *testing.T, s tasks.Store) {
	of := func(partition string, priority int) func(*tasks.Task) {
		return func(t *tasks.Task) { t.Lane, t.PartitionKey, t.Priority = "wide", partition, priority }
	}
	lane(t, s, "wide", 100)
	insertAll(t, s, Queued(of("ada", 5)), Queued(of("cid", 5)), Queued(of("ada", 5)))
	claim(t, s, claiming("wide", 3, Epoch)) // ada holds two slots, cid one
	var waiting []tasks.Task
	for _, many := range []struct {
		of string
		n  int
	}{{"ada", 12}, {"bob", 3}, {"cid", 4}, {"dan", 1}, {"eve", 6}} {
		for i := range many.n {
			waiting = append(waiting, insert(t, s, Queued(of(many.of, 10), func(t *tasks.Task) {
				if i%2 == 1 {
					t.LockKey = "lock-" + t.ID
				}
			})))
		}
	}
	places := map[string]int{}
	for _, w := range waiting {
		n, err := s.Ahead(t.Context(), w, Epoch)
		if err != nil {
			t.Fatal(err)
		}
		places[w.ID] = n
	}
	if n := places[waiting[12].ID]; n > 2 {
		t.Errorf("%d tasks are ahead of bob's first, behind 12 of ada's", n)
	}
	insert(t, s, Queued(of("dan", 10), func(t *tasks.Task) { t.AvailableAt = After(time.Hour) }))
	for i, next := range claim(t, s, claiming("wide", len(waiting), Epoch)) {
		if places[next.ID] != i {
			t.Errorf("a task of %s came after %d others and was told that %d are ahead", next.PartitionKey, i, places[next.ID])
		}
	}
}

func successorsAreFound(t *testing.T, s tasks.Store) {
	next := &tasks.Successor{ID: ID(), Kind: "webhook", Name: "Tell", Args: []byte(`{"a":1}`), Sealed: []byte{1, 2}}
	ran := insert(t, s, Running())
	ended := update(t, s, ran, tasks.EndedWith(next, tasks.Finished(Token, tasks.Outcome{}, Epoch)))
	left, err := s.Unfollowed(t.Context(), "", 9)
	if err != nil || len(left) != 1 || left[0].ID != ran.ID {
		t.Fatalf("%d records have a successor to come, %v", len(left), err)
	}
	same(t, "the successor", next, left[0].Next)
	update(t, s, ended, tasks.Followed(next.ID))
	if left, err := s.Unfollowed(t.Context(), "", 9); err != nil || len(left) != 0 {
		t.Errorf("%d records still have one, %v", len(left), err)
	}
}

func deletesFinalAlone(t *testing.T, s tasks.Store) {
	waiting, final := insert(t, s, Queued()), insert(t, s, InStatus(tasks.StatusFinished))
	if err := s.AppendLog(t.Context(), []tasks.LogLine{{TaskID: final.ID, Attempt: 1, Seq: 1, At: Epoch, Level: "info", Text: "x"}}); err != nil {
		t.Fatal(err)
	}
	stale := final
	stale.Rev--
	refused(t, "a waiting task", s.Delete(t.Context(), waiting), tasks.ErrConflict)
	refused(t, "a record that has moved", s.Delete(t.Context(), stale), tasks.ErrConflict)
	if err := s.Delete(t.Context(), final); err != nil {
		t.Fatal(err)
	}
	_, err := s.Get(t.Context(), final.ID)
	refused(t, "a deleted record", err, tasks.ErrNotFound)
	if lines, err := s.Log(t.Context(), final.ID, 0, 9); err != nil || len(lines) != 0 {
		t.Errorf("%d lines of its log are left, %v", len(lines), err)
	}
	rightCounts(t, s, []tasks.Task{waiting}, waiting.UserID)
	insert(t, s, final) // its keys are free again
}

func externalLeasesOutlive(t *testing.T, s tasks.Store) {
	lease := tasks.Lease{Owner: tasks.External, Token: Token, ExpiresAt: After(time.Minute)}
	insert(t, s, tasks.Registered(Task(), lease, Epoch))
	dead := insert(t, s, Running())
	stale, err := s.Stale(t.Context(), "boot-2", Epoch, 9)
	if err != nil || len(stale) != 1 || stale[0].ID != dead.ID {
		t.Errorf("%d tasks count as stale, %v, want the one of the other process", len(stale), err)
	}
	if stale, err = s.Stale(t.Context(), "boot-2", After(time.Minute), 9); err != nil || len(stale) != 2 {
		t.Errorf("%d tasks count as stale after expiry, %v", len(stale), err)
	}
}

func capacityHoldsAtOnce(t *testing.T, s tasks.Store, n int) {
	lane(t, s, "wide", 3)
	for range n {
		insert(t, s, Queued(In("wide")))
	}
	var running, most atomic.Int64
	drainTogether(t, s, n, func(got []tasks.Task) {
		now := running.Add(int64(len(got)))
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
	}, func() { running.Add(-1) })
	if most.Load() > 3 {
		t.Errorf("%d ran at once in a lane of 3", most.Load())
	}
}

func locksHoldAtOnce(t *testing.T, s tasks.Store, n int) {
	lane(t, s, "wide", 9)
	for range n {
		insert(t, s, Queued(In("wide"), func(t *tasks.Task) { t.LockKey = "key" }))
	}
	var held atomic.Int64
	drainTogether(t, s, n, func(got []tasks.Task) {
		if held.Add(int64(len(got))) > 1 {
			t.Error("two tasks hold one lock")
		}
	}, func() { held.Add(-1) })
}

// drainTogether has sixteen claimers run n tasks of the lane wide to their ends. started is called with what
// each claim got, ending before each task's end is stored: what both count is never more than what runs.
func drainTogether(t *testing.T, s tasks.Store, n int, started func([]tasks.Task), ending func()) {
	var ran atomic.Int64
	var failed atomic.Bool
	together(16, func(claimer int) {
		for i := 0; ran.Load() < int64(n) && !failed.Load(); i++ {
			got, err := s.Claim(t.Context(), tasks.Claim{Lane: "wide", Limit: 4, Now: Epoch, Move: func(t *tasks.Task) error {
				return tasks.Claimed(Lease(claimerToken(claimer, i)+t.ID, Epoch), Epoch)(t)
			}})
			started(got)
			for _, one := range got {
				ending()
				ran.Add(1)
				if _, end := s.Update(t.Context(), one, tasks.Finished(one.Lease.Token, tasks.Outcome{}, Epoch)); end != nil {
					err = end
				}
			}
			if err != nil {
				failed.Store(true) // what it held stays held: the others would wait for ever
				t.Errorf("claimer %d: %v", claimer, err)
			}
		}
	})
	if got := ran.Load(); got != int64(n) {
		t.Errorf("%d of %d ran", got, n)
	}
}
