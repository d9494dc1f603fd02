package imaging

import (
	"context"
	"errors"
	"fmt"

	"filmroom/dicom"
	"filmroom/dicom/deid"
	"filmroom/dicom/tag"
	"filmroom/tasks"
)

// A TagChange is one element before and after de-identification, for the eyes of the library's owner.
type TagChange struct {
	Tag    string // (0010,0010)
	Name   string // the standard's name of it
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
	{tag.StudyDate, "Study Date"}, {tag.InstitutionName, "Institution Name"}, {tag.ReferringPhysicianName, "Referring Physician's Name"},
	{tag.StationName, "Station Name"}, {tag.StudyDescription, "Study Description"}, {tag.SeriesDescription, "Series Description"},
	{tag.Modality, "Modality"}, {tag.StudyInstanceUID, "Study Instance UID"}, {tag.SOPInstanceUID, "SOP Instance UID"},
}

// Compare shows what the request's profile with its options would do to the middle image of a series.
// [FieldErrors] as of Export, and for an image that would be refused.
func (d *Desk) Compare(ctx context.Context, p tasks.Person, seriesID string, request ExportRequest) ([]TagChange, error) {
	plan, wrong := planOf(request)
	if err := wrong.orNil(); err != nil {
		return nil, err
	}
	s, err := d.Series(ctx, p, seriesID)
	if err != nil {
		return nil, err
	}
	instance, err := d.imageOf(ctx, s, -1)
	if err != nil {
		return nil, err
	}
	f, err := d.files.open(instance.SHA256)
	if err != nil {
		return nil, fmt.Errorf("compare %s: %w", s.ID, err)
	}
	defer f.Close()
	file, err := dicom.Parse(f, instance.Size, reading)
	if err != nil {
		return nil, FieldErrors{{Field: "seriesIds", Reason: err.Error()}}
	}
	// A key of its own: what is shown here tells nothing about any export.
	subject, _ := (&secret{Key: newKey()}).subject(patientOfSeries(s))
	subject.Pseudonym, subject.PixelsReviewed = "P0001", true
	subject.Identity = deid.Identity{Names: given(s.PatientName), IDs: given(s.PatientID, s.Accession), BirthDates: given(s.PatientBirth)}
	changes, err := plan.DryRun(file, subject)
	if errors.Is(err, deid.ErrHeld) || errors.Is(err, deid.ErrRefused) {
		return nil, FieldErrors{{Field: "seriesIds", Reason: err.Error()}}
	}
	if err != nil {
		return nil, fmt.Errorf("compare %s: %w", s.ID, err)
	}
	return table(file.Dataset, changes), nil
}

// table picks the elements that are shown: those of compared that the file has.
func table(d *dicom.Dataset, changes []deid.Change) []TagChange {
	made := map[dicom.Tag]deid.Change{}
	for _, c := range changes {
		if len(c.Path) == 1 {
			made[c.Path[0].Tag] = c
		}
	}
	var rows []TagChange
	for _, shown := range compared {
		if !d.Has(shown.tag) {
			continue
		}
		row := TagChange{Tag: shown.tag.String(), Name: shown.name, Before: text(d, shown.tag), Action: "kept"}
		row.After = row.Before
		if c, ok := made[shown.tag]; ok {
			row.Before, row.After, row.Action, row.Gone = c.Before, c.After, c.Action.String(), c.Action == deid.Removed
		}
		rows = append(rows, row)
	}
	return rows
}
