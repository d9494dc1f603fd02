package deid

import (
	"bytes"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// TestANameIsFoundHoweverItIsSpelt: kept is a description that the options clean.
func TestANameIsFoundHoweverItIsSpelt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, kept, want string }{
		{"Müller^X", "knee of Mueller", "knee of ***"},
		{"Mueller^X", "knee of Müller", "knee of ***"},
		{"Mu\u0308ller^X", "knee of MUELLER", "knee of ***"},
		{"Sørensen^X", "knee of Sorensen", "knee of ***"},
		{"Soerensen^X", "knee of Sørensen", "knee of ***"},
		{"Weiß^X", "knee of WEISS", "knee of ***"},
		{"Wałęsa^X", "knee of Walesa", "knee of ***"},
		{"Åse^X", "knee of Aase", "knee of ***"},
		{"Li Weidong", "knee of Li", ""},
		{"Li, Weidong", "knee of Weidong", "knee of ***"},
		{"Li, Weidong", "knee of LI", ""},
		{"van der Garply^Waldo", "knee of van", "knee of ***"},
		{"de Garply^Waldo", "rodilla de ella", "rodilla de ella"},
		{"Garply^Waldo", "knee Gar\u200bply", "knee ***"},
		{"王小东", "王后", "王后"},
		{"Sue^Manuel", "su Blau", "su Blau"},
	} {
		t.Run(c.name+" in "+c.kept, func(t *testing.T) {
			t.Parallel()
			d := ct(dicom.Text(tag.SpecificCharacterSet, "ISO_IR 192"), dicom.New(tag.PatientName, vr.PN, []byte(c.name)),
				dicom.New(tag.StudyDescription, vr.LO, []byte(c.kept)))
			if got := text(leaves(t, Options{CleanDescriptors: true}, d), tag.StudyDescription); got != c.want {
				t.Errorf("left: %q, want %q", got, c.want)
			}
		})
	}
}

// TestANameIsANameWhateverItsVR: a file may call a name text or bytes, and tells it all the same.
func TestANameIsANameWhateverItsVR(t *testing.T) {
	t.Parallel()
	for _, v := range []vr.VR{vr.LO, vr.UT, vr.SH, vr.OB, vr.UN} {
		name := dicom.New(tag.PatientName, v, []byte("Garply^Waldo"))
		d := ct(name, dicom.Text(tag.StudyDescription, "knee of Waldo"))
		if got := text(leaves(t, Options{CleanDescriptors: true}, d), tag.StudyDescription); got != "knee of ***" {
			t.Errorf("%v: left %q", v, got)
		}
		var id Identity
		if id.Collect(dicom.NewDataset(name)); len(id.Names) != 1 || id.Names[0] != "Garply^Waldo" {
			t.Errorf("%v: collected %+v", v, id)
		}
	}
}

func TestANameIsFoundBehindEscapesThatNobodyAnnounced(t *testing.T) {
	t.Parallel()
	d := ct(dicom.Text(tag.PatientName, "Garply^Waldo"), dicom.New(tag.AcquisitionProtocolName, vr.LO, []byte("Gar\x1b(Bply")))
	if got := text(leaves(t, Options{}, d), tag.AcquisitionProtocolName); got != "" {
		t.Errorf("left: %q", got)
	}
}

// TestAPersonsNumbersStandInNoNumber: as values of their own, not within others.
func TestAPersonsNumbersStandInNoNumber(t *testing.T) {
	t.Parallel()
	safe := Options{RetainSafePrivate: true}
	cases := []struct {
		where    string
		o        Options
		elements []*dicom.Element
		value    string
	}{
		{"a patient's ID as a number", Options{}, []*dicom.Element{dicom.New(tag.AcquisitionNumber, vr.IS, []byte("12345678"))}, "12345678"},
		{"an ID without its zeros", Options{}, []*dicom.Element{dicom.New(tag.AcquisitionNumber, vr.IS, []byte("7654321 "))}, "7654321"},
		{"an accession number as a series'", Options{}, []*dicom.Element{dicom.New(tag.SeriesNumber, vr.IS, []byte("+9876543"))}, "9876543"},
		{"an ID among decimals", Options{}, []*dicom.Element{dicom.New(tag.ImagePositionPatient, vr.DS, []byte(`1\2\12345678.00`))}, "12345678"},
		{"an ID as a class", Options{}, []*dicom.Element{dicom.New(tag.ContextUID, vr.UI, []byte("12345678"))}, "12345678"},
		{"an ID within a class", Options{}, []*dicom.Element{dicom.New(tag.ContextUID, vr.UI, []byte("1.2.12345678.4\x00\x00"))}, "12345678"},
		{"a day as a decimal", safe, declared("QUX", dicom.New(0x00091002, vr.DS, []byte("20210305"))), "20210305"},
		{"a day as an integer", safe, declared("QUX", dicom.New(0x00091002, vr.UL, []byte("\x81b4\x01"))), "\x81b4\x01"},
		{"a day as a text", safe, declared("QUX", dicom.New(0x00091002, vr.LO, []byte("20210305"))), "20210305"},
	}
	for _, c := range cases {
		t.Run(c.where, func(t *testing.T) {
			t.Parallel()
			d := ct(append(c.elements, dicom.Text(tag.PatientID, "12345678"), dicom.Text(tag.OtherPatientIDs, "0007654321"),
				dicom.Text(tag.AccessionNumber, "9876543"), dicom.Text(tag.StudyDate, "20210305"))...)
			if out, _, _ := applied(t, plan(t, c.o), file(t, d), someone()); bytes.Contains(out, []byte(c.value)) {
				t.Errorf("left: %q", values(parse(t, out).Dataset))
			}
		})
	}
}

// TestNumbersOfTheImageStay: what only looks like a part of somebody's number.
func TestNumbersOfTheImageStay(t *testing.T) {
	t.Parallel()
	d := ct(dicom.Text(tag.PatientID, "703125"), dicom.Text(tag.AccessionNumber, "123456"),
		dicom.New(tag.PixelSpacing, vr.DS, []byte(`0.703125\0.703125 `)), dicom.New(tag.SeriesNumber, vr.IS, []byte("1234567 ")))
	out := leaves(t, Options{}, d)
	if text(out, tag.PixelSpacing) != `0.703125\0.703125` || text(out, tag.SeriesNumber) != "1234567" {
		t.Errorf("left: %q", values(out))
	}
}

// TestOthersNamesStandInNoCodedValue: of who else is removed, people and institutions are found there too.
func TestOthersNamesStandInNoCodedValue(t *testing.T) {
	t.Parallel()
	d := ct(dicom.Text(tag.InstitutionName, "Northside"), dicom.Text(tag.ReferringPhysicianName, "Garply^Waldo"),
		dicom.Text(tag.BodyPartExamined, "NORTHSIDE"), dicom.Text(tag.ManufacturerModelName, "GARPLY 3000"),
		dicom.Text(tag.Manufacturer, "Garply"), dicom.Text(tag.ImageType, `ORIGINAL\PRIMARY\GARPLY`))
	out := leaves(t, Options{}, d)
	want := map[tag.Tag]string{
		tag.BodyPartExamined: "DEIDENTIFIED", tag.ManufacturerModelName: "*** 3000", tag.Manufacturer: "Garply",
		tag.ImageType: `ORIGINAL\PRIMARY\DEIDENTIFIED`,
	}
	for at, s := range want {
		if got := text(out, at); got != s {
			t.Errorf("%s: %q, want %q", at.Keyword(), got, s)
		}
	}
}

// TestAPrivateNameStandsInNoDescription: other private values may, for makers copy descriptions there.
func TestAPrivateNameStandsInNoDescription(t *testing.T) {
	t.Parallel()
	d := ct(dicom.Text(tag.StudyDescription, "knee, Garply"), dicom.New(0x00090010, vr.LO, []byte("QUX")),
		dicom.New(0x00091001, vr.PN, []byte("Garply^Waldo")), dicom.New(0x00091002, vr.LO, []byte("knee")))
	if got := text(leaves(t, Options{CleanDescriptors: true}, d), tag.StudyDescription); got != "knee, ***" {
		t.Errorf("left: %q", got)
	}
}
