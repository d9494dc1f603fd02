package imagingtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"filmroom/imaging"
)

// sorts are all orders of a library.
var sorts = []imaging.SeriesSort{
	"", imaging.NewestImported, imaging.OldestImported, imaging.NewestStudied, imaging.OldestStudied,
	imaging.ByPatientName, imaging.ByPatientNameUp,
}

var pageScenarios = []scenario{
	{"pages in each order hold every series once, however many are alike", pagesUnderTies},
	{"a page that holds the rest has no next one", func(t *testing.T, s imaging.Store) {
		l, all := libraryOfTies(t, s, 4)
		page := list(t, s, imaging.SeriesQuery{LibraryID: l, Limit: 4})
		same(t, "items", len(page.Items), len(all))
		same(t, "next cursor", page.NextCursor, "")
	}},
	{"the total counts all pages, on each page", func(t *testing.T, s imaging.Store) {
		l, _ := libraryOfTies(t, s, 5)
		first := list(t, s, imaging.SeriesQuery{LibraryID: l, Limit: 3})
		second := list(t, s, imaging.SeriesQuery{LibraryID: l, Limit: 3, Cursor: first.NextCursor})
		for _, page := range []imaging.SeriesPage{first, second} {
			same(t, "total", page.Total, 5)
			same(t, "total is exact", page.TotalExact, true)
		}
	}},
	{"a limit of 0 answers the count alone", func(t *testing.T, s imaging.Store) {
		l, _ := libraryOfTies(t, s, 3)
		page := list(t, s, imaging.SeriesQuery{LibraryID: l})
		same(t, "page", page, imaging.SeriesPage{Total: 3, TotalExact: true})
	}},
	{"a cursor stays valid while series come and go", func(t *testing.T, s imaging.Store) {
		l, all := libraryOfTies(t, s, 6)
		slices.SortFunc(all, inOrder(imaging.OldestImported))
		q := imaging.SeriesQuery{LibraryID: l, Sort: imaging.OldestImported, Limit: 3}
		first := list(t, s, q)
		must(t, s.DeleteSeries(t.Context(), l, first.Items[2].ID))
		Put(t, s, l, After(-time.Hour), func(*imaging.Series) {})
		q.Cursor = first.NextCursor
		same(t, "second page", list(t, s, q).Items, all[3:])
	}},
	{"a cursor of another order, or none at all, is refused", func(t *testing.T, s imaging.Store) {
		l, _ := libraryOfTies(t, s, 3)
		cursor := list(t, s, imaging.SeriesQuery{LibraryID: l, Sort: imaging.OldestStudied, Limit: 1}).NextCursor
		for _, q := range []imaging.SeriesQuery{
			{Sort: imaging.NewestStudied, Cursor: cursor}, {Sort: imaging.ByPatientName, Cursor: cursor},
			{Cursor: cursor}, {Cursor: "nonsense"}, {Cursor: "e30"}, {Cursor: cursor + "x"}, {Cursor: "😀"},
		} {
			q.LibraryID, q.Limit = l, 1
			if _, err := s.ListSeries(t.Context(), q); !errors.Is(err, imaging.ErrCursor) {
				t.Errorf("sort %q, cursor %q: error %v, want ErrCursor", q.Sort, q.Cursor, err)
			}
		}
	}},
}

func pagesUnderTies(t *testing.T, s imaging.Store) {
	l, all := libraryOfTies(t, s, 11)
	for _, sort := range sorts {
		want := slices.SortedFunc(slices.Values(all), inOrder(sort))
		for _, limit := range []int{1, 4} {
			var got []imaging.Series
			q := imaging.SeriesQuery{LibraryID: l, Sort: sort, Limit: limit}
			for range len(all) + 1 {
				page := list(t, s, q)
				got = append(got, page.Items...)
				if q.Cursor = page.NextCursor; q.Cursor == "" {
					break
				}
			}
			same(t, fmt.Sprintf("all pages of %d by %q", limit, sort), got, want)
		}
	}
}

// libraryOfTies makes a library of n series, of which many have the same moment, date and name.
func libraryOfTies(t testing.TB, s imaging.Store, n int) (string, []imaging.Series) {
	t.Helper()
	l := Library(t, s)
	var all []imaging.Series
	for i := range n {
		all = append(all, Put(t, s, l, After(time.Duration(i/4)*time.Minute), func(s *imaging.Series) {
			s.StudyDate = []string{"20260101", "20260102", ""}[i%3]
			s.PatientName = []string{"B^A", "A^B", "", "A^C"}[i%4]
		}))
	}
	return l, all
}

// inOrder compares series as an order lists them.
func inOrder(sort imaging.SeriesSort) func(a, b imaging.Series) int {
	up := func(a, b imaging.Series) int {
		switch sort {
		case imaging.NewestStudied, imaging.OldestStudied:
			return cmp.Or(cmp.Compare(a.StudyDate, b.StudyDate), cmp.Compare(a.ID, b.ID))
		case imaging.ByPatientName, imaging.ByPatientNameUp:
			return cmp.Or(cmp.Compare(a.PatientName, b.PatientName), cmp.Compare(a.ID, b.ID))
		default:
			return cmp.Or(a.ImportedAt.Compare(b.ImportedAt), cmp.Compare(a.ID, b.ID))
		}
	}
	if sort == "" || sort[0] == '-' {
		return func(a, b imaging.Series) int { return up(b, a) }
	}
	return up
}
