package taskstest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"filmroom/tasks"
)

var listScenarios = []scenario{
	{"every filter under every sort finds what it names", everyFilterAndSort},
	{"pages follow one another under ties", pagesUnderTies},
	{"tasks that come while paging neither repeat nor push out others", insertsWhilePaging},
	{"words match the beginnings of words", wordPrefixes},
	{"rows leave out what only the whole record needs", rowsAreNarrow},
	{"a cursor of another list is refused", foreignCursors},
	{"a list follows every move", listFollowsMoves},
	{"a list begins with the tasks that ended at a moment", listFromAnEnd},
	{"what was deleted is in no list, whatever came after it", listsAfterDeletions},
}

var sorts = []tasks.Sort{"", tasks.NewestFirst, tasks.OldestFirst, tasks.LastEndedFirst, tasks.FirstEndedFirst}

// population is a mix of tasks of two people in which every filter splits, with many ties.
func population() []tasks.Task {
	var all []tasks.Task
	users, kinds := []string{"ada", "bob"}, []string{"import", "export", "sample"}
	for i := range 84 {
		status := tasks.Statuses[i%len(tasks.Statuses)]
		t := InStatus(status, Of(users[i%2]), Kind(kinds[i%3]), Named(fmt.Sprintf("Study %d of Éva", i%5)))
		t.CreatedAt = Epoch.Add(time.Duration(i/6) * time.Second)
		if status.Final() {
			t.EndedAt = Epoch.Add(time.Duration(100-i/9) * time.Second)
			t.Dismissed = i%4 == 0
		}
		all = append(all, t)
	}
	return all
}

// selected is what a list must contain, in order: the definition that stores are held against.
func selected(all []tasks.Task, q tasks.Query) []tasks.Task {
	var out []tasks.Task
	for _, t := range all {
		if matches(&t, q) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b tasks.Task) int {
		if q.Sort == tasks.LastEndedFirst || q.Sort == tasks.FirstEndedFirst {
			return cmp.Or(a.EndedAt.Compare(b.EndedAt), cmp.Compare(a.ID, b.ID))
		}
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	if q.Sort == "" || strings.HasPrefix(string(q.Sort), "-") {
		slices.Reverse(out)
	}
	return out
}

func matches(t *tasks.Task, q tasks.Query) bool {
	byEnd := q.Sort == tasks.LastEndedFirst || q.Sort == tasks.FirstEndedFirst
	return (q.UserID == "" || t.UserID == q.UserID) &&
		(len(q.Statuses) == 0 || slices.Contains(q.Statuses, t.Status)) &&
		(q.Kind == "" || t.Kind == q.Kind) &&
		(q.Lane == "" || t.Lane == q.Lane) &&
		(q.From.IsZero() || !t.CreatedAt.Before(q.From)) &&
		(q.To.IsZero() || t.CreatedAt.Before(q.To)) &&
		(q.Dismissed == nil || t.Dismissed == *q.Dismissed) &&
		(!byEnd || !t.EndedAt.IsZero()) &&
		(q.Sort != tasks.FirstEndedFirst || !t.EndedAt.Before(q.EndedFrom)) &&
		!slices.ContainsFunc(q.Words, func(w string) bool {
			return !slices.ContainsFunc(t.SearchWords(), func(have string) bool { return strings.HasPrefix(have, w) })
		})
}

// queries combines the filters, so that each is tried alone and together with others.
func queries() []tasks.Query {
	edits := []func(*tasks.Query){
		func(q *tasks.Query) { q.Statuses = []tasks.Status{tasks.StatusFinished} },
		func(q *tasks.Query) { q.Statuses = []tasks.Status{tasks.StatusQueued, tasks.StatusError} },
		func(q *tasks.Query) { q.Kind = "export" },
		func(q *tasks.Query) { q.Lane = "sample" },
		func(q *tasks.Query) { q.Words = []string{"stu", "3"} },
		func(q *tasks.Query) { q.From = After(3 * time.Second) },
		func(q *tasks.Query) { q.To = After(9 * time.Second) },
		func(q *tasks.Query) { q.Dismissed = pointer(false) },
		func(q *tasks.Query) { q.Dismissed = pointer(true) },
	}
	var out []tasks.Query
	for _, user := range []string{"ada", "", "nobody"} {
		out = append(out, tasks.Query{UserID: user})
		for i := range edits {
			for j := i; j < len(edits); j++ {
				q := tasks.Query{UserID: user}
				edits[i](&q)
				edits[j](&q)
				out = append(out, q)
			}
		}
	}
	return out
}

func everyFilterAndSort(t *testing.T, s tasks.Store) {
	all := population()
	insertAll(t, s, all...)
	for i, q := range queries() {
		q.Sort = sorts[i%len(sorts)] // five sorts and 46 queries a person: each filter meets each sort
		want := selected(all, q)
		what := fmt.Sprintf("%+v", q)
		count := list(t, s, q)
		if count.Total != len(want) || !count.TotalExact || len(count.Items) != 0 || count.NextCursor != "" {
			t.Errorf("%s: limit 0 gave total %d (exact %v), %d items, want %d", what, count.Total, count.TotalExact, len(count.Items), len(want))
		}
		q.Limit = 100
		page := list(t, s, q)
		same(t, what, idsOf(want), idsOf(page.Items))
		if page.Total != len(want) || page.NextCursor != "" {
			t.Errorf("%s: total %d, cursor %q, want %d and no cursor", what, page.Total, page.NextCursor, len(want))
		}
	}
}

// pages reads a whole list page by page.
func pages(t testing.TB, s tasks.Store, q tasks.Query, between func(page int)) []tasks.Task {
	t.Helper()
	var all []tasks.Task
	for n := range 1000 {
		page := list(t, s, q)
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all
		}
		if len(page.Items) != q.Limit {
			t.Fatalf("page %d of %+v has %d items and a cursor, want %d items", n, q, len(page.Items), q.Limit)
		}
		q.Cursor = page.NextCursor
		between(n)
	}
	t.Fatalf("%+v never came to its last page", q)
	return nil
}

func pagesUnderTies(t *testing.T, s tasks.Store) {
	all := population()
	for i := range all { // not in the order of their ids
		insert(t, s, all[(i*5+3)%len(all)])
	}
	for _, sort := range sorts {
		for _, q := range []tasks.Query{
			{UserID: "ada", Sort: sort, Limit: 7},
			{UserID: "ada", Sort: sort, Limit: 6, Statuses: []tasks.Status{tasks.StatusFinished, tasks.StatusError}},
			{UserID: "bob", Sort: sort, Limit: 5, Words: []string{"éva"}, Kind: "import"},
			{Sort: sort, Limit: 9, From: After(2 * time.Second), NoTotal: true},
		} {
			got := pages(t, s, q, func(int) {})
			same(t, fmt.Sprintf("%+v", q), idsOf(selected(all, q)), idsOf(got))
		}
	}
}

func insertsWhilePaging(t *testing.T, s tasks.Store) {
	all := population()
	insertAll(t, s, all...)
	q := tasks.Query{UserID: "ada", Limit: 6}
	got := pages(t, s, q, func(page int) {
		newer, tie := Queued(Of("ada")), Queued(Of("ada"))
		newer.CreatedAt = After(time.Hour)
		tie.CreatedAt = After(13 * time.Second) // the newest second of the population, which is behind us
		insertAll(t, s, newer, tie)
	})
	same(t, "newest first", idsOf(selected(all, q)), idsOf(got))
}

func wordPrefixes(t *testing.T, s tasks.Store) {
	a := insert(t, s, Queued(Named("Knee MRI, 2nd look")))
	b := insert(t, s, Queued(Named("ÉTUDE du genou_20%")))
	for _, c := range []struct {
		words string
		want  []string
	}{
		{"knee", []string{a.ID}}, {"kn", []string{a.ID}}, {"nee", nil}, {"mr 2", []string{a.ID}},
		{"knee du", nil}, {"étu", []string{b.ID}}, {"etu", nil}, {"20", []string{b.ID}}, {"2", []string{b.ID, a.ID}},
		{"imp", []string{b.ID, a.ID}}, {"knee kn k", []string{a.ID}}, {"kneeling", nil},
	} {
		page := list(t, s, tasks.Query{UserID: a.UserID, Words: tasks.Words(c.words), Limit: 9})
		same(t, c.words, c.want, idsOf(page.Items))
	}
}

func rowsAreNarrow(t *testing.T, s tasks.Store) {
	want := Filled()
	insert(t, s, want)
	want.Journal, want.Failures, want.Sealed, want.Checkpoint = nil, nil, nil, nil
	same(t, "the row", []tasks.Task{want}, list(t, s, tasks.Query{UserID: want.UserID, Limit: 1}).Items)
}

func foreignCursors(t *testing.T, s tasks.Store) {
	insertAll(t, s, population()...)
	cursor := list(t, s, tasks.Query{UserID: "ada", Limit: 1}).NextCursor
	for _, q := range []tasks.Query{
		{UserID: "ada", Limit: 1, Cursor: "nonsense"},
		{UserID: "ada", Limit: 1, Cursor: cursor + "x"},
		{UserID: "ada", Limit: 1, Cursor: cursor, Sort: tasks.OldestFirst},
		{UserID: "ada", Limit: 1, Cursor: cursor, Sort: tasks.LastEndedFirst},
	} {
		_, err := s.List(t.Context(), q)
		refused(t, fmt.Sprintf("%+v", q), err, tasks.ErrCursor)
	}
}

func listFromAnEnd(t *testing.T, s tasks.Store) {
	all := population()
	insertAll(t, s, all...)
	ended := selected(all, tasks.Query{Sort: tasks.FirstEndedFirst})
	for _, from := range []time.Time{ended[0].EndedAt, ended[len(ended)/2].EndedAt, ended[len(ended)-1].EndedAt,
		ended[len(ended)/2].EndedAt.Add(time.Microsecond), ended[len(ended)-1].EndedAt.Add(time.Hour)} {
		for _, user := range []string{"ada", ""} {
			q := tasks.Query{UserID: user, Sort: tasks.FirstEndedFirst, EndedFrom: from, Limit: 3, NoTotal: true}
			same(t, fmt.Sprintf("%+v", q), idsOf(selected(all, q)), idsOf(pages(t, s, q, func(int) {})))
		}
	}
}

func listFollowsMoves(t *testing.T, s tasks.Store) {
	task := insert(t, s, Queued())
	for _, m := range []tasks.Move{
		tasks.PausedBy("", Epoch), tasks.ResumedBy("", Epoch), tasks.Claimed(Lease(Token, Epoch), Epoch),
		tasks.Failed(Token, tasks.Failure{}, Epoch), tasks.DismissedBy("", true, Epoch), tasks.RetriedByPerson("", 1, Epoch),
	} {
		task = update(t, s, task, m)
		for _, status := range tasks.Statuses {
			q := tasks.Query{UserID: task.UserID, Statuses: []tasks.Status{status}, Dismissed: pointer(task.Dismissed), Limit: 2}
			same(t, "tasks that are "+string(status), idsOf(selected([]tasks.Task{task}, q)), idsOf(list(t, s, q).Items))
		}
	}
}

func listsAfterDeletions(t *testing.T, s tasks.Store) {
	all := population()
	insertAll(t, s, all...)
	kept := slices.DeleteFunc(slices.Clone(all), func(task tasks.Task) bool {
		return s.Delete(t.Context(), task) == nil
	})
	later := []tasks.Task{InStatus(tasks.StatusFinished, Of("ada"), Named("Study 3 of Zoë")), Queued(Of("ada"), Kind("export"))}
	insertAll(t, s, later...)
	kept = append(kept, later...)
	for i, q := range queries() {
		q.Sort, q.Limit = sorts[i%len(sorts)], 100
		page := list(t, s, q)
		same(t, fmt.Sprintf("%+v", q), idsOf(selected(kept, q)), idsOf(page.Items))
		if page.Total != len(page.Items) {
			t.Errorf("%+v: total %d, want %d", q, page.Total, len(page.Items))
		}
	}
}
