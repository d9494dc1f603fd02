package views

import (
	"strconv"
	"strings"

	"filmroom/imaging"
)

// A TakeOut is the dialog in which chosen series are taken out, with what was typed into it.
type TakeOut struct {
	Frame
	Series  []SeriesRow
	Suspect []Suspect // of them, those that may show a name in their pixels
	Summary string    // "3 series · 812 images · 420 MB"
	Name    string    // what the person typed, or the proposal
	Looked  map[string]bool
	Kept    map[string]bool // options that are on
	Dates   string          // what becomes of dates: "" or an option
	Prefix  string          // of pseudonyms
	Key     string          // name of a key
	Painted map[string][]Rectangle
	Refused bool              // the take-out was refused
	Errors  map[string]string // what is wrong, by where it stands in the dialog; see [TakeOut.Blame]
	Dry     DryRun
}

// A Suspect is a series whose pixels a person should look at, with the picture to look at.
type Suspect struct {
	SeriesRow
	Columns, Rows int  // pixels of its first image; 0: not known
	Last          int  // index of its last image, or of the last frame of its only one
	Unpaintable   bool // its pixels are compressed in a way that rectangles cannot be painted into
}

// A Rectangle is one to paint over, as typed: pixels from the upper left corner.
type Rectangle struct{ X, Y, Width, Height string }

// A DryRun is what would leave.
type DryRun struct {
	Shown   string // the series of which an image is shown, "": none
	Sample  []imaging.TagChange
	Changes []imaging.TagChange
	Refused []RefusedSeries // those that would not leave
	More    int             // series that were not tried
}

// RefusedSeries are those that would not leave for one reason, as far as the first image of each tells.
type RefusedSeries struct {
	Reason string
	Names  []string
	Images int
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

// PaintField is the form's field for one number of each rectangle of a series: x, y, width or height.
func PaintField(seriesID, number string) string { return "blackout." + seriesID + "." + number }

// blamed are the places of the dialog that can be wrong; all else is told at its head.
var blamed = []string{"options", "pseudonymPrefix", "key", "name", "blackout"}

const atHead = "head"

// errorID is the id of a place's error.
func errorID(place string) string { return "take-out-error-" + place }

// Blame puts what is wrong with a field of the request where the person can put it right.
func (d *TakeOut) Blame(field, reason string) {
	place := atHead
	for _, at := range blamed {
		if field == at || strings.HasPrefix(field, at+".") {
			place = at
		}
	}
	if field == "options.cleanPixelData" {
		place = "blackout"
	}
	text := upperFirst(reason) + "."
	if place == "options" && d.Kept["emptyTimes"] && d.Dates == "" {
		text = "Dates without times of day go with dates that are moved or kept. Choose one of these, or take the tick away: where dates are removed, times are too."
	}
	if d.Errors[place] != "" {
		text = d.Errors[place] + " " + text
	}
	d.Errors[place] = text
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// NewTakeOut makes the dialog for a selection.
func NewTakeOut(f Frame, series []imaging.Series) TakeOut {
	f.title, f.section = "Take out", SectionLibrary
	d := TakeOut{Frame: f, Looked: map[string]bool{}, Kept: map[string]bool{}, Painted: map[string][]Rectangle{}, Errors: map[string]string{}}
	for _, s := range series {
		d.Series = append(d.Series, NewSeriesRow(s, f.Now))
	}
	d.Summary = sumOf(series)
	d.Name = "Take-out, " + Plural(len(series), "series")
	return d
}

func sumOf(series []imaging.Series) string {
	images, bytes := 0, int64(0)
	for _, s := range series {
		images, bytes = images+s.Instances, bytes+s.Bytes
	}
	return Plural(len(series), "series") + " · " + Plural(images, "image") + " · " + Size(bytes)
}

// Show puts in what a dry run told.
func (d *TakeOut) Show(run imaging.DryRun) {
	d.Dry = DryRun{Shown: run.SeriesID, Sample: run.Sample, Changes: run.Changes, More: len(d.Series) - run.Tried}
	for _, r := range run.Refused {
		name := ""
		for _, s := range d.Series {
			if s.ID == r.SeriesID {
				name = s.Description
			}
		}
		d.Dry.refuse(r.Reason, name, r.Images)
	}
}

func (d *DryRun) refuse(reason, name string, images int) {
	for i := range d.Refused {
		if r := &d.Refused[i]; r.Reason == reason {
			r.Names, r.Images = append(r.Names, name), r.Images+images
			return
		}
	}
	d.Refused = append(d.Refused, RefusedSeries{reason, []string{name}, images})
}

// named are the first of the series' names.
func (r *RefusedSeries) named() string {
	const most = 3
	if len(r.Names) <= most {
		return strings.Join(r.Names, ", ")
	}
	return strings.Join(r.Names[:most], ", ") + " and " + strconv.Itoa(len(r.Names)-most) + " more"
}

// stay counts the series that would.
func (d *DryRun) stay() (n int) {
	for _, r := range d.Refused {
		n += len(r.Names)
	}
	return n
}

// news is what those hear who do not see the table change.
func (d *TakeOut) news() string {
	if len(d.Errors) > 0 {
		return "Something must be put right first"
	}
	text := "Shown for the options as they are: " + Plural(len(d.Dry.Changes), "change")
	if n := d.Dry.stay(); n > 0 {
		text += ", " + Plural(n, "series") + " would be refused"
	}
	return text
}

// shownName is the description of the series that the table shows.
func (d *TakeOut) shownName() string {
	for _, s := range d.Series {
		if s.ID == d.Dry.Shown {
			return s.Description
		}
	}
	return ""
}

// counted sums the changes up: "12 removed, 5 emptied".
func (d *DryRun) counted() string {
	var actions, parts []string
	counts := map[string]int{}
	for _, c := range d.Changes {
		if counts[c.Action] == 0 {
			actions = append(actions, c.Action)
		}
		counts[c.Action]++
	}
	for _, a := range actions {
		parts = append(parts, strconv.Itoa(counts[a])+" "+a)
	}
	return strings.Join(parts, ", ")
}

// rows are the rectangles to type into: those there are, and one more.
func (d *TakeOut) rows(seriesID string) []Rectangle {
	return append(append([]Rectangle{}, d.Painted[seriesID]...), Rectangle{})
}

// field is the value of one number.
func (r Rectangle) field(number string) string {
	switch number {
	case "x":
		return r.X
	case "y":
		return r.Y
	case "width":
		return r.Width
	}
	return r.Height
}

// leastOf is the least value of a number.
func leastOf(number string) string {
	if number == "x" || number == "y" {
		return "0"
	}
	return "1"
}

// numbers are the fields of a rectangle, in their order.
var numbers = []string{"x", "y", "width", "height"}

// slices are the pictures to check rectangles on.
func (s *Suspect) slices() []Slice {
	all := []Slice{{"First", 0}}
	if s.Last > 1 {
		all = append(all, Slice{"Middle", s.Last / 2})
	}
	if s.Last > 0 {
		all = append(all, Slice{"Last", s.Last})
	}
	return all
}

// A Slice is one image of a series, or a frame of its only one.
type Slice struct {
	Name  string
	Index int
}
