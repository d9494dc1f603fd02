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
	Error   string      // why it was refused, for the person
	Sample  []TagChange // before and after for one file; none: not shown
}

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
	d := TakeOut{Frame: f, Looked: map[string]bool{}}
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
