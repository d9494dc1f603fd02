package deid

import (
	"slices"
	"strconv"
	"strings"

	"filmroom/dicom"
)

// Action is what was done to an element, for people to read.
type Action uint8

// The actions, after PS3.15 Table E.1-1a.
const (
	Removed       Action = iota + 1 // X: the element is gone, with all that was in it
	Emptied                         // Z
	Replaced                        // D: a dummy stands there; or how decompressed pixels lie
	Remapped                        // U: a new UID
	Pseudonymised                   // the subject's pseudonym stands there
	Cleaned                         // C: words that identify are gone from the text
	Shifted                         // C: the date has moved
	Trimmed                         // bytes behind the last pixel are gone
	Blanked                         // bits of the pixels that hold no pixel, comments within compressed ones, or rectangles
	Added                           // a mark of the de-identification, or of the decompression that it took
)

var actionNames = [...]string{"", "removed", "emptied", "replaced", "remapped", "pseudonymised", "cleaned", "shifted", "trimmed", "blanked", "added"}

// String is the action as a past participle: "removed".
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "action " + strconv.Itoa(int(a))
}

// Row is one change to a file.
type Row struct {
	Path   dicom.Path
	Action Action
}

// Report lists what was changed in one file, in the order of the file. It holds no value of it.
type Report struct {
	Rows []Row
}

// Change is a row of a dry run: what the element holds now and what would leave. Both are cut short and
// meant for the file's owner alone.
type Change struct {
	Row
	Keyword       string // the standard's name for the element, "" for private ones
	Before, After string
}

// shown is the most characters of a value in a Change.
const shown = 120

// display is an element's value for people.
func display(d *dicom.Dataset, e *dicom.Element) string {
	switch {
	case e == nil:
		return ""
	case e.IsSequence():
		return strconv.Itoa(len(e.Items)) + " items"
	case e.Fragments != nil:
		return strconv.Itoa(e.Fragments.Len()) + " fragments"
	case e.VR.IsString() && e.Section == nil:
		text, _ := d.Text(e)
		return cut(text)
	}
	if n, err := d.Floats(e.Tag); err == nil && len(n) == 1 {
		return strconv.FormatFloat(n[0], 'g', -1, 64)
	}
	return strconv.FormatInt(e.Len(), 10) + " bytes"
}

func cut(s string) string {
	if len(s) <= shown {
		return s
	}
	r := []rune(s)
	if len(r) <= shown {
		return s
	}
	return string(r[:shown-1]) + "…"
}

// note records a change at the pass's present path.
func (p *pass) note(d *dicom.Dataset, before *dicom.Element, a Action, out *dicom.Dataset, after *dicom.Element) {
	at := len(p.steps)
	p.steps = append(p.steps, p.path...)
	row := Row{Path: p.steps[at:len(p.steps):len(p.steps)], Action: a}
	p.report.Rows = append(p.report.Rows, row)
	if !p.dry {
		return
	}
	c := Change{Row: row, Before: display(d, before), After: display(out, after)}
	c.Keyword = p.path[len(p.path)-1].Tag.Keyword()
	p.changes = append(p.changes, c)
}

// CountByAction is how many elements each action changed.
func (r *Report) CountByAction() map[Action]int {
	counts := map[Action]int{}
	for _, row := range r.Rows {
		counts[row.Action]++
	}
	return counts
}

// String is the report as lines of path and action.
func (r *Report) String() string {
	var b strings.Builder
	for _, row := range r.Rows {
		b.WriteString(row.Path.String() + " " + row.Action.String() + "\n")
	}
	return b.String()
}

// sort orders rows as their elements stand in the file.
func (r *Report) sort() {
	slices.SortStableFunc(r.Rows, func(a, b Row) int { return comparePaths(a.Path, b.Path) })
}

func comparePaths(a, b dicom.Path) int {
	return slices.CompareFunc(a, b, func(x, y dicom.Step) int {
		if x.Tag != y.Tag {
			return int(int64(x.Tag) - int64(y.Tag))
		}
		return x.Item - y.Item
	})
}
