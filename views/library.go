package views

import (
	"strings"
	"time"

	"filmroom/imaging"
)

// A Library is the page of series, grouped by study.
type Library struct {
	Frame
	Query      LibraryQuery
	Studies    []Study
	Modalities []Option
	Sorts      []Option
	Empty      EmptyCause
	Shown      string
	Next       string // cursor of the next page, "" on the last
	Filters    int
}

// A Study is a group of series that belong together. Names and dates are those of its first series.
type Study struct {
	Key         string // for element ids
	Patient     string
	PatientID   string
	Birth       string
	Date        string
	Description string
	Accession   string
	Series      []SeriesRow
}

// A SeriesRow is one series.
type SeriesRow struct {
	ID          string
	Patient     string
	PatientID   string
	StudyDate   string
	Modality    string
	Description string
	BodyPart    string
	Number      int
	Images      string // "120 images"
	Instances   int
	Size        string
	Bytes       int64
	BurnedIn    bool // it may show names in its pixels: needs a look before it goes out
	Imported    When
	TaskURL     string
}

// NewSeriesRow shows one series.
func NewSeriesRow(s imaging.Series, now time.Time) SeriesRow {
	row := SeriesRow{
		ID: s.ID, Patient: personName(s.PatientName), PatientID: s.PatientID, StudyDate: date(s.StudyDate), Modality: s.Modality,
		Description: s.Description, BodyPart: s.BodyPart, Number: s.SeriesNumber,
		Images: Plural(s.Instances, "image"), Instances: s.Instances, Size: Size(s.Bytes), Bytes: s.Bytes,
		BurnedIn: mayShowText(s), Imported: NewWhen(s.ImportedAt, now),
	}
	if s.TaskID != "" {
		row.TaskURL = TaskURL(s.TaskID)
	}
	if row.Description == "" {
		row.Description = "No description"
	}
	return row
}

// mayShowText reports whether a series may carry a patient's name in its pixels: it says so, or it is of a
// sort that often does and does not say no.
func mayShowText(s imaging.Series) bool {
	switch s.BurnedIn {
	case "YES":
		return true
	case "NO":
		return false
	}
	switch s.Modality {
	case "US", "OT", "SC", "XC", "ES", "DOC":
		return true
	}
	return false
}

// KnownModalities are what the library offers as a filter, DICOM's codes with plain words.
var KnownModalities = []Option{
	{Value: "CT", Word: "CT"}, {Value: "MR", Word: "MR"}, {Value: "US", Word: "Ultrasound"}, {Value: "CR", Word: "CR"},
	{Value: "DX", Word: "DX"}, {Value: "MG", Word: "Mammography"}, {Value: "PT", Word: "PET"}, {Value: "NM", Word: "Nuclear medicine"},
	{Value: "XA", Word: "Angiography"}, {Value: "RF", Word: "Fluoroscopy"}, {Value: "RTSTRUCT", Word: "RT structures"},
	{Value: "SR", Word: "Report (SR)"}, {Value: "OT", Word: "Other"},
}

var librarySorts = []Option{
	{Value: string(imaging.NewestImported), Word: "Brought in last"}, {Value: string(imaging.OldestImported), Word: "Brought in first"},
	{Value: string(imaging.NewestStudied), Word: "Newest study"}, {Value: string(imaging.OldestStudied), Word: "Oldest study"},
	{Value: string(imaging.ByPatientName), Word: "Patient, A to Z"}, {Value: string(imaging.ByPatientNameUp), Word: "Patient, Z to A"},
}

// NewLibrary makes the library's page of what the store returned for q.
func NewLibrary(f Frame, q LibraryQuery, page imaging.SeriesPage) Library {
	f.title, f.section = "Library", SectionLibrary
	l := Library{
		Frame: f, Query: q, Next: page.NextCursor, Filters: q.filters(),
		Studies:    groupByStudy(page.Items, f.Now),
		Modalities: choose(append([]Option{{Word: "Every modality"}}, KnownModalities...), q.Modality),
		Sorts:      choose(librarySorts, orElse(string(q.Sort), string(imaging.NewestImported))),
	}
	l.Shown = Plural(page.Total, "series")
	if !page.TotalExact {
		l.Shown = "more than " + l.Shown
	}
	switch {
	case len(page.Items) > 0:
	case q.Cursor != "":
		l.Empty = NothingOnPage
	case l.Filters > 0:
		l.Empty = NothingMatch
	default:
		l.Empty = NothingYet
	}
	return l
}

func groupByStudy(items []imaging.Series, now time.Time) []Study {
	var studies []Study
	at := map[string]int{}
	for _, s := range items {
		i, ok := at[s.StudyUID]
		if !ok {
			i = len(studies)
			at[s.StudyUID] = i
			studies = append(studies, Study{
				Key: s.ID, Patient: personName(s.PatientName), PatientID: s.PatientID, Birth: date(s.PatientBirth),
				Date: date(s.StudyDate), Description: s.StudyDesc, Accession: s.Accession,
			})
		}
		studies[i].Series = append(studies[i].Series, NewSeriesRow(s, now))
	}
	return studies
}

// personName words a DICOM person name (PN, PS3.5 section 6.2.1): "Family^Given^Middle^Prefix^Suffix", up to
// three such groups divided by "=", of which the second is the name as its bearer writes it.
func personName(pn string) string {
	groups := strings.SplitN(pn, "=", 3)
	name := nameGroup(groups[0])
	if len(groups) > 1 {
		written := nameGroup(groups[1])
		switch {
		case name == "":
			return written
		case written != "":
			return name + " (" + written + ")"
		}
	}
	return name
}

func nameGroup(group string) string {
	part := strings.Split(group, "^")
	for len(part) < 5 {
		part = append(part, "")
	}
	given := strings.Join(strings.Fields(part[3]+" "+part[1]+" "+part[2]+" "+part[4]), " ")
	family := strings.TrimSpace(part[0])
	if family == "" || given == "" {
		return family + given
	}
	return family + ", " + given
}

func (q LibraryQuery) filters() int {
	n := 0
	for _, v := range []string{q.Modality, q.From, q.To, q.TaskID, q.Search} {
		if v != "" {
			n++
		}
	}
	return n
}

// choose marks the option with this value.
func choose(options []Option, value string) []Option {
	chosen := make([]Option, 0, len(options)+1)
	found := false
	for _, o := range options {
		o.Selected = o.Value == value
		found = found || o.Selected
		chosen = append(chosen, o)
	}
	if !found {
		chosen = append(chosen, Option{Value: value, Word: value, Selected: true})
	}
	return chosen
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// A SeriesView is one series, large.
type SeriesView struct {
	Frame
	Series SeriesRow
}

// NewSeriesView shows one series.
func NewSeriesView(f Frame, s imaging.Series) SeriesView {
	f.title, f.section = "Series", SectionLibrary
	return SeriesView{Frame: f, Series: NewSeriesRow(s, f.Now)}
}
