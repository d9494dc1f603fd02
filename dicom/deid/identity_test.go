package deid

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

func TestAStudySaysWhoItIsAboutInAllItsFiles(t *testing.T) {
	t.Parallel()
	var id Identity
	first := ct(dicom.Text(tag.PatientName, "Quux^Fred"), dicom.Text(tag.PatientID, "Q-1234"), dicom.Text(tag.PatientSex, "M"))
	second := ct(dicom.Text(tag.PatientName, "Quux^Fred"), dicom.Text(tag.OtherPatientNames, "Corge^F", "Garply^Fred"),
		dicom.Text(tag.PatientBirthDate, "19700102"), dicom.Text(tag.AccessionNumber, "A-777"),
		dicom.Sequence(tag.OtherPatientIDsSequence, dicom.NewDataset(dicom.Text(tag.PatientID, "Z-9"))))
	for _, d := range []*dicom.Dataset{first, second, second} {
		id.Collect(file(t, d).Dataset)
	}
	want := Identity{
		Names: []string{"Quux^Fred", "Corge^F", "Garply^Fred"}, IDs: []string{"Q-1234", "A-777", "Z-9"}, BirthDates: []string{"19700102"},
	}
	if !slices.Equal(id.Names, want.Names) || !slices.Equal(id.IDs, want.IDs) || !slices.Equal(id.BirthDates, want.BirthDates) || id.Len() != 7 {
		t.Errorf("got %+v, want %+v", id, want)
	}
}

// TestACrowdedIdentityGrowsNoMore: each text is held against all others, so a file with a million of them
// would take for ever; and what is not complete must not pass for it.
func TestACrowdedIdentityGrowsNoMore(t *testing.T) {
	t.Parallel()
	values := make([]string, 2*mostTexts)
	for i := range values {
		values[i] = fmt.Sprint("ID-", i)
	}
	var id, all Identity
	id.Collect(ct(dicom.Text(tag.OtherPatientIDs, values...)))
	all.Merge(&Identity{Names: []string{"Quux^Fred", "Quux^Fred", ""}, IDs: values[:mostTexts-2], BirthDates: []string{"19700102"}})
	if id.Len() != mostTexts+1 || !id.Crowded() || all.Len() != mostTexts || all.Crowded() {
		t.Errorf("%d and %d texts", id.Len(), all.Len())
	}
	s := someone()
	s.Identity = id
	if _, err := plan(t, Options{}).Apply(io.Discard, file(t, ct()), s); !errors.Is(err, ErrSubject) {
		t.Errorf("got %v, want ErrSubject", err)
	}
}

// timed has a time of each kind.
func timed() *dicom.Dataset {
	return ct(dicom.Text(tag.StudyDate, "20210304"), dicom.Text(tag.StudyTime, "103000"), dicom.Text(tag.AcquisitionDateTime, "20210304103000.5+0100"))
}

func TestTimesAreEmptiedAndDatesStay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options  Options
		day      string
		modified string
	}{
		"full dates": {Options{RetainFullDates: true, EmptyTimes: true}, "20210304", "MODIFIED"},
		"shifted":    {Options{ShiftDates: true, EmptyTimes: true}, "20200112", "MODIFIED"},
	} {
		d := leaves(t, c.options, timed())
		for _, e := range []struct {
			tag  tag.Tag
			want string
		}{
			{tag.StudyDate, c.day}, {tag.StudyTime, ""}, {tag.AcquisitionDateTime, c.day}, {tag.LongitudinalTemporalInformationModified, c.modified},
		} {
			if got := text(d, e.tag); got != e.want {
				t.Errorf("%s: %s is %q, want %q", name, e.tag.Keyword(), got, e.want)
			}
		}
	}
	d := leaves(t, Options{RetainFullDates: true}, timed())
	if got := text(d, tag.StudyTime); got != "103000" {
		t.Errorf("nobody asked for it, but Study Time became %q", got)
	}
}

func TestTimesInPrivateElementsAreEmptiedToo(t *testing.T) {
	t.Parallel()
	d := timed()
	d.Set(dicom.New(tag.New(0x0009, 0x0010), vr.LO, []byte("QUUX")))
	d.Set(dicom.New(tag.New(0x0009, 0x1001), vr.TM, []byte("103000")))
	d.Set(dicom.Sequence(tag.PrivateDataElementCharacteristicsSequence, dicom.NewDataset(
		dicom.Ints(tag.PrivateGroupReference, 0x0009), dicom.Text(tag.PrivateCreatorReference, "QUUX"), dicom.Text(tag.BlockIdentifyingInformationStatus, "SAFE"))))
	out := leaves(t, Options{RetainFullDates: true, RetainSafePrivate: true, EmptyTimes: true}, d)
	if got := text(out, tag.New(0x0009, 0x1001)); got != "" {
		t.Errorf("a private time became %q", got)
	}
}

// TestWhatCallsItselfADateOrANameGoes wherever it stands: a scanner may have put it where the standard has a
// maker's name.
func TestWhatCallsItselfADateOrANameGoes(t *testing.T) {
	t.Parallel()
	for v, value := range map[vr.VR]string{vr.DA: "20210304", vr.TM: "103000", vr.DT: "20210304103000", vr.PN: "Garply^Waldo"} {
		d := ct(dicom.New(tag.Manufacturer, v, []byte(value)), dicom.New(tag.SequenceName, v, []byte(value)))
		for _, o := range []Options{{}, {RetainFullDates: true, EmptyTimes: true, RetainDevice: true}, {ShiftDates: true}} {
			if out := leaves(t, o, d); out.Has(tag.Manufacturer) || out.Has(tag.SequenceName) {
				t.Errorf("%v stays under %+v: %q", v, o, values(out))
			}
		}
	}
}
