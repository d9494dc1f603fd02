package imaging

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"filmroom/dicom"
	"filmroom/dicom/deid"
	"filmroom/dicom/tag"
	"filmroom/tasks"
)

// A DryRun tells what an export would do, for the eyes of the library's owner alone: it holds what the files say.
type DryRun struct {
	SeriesID string      // whose first image is shown, "" when none of those tried would leave
	Sample   []TagChange // the elements that people ask about first, of that image
	Changes  []TagChange // all that would change in it, in the order of the file
	Refused  []RefusedSeries
	Tried    int // series of which the first image was tried; the others may be refused as well
}

// A RefusedSeries is one whose first image would not leave.
type RefusedSeries struct {
	SeriesID string
	Images   int // that it has; what holds the first one back mostly holds them all
	Reason   string
	Held     bool // until a person has looked at it, or painted over
}

// A TagChange is one element before and after de-identification.
type TagChange struct {
	Tag    string // (0010,0010), with the sequences it stands in
	Name   string // the standard's name of it, or its keyword
	Before string
	After  string // "" when it is emptied or Gone
	Gone   bool
	Action string // "removed", "kept" and the like, see [deid.Action]
}

// compared are the elements that people ask about first, with the standard's names of them (PS3.6).
var compared = []struct {
	tag  dicom.Tag
	name string
}{
	{tag.PatientName, "Patient's Name"}, {tag.PatientID, "Patient ID"}, {tag.PatientBirthDate, "Patient's Birth Date"},
	{tag.PatientSex, "Patient's Sex"}, {tag.PatientAge, "Patient's Age"}, {tag.AccessionNumber, "Accession Number"},
	{tag.StudyDate, "Study Date"}, {tag.StudyTime, "Study Time"}, {tag.InstitutionName, "Institution Name"},
	{tag.ReferringPhysicianName, "Referring Physician's Name"}, {tag.StationName, "Station Name"},
	{tag.StudyDescription, "Study Description"}, {tag.SeriesDescription, "Series Description"},
	{tag.Modality, "Modality"}, {tag.StudyInstanceUID, "Study Instance UID"}, {tag.SOPInstanceUID, "SOP Instance UID"},
}

// maxTried bounds how many images one dry run reads.
const maxTried = 100

// DryRun shows what the request would do to one image, of the series named shown or else of the first that would
// leave, and which series would not. It searches for what the whole study says of its patient, as the export will,
// and under a named key shows what the export will write; without one the export makes a key of its own, so that
// UIDs and moved dates will be others. The errors are those of Export.
func (d *Desk) DryRun(ctx context.Context, p tasks.Person, request ExportRequest, shown string) (DryRun, error) {
	plan, all, hidden, err := d.order(ctx, p, request)
	if err != nil {
		return DryRun{}, err
	}
	t := trial{desk: d, plan: plan, hidden: hidden, request: request}
	var run DryRun
	for i, s := range all {
		if i >= maxTried && s.ID != shown {
			continue
		}
		run.Tried++
		made, err := t.try(ctx, s, shown == s.ID || shown == "" && run.SeriesID == "")
		switch {
		case err != nil:
			return DryRun{}, fmt.Errorf("dry run of series %s: %w", s.ID, err)
		case made.reason != "":
			run.Refused = append(run.Refused, RefusedSeries{s.ID, s.Instances, made.reason, made.held})
		case made.changes != nil:
			run.SeriesID, run.Sample, run.Changes = s.ID, firstAsked(made.file.Dataset, made.changes), rowsOf(made.changes)
		}
	}
	return run, nil
}

// A trial is a dry run under way.
type trial struct {
	desk    *Desk
	plan    *deid.Plan
	hidden  *secret
	request ExportRequest
}

// What was tried is either why an image may not leave, or, for one that is shown, the changes to it.
type tried struct {
	reason  string
	held    bool
	file    *dicom.File
	changes []deid.Change
}

// try carries out the plan on the first image of a series. Only for one that is shown does it read the whole study.
func (t *trial) try(ctx context.Context, s Series, shown bool) (made tried, err error) {
	// As in an export: a file that makes this code panic does not leave.
	defer func() {
		if recover() != nil {
			t.desk.log.Error("a file made the de-identifier panic", "stack", string(debug.Stack()))
			made = tried{reason: notUnderstood}
		}
	}()
	of := &study{}
	if shown {
		if of, err = t.desk.knownStudy(ctx, s); err != nil || of.crowded {
			return tried{reason: crowded}, err
		}
	}
	first, err := t.desk.cfg.Store.Instances(ctx, s.LibraryID, s.ID, nil, 1)
	if err != nil || len(first) == 0 {
		return tried{reason: deletedMeanwhile}, err
	}
	f, err := t.desk.files.open(first[0].SHA256)
	if err != nil {
		return tried{}, err
	}
	defer f.Close()
	file, err := dicom.Parse(f, first[0].Size, reading)
	if err != nil {
		made.reason, err = unfit(err)
		return made, err
	}
	subject, known := t.hidden.subject(patientOfFile(file))
	if !known {
		return tried{reason: anotherPatient}, nil
	}
	subject.Identity = of.identity
	subject.PixelsReviewed, subject.Blackout = slices.Contains(t.request.PixelsReviewed, s.ID), rectangles(t.request.Blackout[s.ID])
	changes, err := t.plan.DryRun(file, subject)
	made.held = errors.Is(err, deid.ErrHeld)
	if made.reason, err = unfit(err); made.reason == "" && shown {
		made.file, made.changes = file, changes
	}
	return made, err
}

// firstAsked picks the elements that are shown first: those of compared that the file has.
func firstAsked(d *dicom.Dataset, changes []deid.Change) []TagChange {
	made := map[dicom.Tag]deid.Change{}
	for _, c := range changes {
		if len(c.Path) == 1 {
			made[c.Path[0].Tag] = c
		}
	}
	var rows []TagChange
	for _, of := range compared {
		c, changed := made[of.tag]
		if !d.Has(of.tag) && !changed {
			continue
		}
		row := TagChange{Tag: of.tag.String(), Before: text(d, of.tag), Action: "kept"}
		row.After = row.Before
		if changed {
			row = rowOf(c)
		}
		row.Name = of.name
		rows = append(rows, row)
	}
	return rows
}

func rowOf(c deid.Change) TagChange {
	return TagChange{Tag: c.Path.String(), Name: c.Keyword, Before: c.Before, After: c.After, Gone: c.Action == deid.Removed, Action: c.Action.String()}
}

func rowsOf(changes []deid.Change) []TagChange {
	rows := make([]TagChange, len(changes))
	for i, c := range changes {
		rows[i] = rowOf(c)
	}
	return rows
}
