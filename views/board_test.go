package views

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"filmroom/tasks"
)

func TestChipsCountWhatTheyLeadTo(t *testing.T) {
	t.Parallel()
	got := chipLine(Chips(BoardQuery{}, galleryCounts()))
	if want := "[All 1,128] Running 2, Waiting 5, Finished 1,117, Failed 3, Interrupted 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	got = chipLine(Chips(BoardQuery{Kind: "export", Statuses: []tasks.Status{tasks.StatusCanceled}}, galleryCounts()))
	if want := "All 13, Running 0, Waiting 1, Finished 12, Failed 0, [Canceled 0]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The counters know nothing of words and dates: a number beside the chip would not be the list's.
func TestChipsOfASearchShowNoCounts(t *testing.T) {
	t.Parallel()
	for _, q := range []BoardQuery{{Words: "trial"}, {From: galleryNow}, {To: galleryNow}} {
		for _, c := range Chips(q, galleryCounts()) {
			if c.Count != "" {
				t.Errorf("%+v: %s says %s", q, c.Word, c.Count)
			}
		}
	}
}

func chipLine(chips []Chip) string {
	var b strings.Builder
	for i, c := range chips {
		word := c.Word + " " + c.Count
		if c.Current {
			word = "[" + word + "]"
		} else if i > 0 && !strings.HasSuffix(b.String(), "]") {
			word = ", " + word
		} else if i > 0 {
			word = " " + word
		}
		if c.Current && i > 0 {
			word = ", " + word
		}
		b.WriteString(word)
	}
	return b.String()
}

func TestAnEmptyBoardSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q      BoardQuery
		counts []tasks.Count
		want   EmptyCause
	}{
		"nothing was ever asked for": {BoardQuery{}, nil, NothingYet},
		"a filter leaves nothing":    {BoardQuery{Words: "x"}, galleryCounts(), NothingMatch},
		"everything is dismissed":    {BoardQuery{}, galleryCounts(), NothingMatch},
		"the list ended before":      {BoardQuery{Cursor: "x"}, galleryCounts(), NothingOnPage},
	} {
		if got := NewBoard(galleryFrame(), c.q, tasks.Page{}, c.counts).Empty; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTheTitleCountsRunningWorkWhateverTheListShows(t *testing.T) {
	t.Parallel()
	b := NewBoard(galleryFrame(), BoardQuery{Kind: "export", Dismissed: true}, tasks.Page{}, galleryCounts())
	if b.Title() != "(2) Board - Filmroom" || !strings.Contains(render(t, CountsPartial(b.Query, galleryCounts())), b.Title()) {
		t.Error(b.Title())
	}
}

func TestABoardsAddressHoldsItsFilters(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	q := BoardQuery{Statuses: []tasks.Status{tasks.StatusQueued, tasks.StatusPaused}, Kind: "import", Words: "a b&c", From: day, To: day, Dismissed: true, Sort: tasks.OldestFirst, Cursor: "x"}
	want := "?cursor=x&dismissed=true&from=2026-11-21&kind=import&q=a+b%26c&sort=createdAt&status=queued&status=paused&to=2026-11-21"
	if q.URL() != "/"+want || q.EventsURL() != "/events"+want {
		t.Errorf("%s, %s", q.URL(), q.EventsURL())
	}
	if (BoardQuery{}).URL() != "/" || q.Follows() || !(BoardQuery{Kind: "import"}).Follows() {
		t.Error("the plain board")
	}
}

// What identifies a patient or names a file is posted, so that no log, history or Referer holds it.
func TestSearchesForPeopleAndFilesAreInNoAddress(t *testing.T) {
	t.Parallel()
	if url := (LibraryQuery{Search: "marsh", Modality: "CT"}).URL(); url != "/library?modality=CT" {
		t.Error(url)
	}
	for name, page := range gallery() {
		if !strings.HasPrefix(name, "library") && !strings.HasPrefix(name, "task") {
			continue
		}
		for _, n := range elements(parse(t, render(t, page))) {
			method, _ := attr(n, "method")
			if method == "get" && n.Data == "form" {
				t.Errorf("%s: a form puts what is typed into the address", name)
			}
		}
	}
}

// Models are given the time, and nothing here waits for or reads anything.
func TestNothingReadsTheClockOrDoesIO(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "time.Now()") || strings.Contains(string(source), "time.Since(") {
			t.Errorf("%s reads the clock", name)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range file.Imports {
			if strings.Trim(imported.Path.Value, `"`) == "os" {
				t.Errorf("%s imports os", name)
			}
		}
	}
}
