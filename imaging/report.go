package imaging

import (
	"cmp"
	"slices"

	"filmroom/dicom"
	"filmroom/dicom/deid"
)

// maxReportRows bounds how many different changes a report tells apart.
const maxReportRows = 10_000

// A report sums up what an export changed. It holds no value of any file.
type report struct {
	args    exportArgs
	images  int64
	changes map[change]int64
	more    int64 // changes beyond maxReportRows
	reasons map[string]int64
}

type change struct {
	path   string
	name   string
	action string
}

// reportRows is the report as it stands in the archive.
type reportRows struct {
	Profile string         `json:"profile"`
	Options []string       `json:"options"`
	Images  int64          `json:"images"`
	Refused []refusedRow   `json:"refused"`
	Changes []reportChange `json:"changes"`
	More    int64          `json:"moreChanges,omitempty"`
}

type refusedRow struct {
	Reason string `json:"reason"`
	Images int64  `json:"images"`
}

type reportChange struct {
	Tag      string `json:"tag"` // with the sequences it stands in
	Keyword  string `json:"keyword,omitempty"`
	Action   string `json:"action"`
	Elements int64  `json:"elements"` // over all images
}

func newReport(args exportArgs) *report {
	return &report{args: args, changes: map[change]int64{}, reasons: map[string]int64{}}
}

func (r *report) refused(reason string) { r.reasons[reason]++ }

// changed adds what was done to one image.
func (r *report) changed(one deid.Report) {
	r.images++
	for _, row := range one.Rows {
		c := change{action: row.Action.String()}
		c.path, c.name = placeOf(row.Path)
		if r.changes[c] == 0 && len(r.changes) >= maxReportRows {
			r.more++
			continue
		}
		r.changes[c]++
	}
}

// placeOf is a path without the numbers of items, so that all items count together.
func placeOf(path dicom.Path) (place, keyword string) {
	steps := make(dicom.Path, len(path))
	for i, s := range path {
		steps[i].Tag = s.Tag
	}
	return steps.String(), path[len(path)-1].Tag.Keyword()
}

// mainReason is why most of the refused images were refused.
func (r *report) mainReason() string {
	rows := r.rows().Refused
	if len(rows) == 0 {
		return ""
	}
	return rows[0].Reason
}

// rows is the report in an order that depends on its content alone.
func (r *report) rows() reportRows {
	rows := reportRows{Profile: r.args.Profile, Options: append([]string{}, r.args.Options...), Images: r.images, More: r.more,
		Refused: []refusedRow{}, Changes: []reportChange{}}
	for reason, n := range r.reasons {
		rows.Refused = append(rows.Refused, refusedRow{reason, n})
	}
	slices.SortFunc(rows.Refused, func(a, b refusedRow) int {
		return cmp.Or(-cmp.Compare(a.Images, b.Images), cmp.Compare(a.Reason, b.Reason))
	})
	for c, n := range r.changes {
		rows.Changes = append(rows.Changes, reportChange{c.path, c.name, c.action, n})
	}
	slices.SortFunc(rows.Changes, func(a, b reportChange) int {
		return cmp.Or(cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Action, b.Action))
	})
	return rows
}
