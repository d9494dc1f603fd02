package taskstest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"filmroom/tasks"
)

// contended are the promises that only a fight can break, one of them over n tasks.
func contended(n int) []scenario {
	return []scenario{
		{"of two inserts with one key exactly one succeeds", insertsAtOnce},
		{fmt.Sprintf("16 claimers get %d tasks exactly once", n), func(t *testing.T, s tasks.Store) { claimersAtOnce(t, s, n) }},
		{"of a finish and a cancel at once, one decides", finishAndCancelAtOnce},
		{"no move of many at once is lost", movesAtOnce},
	}
}

// together runs n functions at once and waits for them.
func together(n int, run func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() { <-start; run(i) })
	}
	close(start)
	wg.Wait()
}

func insertsAtOnce(t *testing.T, s tasks.Store) {
	for _, edit := range []func(*tasks.Task){keyed("k", ""), keyed("", "d")} {
		got, errs := make([]tasks.Task, 8), make([]error, 8)
		together(8, func(i int) { got[i], errs[i] = s.Insert(t.Context(), Queued(edit)) })
		won := 0
		for i := range got {
			if errs[i] == nil {
				won++
			} else {
				refused(t, "insert", errs[i], tasks.ErrDuplicate)
			}
			same(t, "all get the same record", got[0], got[i])
		}
		if won != 1 {
			t.Errorf("%d inserts succeeded, want 1", won)
		}
	}
}

func claimersAtOnce(t *testing.T, s tasks.Store, n int) {
	const claimers = 16
	var all []tasks.Task
	for range n {
		all = append(all, insert(t, s, Queued()))
	}
	var mu sync.Mutex
	claimed := map[string]string{}
	together(claimers, func(i int) {
		for round := 0; ; round++ {
			token := claimerToken(i, round)
			c := tasks.Claim{Lane: "import", Limit: 1 + i%4, Now: Epoch, Move: tasks.Claimed(Lease(token, Epoch), Epoch)}
			got, err := s.Claim(t.Context(), c)
			if err != nil || len(got) == 0 {
				if err != nil {
					t.Errorf("claim: %v", err)
				}
				return
			}
			mu.Lock()
			for _, task := range got {
				if claimed[task.ID] != "" {
					t.Errorf("task %s was claimed twice", task.ID)
				}
				claimed[task.ID] = token
			}
			mu.Unlock()
		}
	})
	if len(claimed) != n {
		t.Errorf("%d tasks were claimed, want %d", len(claimed), n)
	}
	for i, task := range all {
		all[i] = get(t, s, task.ID)
		if all[i].Lease == nil || all[i].Lease.Token != claimed[task.ID] || all[i].Attempt != 1 {
			t.Errorf("task %s was claimed under %q but is stored under %+v, attempt %d", task.ID, claimed[task.ID], all[i].Lease, all[i].Attempt)
		}
	}
	rightCounts(t, s, all, all[0].UserID)
}

func finishAndCancelAtOnce(t *testing.T, s tasks.Store) {
	var all []tasks.Task
	for range 50 {
		running := insert(t, s, Running())
		var errs [2]error
		moves := []tasks.Move{tasks.Finished(Token, tasks.Outcome{}, Epoch), tasks.CancelRequested("bob@example.org", Epoch)}
		together(2, func(i int) { _, errs[i] = s.Update(t.Context(), running, moves[i]) })
		end := get(t, s, running.ID)
		all = append(all, end)
		canceled := end.Status == tasks.StatusCanceled && errs[1] == nil
		finished := end.Status == tasks.StatusFinished && errors.Is(errs[1], tasks.ErrConflict)
		if errs[0] != nil || !canceled && !finished {
			t.Errorf("the task is %s; finish said %v, cancel said %v", end.Status, errs[0], errs[1])
		}
	}
	rightCounts(t, s, all, all[0].UserID)
}

func movesAtOnce(t *testing.T, s tasks.Store) {
	task := insert(t, s, Queued())
	together(40, func(i int) {
		_, err := s.Update(t.Context(), task, func(t *tasks.Task) error { t.Priority++; return nil })
		if err != nil {
			t.Errorf("move %d: %v", i, err)
		}
	})
	got := get(t, s, task.ID)
	if got.Priority != task.Priority+40 || got.Rev != task.Rev+40 {
		t.Errorf("priority %d at revision %d, want %d at %d", got.Priority, got.Rev, task.Priority+40, task.Rev+40)
	}
}
