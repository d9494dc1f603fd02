package views

import "filmroom/imaging"

// A Deletion is the dialog that asks whether chosen series shall go.
type Deletion struct {
	Frame
	Series  []SeriesRow
	Title   string // "Delete 3 series"
	Summary string // "3 series · 812 images · 420 MB"
}

// NewDeletion makes the dialog for a selection.
func NewDeletion(f Frame, series []imaging.Series) Deletion {
	f.title, f.section = "Delete series", SectionLibrary
	d := Deletion{Frame: f, Title: "Delete " + Plural(len(series), "series"), Summary: sumOf(series)}
	for _, s := range series {
		d.Series = append(d.Series, NewSeriesRow(s, f.Now))
	}
	return d
}
