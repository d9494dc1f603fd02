package dicom_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

func tags(d *dicom.Dataset) []dicom.Tag {
	var list []dicom.Tag
	for t := range d.All() {
		list = append(list, t)
	}
	return list
}

func TestElementsStandInAscendingOrderEachTagOnce(t *testing.T) {
	t.Parallel()
	d := dicom.NewDataset(dicom.Text(tag.PatientSex, "O"), dicom.Text(tag.PatientID, "a"), dicom.Text(tag.PatientID, "b"), dicom.Text(tag.Modality, "CT"))
	want := []dicom.Tag{tag.Modality, tag.PatientID, tag.PatientSex}
	if diff := cmp.Diff(want, tags(d)); diff != "" {
		t.Error(diff)
	}
	if id, _ := d.String(tag.PatientID); id != "b" {
		t.Errorf("of two with one tag %q counts, want the last", id)
	}
	if !d.Remove(tag.PatientID, tag.Rows) || d.Remove(tag.PatientID) || d.Has(tag.PatientID) || d.Len() != 2 {
		t.Error("an element was not removed, or twice")
	}
	var none *dicom.Dataset
	if _, ok := none.Get(tag.PatientID); ok || len(tags(none)) > 0 {
		t.Error("no data set has elements")
	}
}

func TestADataSetMayChangeWhileItIsGoneThrough(t *testing.T) {
	t.Parallel()
	d := dicom.NewDataset(dicom.Text(tag.Modality, "CT"), dicom.Text(tag.PatientID, "a"), dicom.Text(tag.PatientSex, "O"), &dicom.Element{Tag: 0xFFFFFFFF, VR: vr.UN})
	var seen []dicom.Tag
	for tg := range d.All() {
		seen = append(seen, tg)
		switch tg {
		case tag.Modality:
			d.Remove(tag.Modality, tag.PatientID)
			d.Set(dicom.Text(tag.StudyID, "1"))
			d.Set(dicom.Text(tag.SOPClassUID, "1"))
		case 0xFFFFFFFF:
			d.Set(dicom.Text(tag.Modality, "CT"))
		}
	}
	want := []dicom.Tag{tag.Modality, tag.PatientSex, tag.StudyID, 0xFFFFFFFF}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

func TestAWalkVisitsEveryElementWithItsPath(t *testing.T) {
	t.Parallel()
	d := dicom.NewDataset(
		dicom.Sequence(tag.ReferencedStudySequence,
			dicom.NewDataset(dicom.Text(tag.PatientID, "a")),
			dicom.NewDataset(dicom.Sequence(tag.ReferencedSeriesSequence, dicom.NewDataset(dicom.Text(tag.Modality, "CT"))))),
		dicom.Text(tag.PatientID, "b"),
		dicom.Sequence(tag.ContentSequence, dicom.NewDataset(dicom.Text(tag.Modality, "CT"))),
	)
	var paths []string
	for n := range d.Walk() {
		paths = append(paths, n.Path.String())
		if full := append(n.Dataset.Path(), dicom.Step{Tag: n.Element.Tag}); !slices.Equal(full, n.Path) {
			t.Errorf("the data set is at %v, the walk at %v", full, n.Path)
		}
		if n.Element.Tag == tag.ContentSequence {
			d.Remove(tag.ContentSequence) // what is in it goes with it
		}
	}
	want := []string{"(0008,1110)", "(0008,1110)[1] > (0010,0020)", "(0008,1110)[2] > (0008,1115)", "(0008,1110)[2] > (0008,1115)[1] > (0008,0060)", "(0010,0020)", "(0040,A730)"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
	count := 0
	for range d.Walk() {
		if count++; count == 2 {
			break
		}
	}
	for range d.All() {
		break
	}
}

func TestACloneCanBeChangedAlone(t *testing.T) {
	t.Parallel()
	d := everything(t)
	before := canon(d)
	c := d.Clone()
	if canon(c) != before {
		t.Error("the clone differs")
	}
	c.Remove(tag.PatientName)
	c.Clear(tag.PatientID)
	c.Items(tag.ReferencedImageSequence)[0].Remove(tag.ReferencedSOPInstanceUID)
	if canon(d) != before {
		t.Error("changing the clone changed the original")
	}
	if c.Items(tag.ReferencedImageSequence)[0].Parent() != c {
		t.Error("the clone's items belong to the original")
	}
}

func TestPrivateElementsKnowTheirCreator(t *testing.T) {
	t.Parallel()
	d := dicom.NewDataset(dicom.New(0x00290010, vr.LO, []byte("ACME")), dicom.New(0x00291008, vr.LO, []byte("x")))
	for tg, want := range map[dicom.Tag]string{0x00291008: "ACME", 0x00291108: "", 0x00290010: "", tag.PatientID: ""} {
		if got, ok := d.Creator(tg); got != want || ok != (want != "") {
			t.Errorf("%v: %q, %t, want %q", tg, got, ok, want)
		}
	}
}

func TestValuesAreSetInTheElementsOwnVR(t *testing.T) {
	t.Parallel()
	d := dicom.NewDataset()
	for _, err := range []error{
		d.SetString(tag.ImageType, "A", "B"), d.SetInts(tag.Rows, 512), d.SetInts(tag.InstanceNumber, -1, 2), d.SetFloats(tag.PixelSpacing, 0.5, 1.0/3),
		d.SetFloats(tag.RecommendedDisplayFrameRateInFloat, 0.5), d.SetFloats(tag.RealWorldValueSlope, 0.5), d.SetText(0x00291008, vr.SH, "x"),
		d.SetInts(tag.SmallestImagePixelValue, 7), d.SetInts(tag.SelectorUVValue, 1<<40), d.SetInts(tag.SelectorSLValue, -5),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want := []string{
		`(0008,0008) CS undefined=false 415c42` + "20",
		"(0008,9459) FL undefined=false 0000003f",
		"(0020,0013) IS undefined=false 2d315c32",
		"(0028,0010) US undefined=false 0002",
		"(0028,0030) DS undefined=false 302e355c302e3333333333333333333333333333",
		"(0028,0106) US undefined=false 0700",
		"(0029,1008) SH undefined=false 7820",
		"(0040,9225) FD undefined=false 000000000000e03f",
		"(0072,007C) SL undefined=false fbffffff",
		"(0072,0083) UV undefined=false 0000000000010000",
	}
	got := lines(d)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, err := range []error{d.SetString(tag.Rows, "x"), d.SetInts(tag.PatientName, 1), d.SetFloats(tag.PatientName, 1), d.SetString(0x00291009, "x")} {
		if !errors.Is(err, dicom.ErrValue) {
			t.Errorf("a value that does not fit: %v, want ErrValue", err)
		}
	}
}

func TestClearLeavesAnEmptyElement(t *testing.T) {
	t.Parallel()
	d := dicom.NewDataset(dicom.Text(tag.PatientID, "a"), dicom.Sequence(tag.ContentSequence, dicom.NewDataset()))
	for _, tg := range []dicom.Tag{tag.PatientID, tag.ContentSequence} {
		if e, _ := d.Get(tg); !d.Clear(tg) || !e.IsEmpty() || e.VR == 0 {
			t.Errorf("%v is %v", tg, e)
		}
	}
	if d.Clear(tag.Rows) {
		t.Error("cleared what is not there")
	}
}

func TestDecimalStringsKeepWithinSixteenCharacters(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0", 1: "1", -1.0 / 3: "-0.3333333333333", 1e100: "1e+100", -1.2345678901234567e-100: "-1.23456789e-100", 123456789.123456789: "123456789.123457",
	} {
		got := dicom.FormatDS(f)
		if len(got) > 16 {
			t.Errorf("%v is %q, of %d characters", f, got, len(got))
		}
		if got != want {
			t.Errorf("%v is %q, want %q", f, got, want)
		}
	}
}

func TestConstructorsRefuseAnotherKindOfValue(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a name made of integers")
		}
	}()
	dicom.Ints(tag.PatientName, 1)
}

func TestLooksLikeTellsDICOMByItsFirstBytes(t *testing.T) {
	t.Parallel()
	name := explicit(tag.PatientName, vr.PN, "A^B ")
	for _, c := range []struct {
		name string
		head []byte
		want bool
	}{
		{"a file", explicitFile(name), true},
		{"a file whose letters are damaged", join(make([]byte, 132), explicitFile(name)[132:]), true},
		{"a data set", join(explicit(tag.Modality, vr.CS, "CT"), name), true},
		{"an implicit data set", join(implicit(tag.Modality, "CT")), true},
		{"a long first value", join(head(tag.TextValue, vr.UT, 100)), false},
		{"a ZIP", []byte("PK\x03\x04\x14\x00\x00\x00\x08\x00abcdefgh"), false},
		{"a PNG", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), false},
		{"text", []byte("Once upon a time there was a patient"), false},
		{"zeros", make([]byte, 200), false},
		{"nothing", nil, false},
	} {
		if got := dicom.LooksLike(c.head[:min(len(c.head), 200)]); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}
