package views

import (
	"slices"
	"strings"

	"filmroom/tasks"
)

// A Board is the page of tasks.
type Board struct {
	Frame
	Query   BoardQuery
	Chips   []Chip
	Kinds   []Option
	Rows    []TaskRow
	Empty   EmptyCause
	Shown   string // "20 of 128", "20 of more than 10,000"
	Newest  string // address of the first page, "" when this is it
	Older   string // address of the next page, "" when this is the last
	Clear   string // address without any filter
	Filters int    // how many filters are set
	Bulk    Bulk
	AKind   string    // of the desk's kinds, "import, export", where what was asked for is none
	Bulks   []TaskRow // the viewer's actions on many tasks that go on and are not among Rows
}

// A Chip is a filter by status, with the number of tasks behind it.
type Chip struct {
	Word    string
	URL     string
	Count   string // "" while a search narrows the list: the counts would not be the list's
	Current bool
	Status  Status // for the icon; zero for "All"
}

// An Option is a choice in a select.
type Option struct {
	Value, Word string
	Selected    bool
}

// An EmptyCause says why a list shows nothing.
type EmptyCause int

const (
	NotEmpty      EmptyCause = iota
	NothingYet               // there is nothing at all
	NothingMatch             // filters leave nothing
	NothingOnPage            // the list ended before this page
	NoSuchKind               // the kind that is asked for is none
)

// NewBoard makes the board's page of what the store returned for q, and of all the viewer's counts. bulks are the
// viewer's tasks of kind [tasks.BulkKind] that wait or run, so that their Undo is at hand whatever q leaves.
func NewBoard(f Frame, q BoardQuery, page tasks.Page, counts []tasks.Count, bulks ...tasks.Task) Board {
	f.section, f.stream = SectionBoard, q.EventsURL()
	f.title, f.running, f.placesTransfers = "Board", running(counts), true
	b := Board{Frame: f, Query: q, Chips: Chips(q, counts), Kinds: kindOptions(q, counts), Filters: q.filters()}
	for _, t := range page.Items {
		b.Rows = append(b.Rows, NewTaskRow(t, f.Now))
	}
	b.Bulk, b.Bulks = newBulk(q, page, counts), bulkRows(bulks, page.Items, f)
	b.Clear = BoardQuery{Sort: q.Sort}.URL()
	b.Shown = shown(len(b.Rows), page.Total, page.TotalExact)
	if q.Cursor != "" {
		b.Newest = q.first().URL()
	}
	if page.NextCursor != "" {
		next := q
		next.Cursor = page.NextCursor
		b.Older = next.URL()
	}
	b.Empty = b.emptyCause(counts)
	return b
}

// ExplainWaits says in the rows of the tasks that the board was made of why they wait.
func (b *Board) ExplainWaits(items []tasks.Task, q Queue) {
	for i := range b.Rows {
		b.Rows[i].ExplainWait(items[i], q)
	}
}

// KnowKinds tells an empty board which kinds there are. Tasks of a kind that an older version had are shown all the same.
func (b *Board) KnowKinds(kinds []string) {
	if b.Empty != NotEmpty && b.Query.Kind != "" && !slices.Contains(kinds, b.Query.Kind) {
		b.Empty, b.AKind = NoSuchKind, strings.Join(kinds, ", ")
	}
}

// running counts the tasks that run, whatever the list shows of them.
func running(counts []tasks.Count) int { return countOf(counts, BoardQuery{}, tasks.StatusProcessing) }

func boardTitle(counts []tasks.Count) string {
	return Frame{title: "Board", running: running(counts)}.Title()
}

func (b Board) emptyCause(counts []tasks.Count) EmptyCause {
	switch {
	case len(b.Rows) > 0:
		return NotEmpty
	case b.Query.Cursor != "":
		return NothingOnPage
	case b.Filters > 0 || len(counts) > 0:
		return NothingMatch
	default:
		return NothingYet
	}
}

func shown(here, total int, exact bool) string {
	switch {
	case !exact:
		return Count(here) + " of more than " + Count(total)
	case here == total:
		return Plural(total, "task")
	default:
		return Count(here) + " of " + Plural(total, "task")
	}
}

var chipStatuses = []struct {
	word     string
	statuses []tasks.Status
	rare     bool // not shown while there is none
}{
	{"All", nil, false},
	{"Running", []tasks.Status{tasks.StatusProcessing}, false},
	{"Waiting", []tasks.Status{tasks.StatusQueued, tasks.StatusPaused}, false},
	{"Finished", []tasks.Status{tasks.StatusFinished}, false},
	{"Failed", []tasks.Status{tasks.StatusError}, false},
	{"Interrupted", []tasks.Status{tasks.StatusInterrupted}, true},
	{"Canceled", []tasks.Status{tasks.StatusCanceled}, true},
}

// Chips are the filters by status for a board in state q.
func Chips(q BoardQuery, counts []tasks.Count) []Chip {
	var chips []Chip
	for _, c := range chipStatuses {
		to := q.first()
		to.Statuses = c.statuses
		chip := Chip{Word: c.word, URL: to.URL(), Current: slices.Equal(q.Statuses, c.statuses)}
		if c.statuses != nil {
			chip.Status = NewStatus(c.statuses[0])
		}
		n := countOf(counts, q, c.statuses...)
		if !q.searched() {
			chip.Count = Count(n)
		}
		if n > 0 || chip.Current || !c.rare {
			chips = append(chips, chip)
		}
	}
	return chips
}

// countOf sums the tasks of the given statuses (none: all) that q's kind and dismissed leave.
func countOf(counts []tasks.Count, q BoardQuery, statuses ...tasks.Status) int {
	n := 0
	for _, c := range counts {
		if (statuses == nil || slices.Contains(statuses, c.Status)) &&
			(q.Kind == "" || c.Kind == q.Kind) && c.Dismissed == q.Dismissed {
			n += c.N
		}
	}
	return n
}

func kindOptions(q BoardQuery, counts []tasks.Count) []Option {
	kinds := []string{}
	for _, c := range counts {
		kinds = append(kinds, c.Kind)
	}
	if q.Kind != "" {
		kinds = append(kinds, q.Kind)
	}
	slices.Sort(kinds)
	options := []Option{{Word: "Every kind", Selected: q.Kind == ""}}
	for _, k := range slices.Compact(kinds) {
		options = append(options, Option{Value: k, Word: KindWord(k), Selected: k == q.Kind})
	}
	return options
}

// searched reports whether q narrows the list by what the counters do not know.
func (q BoardQuery) searched() bool { return q.Words != "" || !q.From.IsZero() || !q.To.IsZero() }

// narrowed reports whether a filter is set that stands in the folded part of the form.
func (q BoardQuery) narrowed() bool { return !q.From.IsZero() || !q.To.IsZero() || q.Dismissed }

func (q BoardQuery) filters() int {
	n := 0
	for _, set := range []bool{len(q.Statuses) > 0, q.Kind != "", q.Words != "", !q.From.IsZero(), !q.To.IsZero(), q.Dismissed} {
		if set {
			n++
		}
	}
	return n
}

func (q BoardQuery) first() BoardQuery {
	q.Cursor = ""
	return q
}

// Follows reports whether a list in this state begins with what was asked for last, so that new tasks
// belong at its top.
func (q BoardQuery) Follows() bool {
	return q.Cursor == "" && (q.Sort == "" || q.Sort == tasks.NewestFirst)
}

func joined(ids []string) string { return strings.Join(ids, " ") }
