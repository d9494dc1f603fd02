package imagingtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"filmroom/imaging"
)

var seriesScenarios = []scenario{
	{"a series is found in its library by its id", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		want := Put(t, s, l, Epoch, func(*imaging.Series) {})
		got, err := s.Series(t.Context(), l, want.ID)
		must(t, err)
		same(t, "series", got, want)
	}},
	{"an unknown series and somebody else's are not found alike", func(t *testing.T, s imaging.Store) {
		mine, yours := Library(t, s), Library(t, s)
		theirs := Put(t, s, yours, Epoch, func(*imaging.Series) {})
		for _, id := range []string{"01NONE", theirs.ID, theirs.SeriesUID, ""} {
			_, err := s.Series(t.Context(), mine, id)
			if !errors.Is(err, imaging.ErrNotFound) {
				t.Errorf("series %q: error %v, want ErrNotFound", id, err)
			}
		}
	}},
	{"facts with quotes, accents, marks and emoji come back as they are", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		for _, name := range []string{`O'Brien^"Bob"`, "Müller^Jörg", "Yamada^Tarou=山田^太郎=やまだ^たろう", "a\u202eb", "😀", "%_"} {
			got := Put(t, s, l, Epoch, func(s *imaging.Series) { s.PatientName, s.Description = name, name })
			same(t, "patient name", got.PatientName, name)
			same(t, "description", got.Description, name)
		}
	}},
	{"a library lists its own series alone", func(t *testing.T, s imaging.Store) {
		mine, yours := Library(t, s), Library(t, s)
		want := Put(t, s, mine, Epoch, func(*imaging.Series) {})
		Put(t, s, yours, Epoch, func(*imaging.Series) {})
		page := list(t, s, imaging.SeriesQuery{LibraryID: mine, Limit: 10})
		same(t, "page", page, imaging.SeriesPage{Items: []imaging.Series{want}, Total: 1, TotalExact: true})
	}},
	{"an empty library has an empty page", func(t *testing.T, s imaging.Store) {
		page := list(t, s, imaging.SeriesQuery{LibraryID: Library(t, s), Limit: 10})
		same(t, "page", page, imaging.SeriesPage{TotalExact: true})
	}},
}

var filterScenarios = []scenario{
	{"each filter selects what it says, and all of them together", filtersSeries},
	{"a series of another library is not found by its id or UID", func(t *testing.T, s imaging.Store) {
		mine, yours := Library(t, s), Library(t, s)
		theirs := Put(t, s, yours, Epoch, func(*imaging.Series) {})
		same(t, "by id", found(t, s, imaging.SeriesQuery{LibraryID: mine, IDs: []string{theirs.ID}}), []string{})
		same(t, "by UID", found(t, s, imaging.SeriesQuery{LibraryID: mine, SeriesUID: theirs.SeriesUID}), []string{})
	}},
}

// filtersSeries asks a library of four for each filter of [imaging.SeriesQuery] in turn.
func filtersSeries(t *testing.T, s imaging.Store) {
	l := Library(t, s)
	ada := Put(t, s, l, Epoch, func(s *imaging.Series) {
		s.SeriesUID, s.StudyUID = "1.1", "1"
	})
	jorg := Put(t, s, l, After(time.Hour), func(s *imaging.Series) {
		s.SeriesUID, s.StudyUID, s.PatientName, s.PatientID = "1.2", "2", "Müller^Jörg", "p-17"
		s.Modality, s.StudyDate, s.Description, s.Accession = "MR", "20260105", "T2 sag", "B-12"
	})
	Put(t, s, l, After(2*time.Hour), func(s *imaging.Series) {
		s.SeriesUID, s.StudyUID, s.PatientName, s.PatientID = "1.3", "2", "山田^太郎", "%"
		s.Modality, s.StudyDate, s.Description, s.BodyPart = "MR", "", "T1", "HEAD"
	})
	Put(t, s, l, After(3*time.Hour), func(s *imaging.Series) {
		s.SeriesUID, s.StudyUID, s.PatientName, s.PatientID = "1.4", "4", ".*", "P-170"
		s.Modality, s.StudyDate, s.StudyDesc, s.Description = "US", "20251231", "", "50%_off"
	})
	for _, c := range []struct {
		what string
		q    imaging.SeriesQuery
		want []string
	}{
		{"no filter", imaging.SeriesQuery{}, []string{"1.1", "1.2", "1.3", "1.4"}},
		{"one id", imaging.SeriesQuery{IDs: []string{ada.ID}}, []string{"1.1"}},
		{"two ids and an unknown one", imaging.SeriesQuery{IDs: []string{jorg.ID, "01NONE", ada.ID}}, []string{"1.1", "1.2"}},
		{"modality", imaging.SeriesQuery{Modality: "MR"}, []string{"1.2", "1.3"}},
		{"study date from", imaging.SeriesQuery{From: "20260102"}, []string{"1.1", "1.2"}},
		{"study date to leaves out those without one", imaging.SeriesQuery{To: "20260102"}, []string{"1.1", "1.4"}},
		{"study date from and to, both inclusive", imaging.SeriesQuery{From: "20260102", To: "20260105"}, []string{"1.1", "1.2"}},
		{"the import", imaging.SeriesQuery{TaskID: jorg.TaskID}, []string{"1.2"}},
		{"patient id, exactly", imaging.SeriesQuery{PatientID: "P-17"}, []string{"1.1"}},
		{"patient id is no pattern", imaging.SeriesQuery{PatientID: "%"}, []string{"1.3"}},
		{"beginning of the patient name in any case", imaging.SeriesQuery{PatientName: "lOVEL"}, []string{"1.1"}},
		{"any case beyond ASCII", imaging.SeriesQuery{PatientName: "MÜLLER^J"}, []string{"1.2"}},
		{"beginning, not part, of the patient name", imaging.SeriesQuery{PatientName: "velace"}, nil},
		{"patient name is no pattern", imaging.SeriesQuery{PatientName: "."}, []string{"1.4"}},
		{"study UID", imaging.SeriesQuery{StudyUID: "2"}, []string{"1.2", "1.3"}},
		{"series UID", imaging.SeriesQuery{SeriesUID: "1.4"}, []string{"1.4"}},
		{"beginning of a word", imaging.SeriesQuery{Words: []string{"jö"}}, []string{"1.2"}},
		{"a word of any script", imaging.SeriesQuery{Words: []string{"太"}}, []string{"1.3"}},
		{"a word inside is no beginning", imaging.SeriesQuery{Words: []string{"xial"}}, nil},
		{"all words must be found", imaging.SeriesQuery{Words: []string{"t", "head"}}, []string{"1.3"}},
		{"words of different facts", imaging.SeriesQuery{Words: []string{"mr", "17", "sag", "chest", "12"}}, []string{"1.2"}},
		{"words of the study description", imaging.SeriesQuery{Words: []string{"thor"}}, []string{"1.1", "1.2", "1.3"}},
		{"filters together", imaging.SeriesQuery{Modality: "MR", StudyUID: "2", From: "20260101", Words: []string{"t2"}}, []string{"1.2"}},
		{"filters that exclude each other", imaging.SeriesQuery{Modality: "MR", StudyUID: "1"}, nil},
	} {
		c.q.LibraryID = l
		same(t, c.what, found(t, s, c.q), c.want)
	}
}

// found returns the UIDs of the series that q selects, and holds its count against them under each sort.
func found(t *testing.T, s imaging.Store, q imaging.SeriesQuery) []string {
	t.Helper()
	q.Limit = 100
	uids := seriesUIDs(list(t, s, q).Items)
	for _, sort := range sorts {
		q.Sort = sort
		page := list(t, s, q)
		same(t, fmt.Sprintf("items by %q", sort), seriesUIDs(page.Items), uids)
		same(t, fmt.Sprintf("total by %q", sort), page.Total, len(uids))
	}
	return uids
}
