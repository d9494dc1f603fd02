package imaging

import (
	"errors"
	"strings"

	"filmroom/dicom"
	"filmroom/dicom/tag"
)

// maxFact bounds a text of a series, in bytes: the standard's longest is 64 characters of up to three
// groups (PS3.5 section 6.2).
const maxFact = 600

// factsOf reads what the library keeps of a file. missing names the UIDs without which there is no place
// for it, "" when all are there.
func factsOf(f *dicom.File) (s Series, i Instance, missing string) {
	d := f.Dataset
	s = Series{
		PatientID: text(d, tag.PatientID), PatientName: text(d, tag.PatientName), PatientBirth: date(d, tag.PatientBirthDate),
		StudyDate: date(d, tag.StudyDate), StudyDesc: text(d, tag.StudyDescription), Accession: text(d, tag.AccessionNumber),
		Modality: text(d, tag.Modality), Description: text(d, tag.SeriesDescription), BodyPart: text(d, tag.BodyPartExamined),
		SeriesNumber: number(d, tag.SeriesNumber), BurnedIn: burnedIn(d),
	}
	i = Instance{
		SOPClassUID: f.SOPClass(), TransferSyntax: f.TransferSyntax, InstanceNumber: number(d, tag.InstanceNumber),
		Rows: number(d, tag.Rows), Columns: number(d, tag.Columns), Frames: frames(d),
	}
	var lacks []string
	for _, u := range []struct {
		tag   dicom.Tag
		field *string
		name  string
	}{
		{tag.StudyInstanceUID, &s.StudyUID, "Study"}, {tag.SeriesInstanceUID, &s.SeriesUID, "Series"}, {tag.SOPInstanceUID, &i.SOPInstanceUID, "SOP"},
	} {
		var ok bool
		if *u.field, ok = d.UID(u.tag); !ok {
			*u.field = ""
			lacks = append(lacks, u.name+" Instance UID")
		}
	}
	if len(lacks) > 0 {
		missing = "no valid " + strings.Join(lacks, ", ")
	}
	return s, i, missing
}

// text is the first value of an element, as it may be shown.
func text(d *dicom.Dataset, t dicom.Tag) string {
	s, _ := d.String(t)
	return cut(withoutControls(s), maxFact)
}

// date is a DA value, "" when it is none.
func date(d *dicom.Dataset, t dicom.Tag) string {
	s, _ := d.String(t)
	if _, err := dicom.ParseDate(s); err != nil {
		return ""
	}
	return s
}

// number is the first value of an element as a 32-bit integer, 0 when it is none.
func number(d *dicom.Dataset, t dicom.Tag) int {
	n, err := d.Int(t)
	if err != nil || n != int64(int32(n)) {
		return 0
	}
	return int(n)
}

// frames is the number of frames (PS3.3 section C.7.6.6), 0 of an object without pixels.
func frames(d *dicom.Dataset) int {
	for _, t := range []dicom.Tag{tag.PixelData, tag.FloatPixelData, tag.DoubleFloatPixelData} {
		if d.Has(t) {
			return max(number(d, tag.NumberOfFrames), 1)
		}
	}
	return 0
}

// burnedIn is Burned In Annotation (PS3.3 section C.7.6.1): YES, NO or "".
func burnedIn(d *dicom.Dataset) string {
	s, _ := d.String(tag.BurnedInAnnotation)
	if s != "YES" && s != "NO" {
		return ""
	}
	return s
}

// refusal is the outcome and the reason for a file that dicom does not read; ok is false when the error is
// not the file's fault. The reasons hold no value of the file.
func refusal(err error) (o Outcome, reason string, ok bool) {
	detail, ok := errors.AsType[*dicom.Error](err)
	switch {
	case errors.Is(err, dicom.ErrNotDICOM):
		return NotDICOM, reasonNotDICOM, true
	case !ok:
		return "", "", false
	}
	return Unreadable, detail.Error(), true
}
