package taskstest

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"filmroom/tasks"
)

var countScenarios = []scenario{
	{"counts are exact after every move", countsAreExact},
	{"everybody's counts are told apart by lane", countsOfEverybody},
	{"a refused or repeated write is not counted", countsIgnoreRefusals},
}

// counted is what [tasks.Store.Counts] must say, sorted.
func counted(all []tasks.Task, userID string) []tasks.Count {
	n := map[tasks.Count]int{}
	for _, t := range all {
		key := tasks.Count{Status: t.Status, Kind: t.Kind, Dismissed: t.Dismissed}
		if userID == "" {
			key.Lane = t.Lane
		}
		if userID == "" || t.UserID == userID {
			n[key]++
		}
	}
	var out []tasks.Count
	for key, n := range n {
		key.N = n
		out = append(out, key)
	}
	return sortedCounts(out)
}

func sortedCounts(in []tasks.Count) []tasks.Count {
	return slices.SortedFunc(slices.Values(in), func(a, b tasks.Count) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Lane, b.Lane),
			order(a.Dismissed, b.Dismissed))
	})
}

func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// rightCounts compares the store's counters with the records themselves, for each of the people and all.
func rightCounts(t testing.TB, s tasks.Store, all []tasks.Task, users ...string) {
	t.Helper()
	for _, user := range append(users, "") {
		got, err := s.Counts(t.Context(), user)
		if err != nil {
			t.Fatalf("counts of %q: %v", user, err)
		}
		same(t, "counts of "+user, counted(all, user), sortedCounts(got))
	}
}

func countsAreExact(t *testing.T, s tasks.Store) {
	ada, bob := insert(t, s, Queued(Of("ada"))), insert(t, s, Queued(Of("bob"), Kind("export")))
	rightCounts(t, s, []tasks.Task{ada, bob}, "ada", "bob")
	for _, m := range []tasks.Move{
		tasks.PausedBy("", Epoch), tasks.ResumedBy("", Epoch), tasks.Reprioritised("", 3, Epoch),
		tasks.Claimed(Lease(Token, Epoch), Epoch), tasks.PhaseEntered(Token, "packing", Epoch),
		tasks.HandedBack(Token, Epoch), tasks.Claimed(Lease(Token, Epoch), Epoch),
		tasks.Failed(Token, tasks.Failure{}, Epoch), tasks.DismissedBy("", true, Epoch), tasks.DismissedBy("", false, Epoch),
		tasks.RetriedByPerson("", 2, Epoch), tasks.Claimed(Lease(Token, Epoch), Epoch), tasks.CancelRequested("", Epoch),
		tasks.Finished(Token, tasks.Outcome{}, Epoch),
	} {
		ada = update(t, s, ada, m)
		rightCounts(t, s, []tasks.Task{ada, bob}, "ada", "bob")
	}
	claimed := claim(t, s, claiming("export", 1, Epoch))
	rightCounts(t, s, []tasks.Task{ada, claimed[0]}, "ada", "bob", "nobody")
}

func countsOfEverybody(t *testing.T, s tasks.Store) {
	all := population()
	all = append(all, Queued(Of("ada"), In("slow")), Queued(Of("bob"), In("slow")))
	insertAll(t, s, all...)
	rightCounts(t, s, all, "ada", "bob")
}

func countsIgnoreRefusals(t *testing.T, s tasks.Store) {
	task := insert(t, s, Queued(keyed("k", "")))
	_, err := s.Insert(t.Context(), Queued(keyed("k", "")))
	refused(t, "insert", err, tasks.ErrDuplicate)
	_, err = s.Update(t.Context(), task, tasks.ResumedBy("", Epoch))
	refused(t, "resume", err, tasks.ErrConflict)
	task = update(t, s, task, tasks.CancelRequested("", Epoch))
	_, err = s.Update(t.Context(), task, tasks.CancelRequested("", Epoch))
	refused(t, "cancel", err, tasks.ErrConflict)
	renew(t, s, After(time.Hour), Epoch, tasks.Beat{TaskID: task.ID, Token: Token})
	rightCounts(t, s, []tasks.Task{task}, task.UserID)
}
