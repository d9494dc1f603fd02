package imaging_test

import (
	"errors"
	"strings"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/phantom"
	"filmroom/dicom/tag"
	"filmroom/imaging"
)

func (d *desk) dryRun(r imaging.ExportRequest) imaging.DryRun {
	d.t.Helper()
	if r.SeriesIDs == nil {
		for _, s := range d.series(ada) {
			r.SeriesIDs = append(r.SeriesIDs, s.ID)
		}
	}
	r.Profile = "basic"
	run, err := d.DryRun(d.t.Context(), ada, r, "")
	check(d.t, err)
	return run
}

func byTag(rows []imaging.TagChange) map[string]imaging.TagChange {
	by := map[string]imaging.TagChange{}
	for _, r := range rows {
		by[r.Tag] = r
	}
	return by
}

func TestADryRunShowsWhatWouldLeave(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(study(phantom.Study{Patient: "Secret^Ada"})...)
	run := d.dryRun(imaging.ExportRequest{})
	by := byTag(run.Sample)
	for _, r := range run.Sample {
		if strings.Contains(r.After, "Secret") {
			t.Errorf("%s would leave as %q", r.Name, r.After)
		}
	}
	if len(run.Sample) < 12 || run.SeriesID != d.series(ada)[0].ID || run.Tried != 1 || len(run.Refused) != 0 {
		t.Errorf("%d elements are shown, want a dozen, of %q; %d tried, %v refused", len(run.Sample), run.SeriesID, run.Tried, run.Refused)
	}
	if name := by["(0010,0010)"]; name.Before != "Secret^Ada" || name.After != "P0001" || name.Name != "Patient's Name" || name.Gone {
		t.Errorf("patient's name: %+v", name)
	}
	if modality := by["(0008,0060)"]; modality.Before != "CT" || modality.After != "CT" || modality.Action != "kept" {
		t.Errorf("modality: %+v", modality)
	}
	if name := byTag(run.Changes)["(0010,0010)"]; name.Action != "pseudonymised" || len(run.Changes) < 20 {
		t.Errorf("among %d changes the name is %+v", len(run.Changes), name)
	}
}

// What a dry run shows is what the export then writes, under each option that changes it.
func TestADryRunTellsTheTruthAboutTheExport(t *testing.T) {
	t.Parallel()
	d := setup(t)
	files := study(phantom.Study{Series: 2, Slices: 1})
	files[0] = edited(t, files[0], dicom.Text(tag.PatientBirthName, "Featherstone^Zoe"))
	files[1] = edited(t, files[1], dicom.Text(tag.SeriesDescription, "Thorax of Featherstone"))
	d.bring(files...)
	var chosen []string
	for _, s := range d.series(ada) {
		if strings.HasPrefix(s.Description, "Thorax") {
			chosen = append(chosen, s.ID)
		}
	}
	for name, r := range map[string]imaging.ExportRequest{
		"nothing more":         {Key: "trial"},
		"dates moved":          {Key: "trial", Options: on("shiftDates")},
		"dates without times":  {Key: "trial", Options: on("retainFullDates", "emptyTimes")},
		"descriptions, a name": {Key: "trial", Options: on("cleanDescriptors", "retainDevice", "retainInstitution"), PseudonymPrefix: "T-"},
		"UIDs kept":            {Key: "trial", Options: on("retainUids")},
	} {
		r.SeriesIDs = chosen
		run := d.dryRun(r)
		_, archive := d.takeOut(r)
		set := parse(t, contents(t, archive)["P0001/ST001/SE001/IM000001.dcm"])
		for _, row := range run.Sample {
			of, err := tag.Parse(row.Tag)
			check(t, err)
			if got := text(set, of); got != row.After || set.Has(of) == row.Gone {
				t.Errorf("%s: %s was to leave as %q (gone: %v), and left as %q", name, row.Name, row.After, row.Gone, got)
			}
		}
	}
}

func TestADryRunWithoutAKeyTellsNothingOfTheExportsKey(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(study(phantom.Study{})...)
	uid := func() string { return byTag(d.dryRun(imaging.ExportRequest{}).Sample)["(0020,000D)"].After }
	if first := uid(); first == uid() || first == "" {
		t.Errorf("two dry runs show the same UID %q", first)
	}
}

func TestADryRunNamesTheSeriesThatWouldBeRefused(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(append(study(phantom.Study{Seed: 1, Slices: 2}), burned(study(phantom.Study{Seed: 2, Slices: 3}))...)...)
	held := ""
	for _, s := range d.series(ada) {
		if s.BurnedIn == "YES" {
			held = s.ID
		}
	}
	run := d.dryRun(imaging.ExportRequest{})
	if len(run.Refused) != 1 || run.Refused[0].SeriesID != held || run.Refused[0].Images != 3 || !strings.Contains(run.Refused[0].Reason, "look") {
		t.Errorf("refused: %+v", run.Refused)
	}
	if run.SeriesID == held || run.Tried != 2 {
		t.Errorf("shown is %q of %d", run.SeriesID, run.Tried)
	}
	outside := map[string][][]int{held: {{100, 100, 5, 5}}}
	if run = d.dryRun(imaging.ExportRequest{Blackout: outside}); len(run.Refused) != 1 || !strings.Contains(run.Refused[0].Reason, "outside") {
		t.Errorf("with a rectangle outside: %+v", run.Refused)
	}
	if run = d.dryRun(imaging.ExportRequest{PixelsReviewed: []string{held}}); len(run.Refused) != 0 {
		t.Errorf("after a look: %+v", run.Refused)
	}
	if run = d.dryRun(imaging.ExportRequest{SeriesIDs: []string{held}}); run.SeriesID != "" || run.Sample != nil {
		t.Errorf("of nothing that leaves %+v is shown", run)
	}
}

func TestADryRunThatCannotBeIsRefusedAsItsExport(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(study(phantom.Study{})...)
	for name, r := range map[string]imaging.ExportRequest{
		"profile":         {Profile: "none", SeriesIDs: []string{d.series(ada)[0].ID}},
		"seriesIds":       {Profile: "basic"},
		"options":         {Profile: "basic", SeriesIDs: []string{d.series(ada)[0].ID}, Options: on("shiftDates", "retainFullDates")},
		"pseudonymPrefix": {Profile: "basic", SeriesIDs: []string{d.series(ada)[0].ID}, PseudonymPrefix: "^"},
	} {
		_, err := d.DryRun(t.Context(), ada, r, "")
		if wrong, _ := errors.AsType[imaging.FieldErrors](err); len(wrong) != 1 || wrong[0].Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The study is remembered between two looks, but not beyond a change of it.
func TestADryRunKnowsWhatCameIntoTheStudySince(t *testing.T) {
	t.Parallel()
	d := setup(t)
	files := study(phantom.Study{Series: 2, Slices: 1})
	files[0] = edited(t, files[0], dicom.Text(tag.SeriesDescription, "Thorax of Featherstone"))
	files[1] = edited(t, files[1], dicom.Text(tag.PatientBirthName, "Featherstone^Zoe"))
	d.bring(files[0])
	r := imaging.ExportRequest{SeriesIDs: []string{d.series(ada)[0].ID}, Options: on("cleanDescriptors")}
	said := func() string { return byTag(d.dryRun(r).Sample)["(0008,103E)"].After }
	if got := said(); got != "Thorax of Featherstone" {
		t.Errorf("alone it would leave as %q", got)
	}
	d.bring(files[1])
	if got := said(); got != "Thorax of ***" {
		t.Errorf("beside the name it would leave as %q", got)
	}
}
