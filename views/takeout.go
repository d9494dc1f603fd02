package views

import "filmroom/imaging"

// A TakeOut is the dialog in which chosen series are taken out.
type TakeOut struct {
	Frame
	Series  []SeriesRow
	Suspect []SeriesRow // of them, those that may show a name in their pixels
	Summary string      // "3 series · 812 images · 420 MB"
	Name    string      // what the person typed, or the proposal
	Looked  map[string]bool
	Kept    map[string]bool   // options that are on
	Dates   string            // what becomes of dates: "" or an option
	Prefix  string            // of pseudonyms
	Key     string            // name of a key
	Painted map[string]string // series -> rectangles as typed, "x y width height; ..."
	Error   string            // why it was refused, for the person
	Sample  []TagChange       // before and after for one file; none: not shown
}

// keepable are the options that keep more, with their names for people; those about dates stand apart.
var keepable = []struct{ Option, Name string }{
	{"cleanDescriptors", "Descriptions, without what identifies"},
	{"cleanStructuredContent", "Reports and measurements, without what identifies"},
	{"cleanGraphics", "Annotations and overlays, without what identifies"},
	{"retainPatientCharacteristics", "Sex, age, size and weight"},
	{"retainDevice", "Device names and serial numbers"},
	{"retainInstitution", "Institution"},
	{"retainSafePrivate", "Private elements known to be safe"},
	{"retainUids", "UIDs"},
}

// dateChoices are what can become of dates.
var dateChoices = []struct{ Option, Name string }{
	{"", "Removed"}, {"shiftDates", "Moved, by one offset for each patient"}, {"retainFullDates", "Kept"},
}

// PaintField is the form's field for the rectangles of a series.
func PaintField(seriesID string) string { return "blackout." + seriesID }

// A TagChange is an element before and after de-identification.
type TagChange struct {
	Tag    string // (0010,0010)
	Name   string // Patient's Name
	Before string
	After  string // "" when Removed
	Gone   bool
}

// NewTakeOut makes the dialog for a selection.
func NewTakeOut(f Frame, series []imaging.Series) TakeOut {
	f.title, f.section = "Take out", SectionLibrary
	d := TakeOut{Frame: f, Looked: map[string]bool{}, Kept: map[string]bool{}, Painted: map[string]string{}}
	images, bytes := 0, int64(0)
	for _, s := range series {
		row := NewSeriesRow(s, f.Now)
		d.Series = append(d.Series, row)
		if row.BurnedIn {
			d.Suspect = append(d.Suspect, row)
		}
		images, bytes = images+s.Instances, bytes+s.Bytes
	}
	d.Summary = Plural(len(series), "series") + " · " + Plural(images, "image") + " · " + Size(bytes)
	d.Name = "Take-out, " + Plural(len(series), "series")
	return d
}
