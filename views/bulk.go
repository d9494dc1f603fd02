package views

import (
	"slices"

	"filmroom/tasks"
)

// A Bulk is what can be done at once to everything that matches the board's filter, on all pages.
type Bulk struct {
	All     string // "All 1,204"
	Actions []BulkAction
}

// A BulkAction is an action on all tasks that match and whose status allows it.
type BulkAction struct {
	Action tasks.BulkAction
	Word   string     // "Cancel 5 that wait or run"
	Query  BoardQuery // what is posted: the board's, with the statuses that allow the action
}

var bulkActions = []struct {
	action tasks.BulkAction
	verb   string
	which  string
	allows func(tasks.Status) bool
}{
	{tasks.BulkCancel, "Cancel", "that wait or run", func(s tasks.Status) bool { return !s.Final() }},
	{tasks.BulkRetry, "Retry", "that did not succeed", tasks.Status.Retryable},
	{tasks.BulkDismiss, "Dismiss", "that have ended", tasks.Status.Final},
}

// newBulk offers what makes sense: actions that some of what matches allows, where a filter is set and leaves two
// at least. Without one "everything" is seldom what anybody means.
func newBulk(q BoardQuery, page tasks.Page, counts []tasks.Count) Bulk {
	var b Bulk
	if page.Total < 2 || q.filters() == 0 {
		return b
	}
	b.All = "All " + Count(page.Total)
	if !page.TotalExact {
		b.All = "All, over " + Count(page.Total)
	}
	for _, a := range bulkActions {
		if a.action == tasks.BulkDismiss && q.Dismissed {
			continue
		}
		statuses := slices.DeleteFunc(bulkStatuses(q), func(s tasks.Status) bool { return !a.allows(s) })
		number := bulkNumber(q, page, counts, statuses)
		if len(statuses) == 0 || number == "" {
			continue
		}
		act := BulkAction{Action: a.action, Word: a.verb + " " + number + " " + a.which, Query: q.first()}
		act.Query.Statuses = statuses
		b.Actions = append(b.Actions, act)
	}
	return b
}

// counted reports whether the counters know how many tasks a board with a menu lists. Lists by end leave out what has
// none.
func (q BoardQuery) counted() bool {
	return q.filters() > 0 && !q.searched() && q.Sort != tasks.LastEndedFirst && q.Sort != tasks.FirstEndedFirst
}

// liveBulk is the menu of a board that is counted, as it is by now.
func liveBulk(q BoardQuery, counts []tasks.Count) Bulk {
	return newBulk(q, tasks.Page{Total: countOf(counts, q, q.Statuses...), TotalExact: true}, counts)
}

func bulkStatuses(q BoardQuery) []tasks.Status {
	if len(q.Statuses) > 0 {
		return slices.Clone(q.Statuses)
	}
	return slices.Clone(tasks.Statuses)
}

// bulkNumber words how many tasks an action would reach: "5", "all" where only the store could count them, ""
// when there is none. What the page counted goes before the counters, which may be some seconds old.
func bulkNumber(q BoardQuery, page tasks.Page, counts []tasks.Count, statuses []tasks.Status) string {
	switch {
	case len(statuses) == 0:
		return ""
	case len(statuses) == len(q.Statuses) && page.TotalExact:
		return Count(page.Total)
	case q.searched() || len(statuses) == len(q.Statuses):
		return "all"
	}
	if n := countOf(counts, q, statuses...); n > 0 {
		return Count(n)
	}
	return ""
}

func bulkRows(bulks, shown []tasks.Task, f Frame) []TaskRow {
	var rows []TaskRow
	for _, t := range bulks {
		if !slices.ContainsFunc(shown, func(s tasks.Task) bool { return s.ID == t.ID }) {
			rows = append(rows, NewTaskRow(t, f.Now))
		}
	}
	return rows
}
