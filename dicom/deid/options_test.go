package deid

import (
	"bytes"
	"slices"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// item is a content item of a structured report.
func item(concept, scheme, valueType string, values ...*dicom.Element) *dicom.Dataset {
	d := dicom.NewDataset(
		dicom.Text(tag.RelationshipType, "CONTAINS"), dicom.Text(tag.ValueType, valueType),
		dicom.Sequence(tag.ConceptNameCodeSequence, code(concept, scheme, "a concept")))
	for _, e := range values {
		d.Set(e)
	}
	return d
}

// report is a structured report with one item of each kind that matters.
func report() *dicom.Dataset {
	d := ct(dicom.Sequence(tag.ContentSequence,
		item("121106", "DCM", "TEXT", dicom.Text(tag.TextValue, "Comment by Dr. Grault")),
		item("121008", "DCM", "PNAME", dicom.Text(tag.PersonName, "Grault^Ida")),
		item("121012", "DCM", "UIDREF", dicom.Text(tag.UID, "1.2.3.4.5.6.7.8.55")),
		item("121012x", "99QUUX", "TEXT", dicom.Text(tag.TextValue, "Quux has a nodule, seen 4.3.2021")),
		item("113691x", "99QUUX", "NUM", dicom.Sequence(tag.MeasuredValueSequence, dicom.NewDataset(dicom.Text(tag.NumericValue, "5")))),
		item("125007x", "99QUUX", "CONTAINER", dicom.Sequence(tag.ContentSequence,
			item("121106", "DCM", "TEXT", dicom.Text(tag.TextValue, "deep comment")),
			item("deep", "99QUUX", "IMAGE", dicom.Sequence(tag.ReferencedSOPSequence, dicom.NewDataset(
				dicom.Text(tag.ReferencedSOPClassUID, uid.CTImageStorage), dicom.Text(tag.ReferencedSOPInstanceUID, "1.2.3.4.5.6.7.8.1"))))))))
	d.Set(dicom.Text(tag.PatientName, "Quux^Fred"))
	d.Remove(tag.PixelData)
	return d
}

func TestStructuredContentStaysWithoutWhatIdentifies(t *testing.T) {
	t.Parallel()
	items := leaves(t, Options{CleanStructuredContent: true}, report()).Items(tag.ContentSequence)
	if len(items) != 6 {
		t.Fatalf("%d items, want 6: references by position would go astray", len(items))
	}
	if got := text(items[0], tag.TextValue); got != dummyText {
		t.Errorf("a comment became %q", got)
	}
	if got := text(items[1], tag.PersonName); got != dummyText {
		t.Errorf("an observer became %q", got)
	}
	if got := text(items[2], tag.UID); got != MapUID(someone().UIDKey, "1.2.3.4.5.6.7.8.55") {
		t.Errorf("a device became %q", got)
	}
	if got := text(items[3], tag.TextValue); got != "*** has a nodule, seen ***" {
		t.Errorf("a finding became %q", got)
	}
	if got := text(items[4].Items(tag.MeasuredValueSequence)[0], tag.NumericValue); got != "5" {
		t.Errorf("a measurement became %q", got)
	}
	deep := items[5].Items(tag.ContentSequence)
	if got := text(deep[0], tag.TextValue); got != dummyText {
		t.Errorf("a comment further down became %q", got)
	}
	if got := text(deep[1].Items(tag.ReferencedSOPSequence)[0], tag.ReferencedSOPInstanceUID); got != MapUID(someone().UIDKey, "1.2.3.4.5.6.7.8.1") {
		t.Errorf("a reference became %q", got)
	}
}

func TestOptionsReachIntoStructuredContent(t *testing.T) {
	t.Parallel()
	o := Options{CleanStructuredContent: true, CleanDescriptors: true, RetainDevice: true}
	items := leaves(t, o, report()).Items(tag.ContentSequence)
	if got := text(items[0], tag.TextValue); got != "Comment by ***" {
		t.Errorf("a comment became %q", got)
	}
	if got := text(items[2], tag.UID); got != "1.2.3.4.5.6.7.8.55" {
		t.Errorf("a device that was to stay became %q", got)
	}
}

func TestWithoutTheOptionContentBecomesADummy(t *testing.T) {
	t.Parallel()
	items := leaves(t, Options{}, report()).Items(tag.ContentSequence)
	if len(items) != 1 || text(items[0], tag.TextValue) != dummyText {
		t.Errorf("%d items, the first says %q", len(items), text(items[0], tag.TextValue))
	}
}

func TestContentValuesByTheTable(t *testing.T) {
	t.Parallel()
	date := dicom.Text(tag.Date, "20210304")
	cases := []struct {
		name string
		item *dicom.Dataset
		o    Options
		at   tag.Tag
		want string
	}{
		{"a study date that may go or be a dummy", item("111060", "DCM", "DATE", date), Options{}, tag.Date, dummyDate},
		{"a study date that moves", item("111060", "DCM", "DATE", date), Options{ShiftDates: true}, tag.Date, "20200112"},
		{"a study date that stays", item("111060", "DCM", "DATE", date), Options{RetainFullDates: true}, tag.Date, "20210304"},
		{"a birth date goes always", item("121031", "DCM", "DATE", date), Options{RetainFullDates: true}, tag.TextValue, dummyText},
		{"a sex goes", item("121032", "DCM", "CODE", dicom.Sequence(tag.ConceptCodeSequence, code("F", "DCM", "Female"))), Options{}, tag.TextValue, dummyText},
		{"a subject's name is a dummy", item("121029", "DCM", "PNAME", dicom.Text(tag.PersonName, "Quux")), Options{}, tag.PersonName, dummyText},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.o.CleanStructuredContent = true
			items := leaves(t, c.o, ct(dicom.Sequence(tag.ContentSequence, c.item))).Items(tag.ContentSequence)
			if got := text(items[0], c.at); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestDescriptorsStayWithoutWhatIdentifies(t *testing.T) {
	t.Parallel()
	cases := []struct{ description, want string }{
		{"CT chest 512x512", "CT chest 512x512"},
		{"Fred Quux CT chest", "*** CT chest"},
		{"CT 04.03.2021 for Dr. Grault", "CT *** for ***"},
		{"2021-03-04 and 3 Mar 21", "*** and ***"},
		{"call 030 1234-567", "call ***"},
		{"case 4711008", "case ***"},
		{"mail ida@clinic.example now", "mail *** now"},
		{"read by Ida Grault, MD", "read by ***"},
		{"Grault asks", "*** asks"},
	}
	for _, c := range cases {
		t.Run(c.description, func(t *testing.T) {
			t.Parallel()
			d := ct(dicom.Text(tag.PatientName, "Quux^Fred"), dicom.Text(tag.ReferringPhysicianName, "Grault^Ida"), dicom.Text(tag.SeriesDescription, c.description))
			if got := text(leaves(t, Options{CleanDescriptors: true}, d), tag.SeriesDescription); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestADescriptionStaysThoughAPrivateCopyGoes: makers copy descriptions into blocks of their own.
func TestADescriptionStaysThoughAPrivateCopyGoes(t *testing.T) {
	t.Parallel()
	d := ct(dicom.Text(tag.SeriesDescription, "Surview"), dicom.New(0x00190010, vr.LO, []byte("QUUX INC")), dicom.New(0x00191001, vr.LO, []byte("Surview")),
		dicom.Text(tag.SequenceName, "Surview"))
	out := leaves(t, Options{CleanDescriptors: true}, d)
	if text(out, tag.SeriesDescription) != "Surview" || text(out, tag.SequenceName) != "***" {
		t.Errorf("left: %q", values(out))
	}
}

func TestGraphicsStayWithoutTheirText(t *testing.T) {
	t.Parallel()
	annotation := func() *dicom.Element {
		return dicom.Sequence(tag.GraphicAnnotationSequence, dicom.NewDataset(dicom.Text(tag.GraphicLayer, "LAYER1"),
			dicom.Sequence(tag.TextObjectSequence, dicom.NewDataset(dicom.Text(tag.UnformattedTextValue, "this is Quux"))),
			dicom.Sequence(tag.GraphicObjectSequence, dicom.NewDataset(dicom.Text(tag.GraphicType, "CIRCLE")))))
	}
	said := func(o Options) (string, string) {
		d := leaves(t, o, ct(annotation(), dicom.Text(tag.PatientName, "Quux^Fred"))).Items(tag.GraphicAnnotationSequence)[0]
		shape := "(absent)"
		if shapes := d.Items(tag.GraphicObjectSequence); len(shapes) > 0 {
			shape = text(shapes[0], tag.GraphicType)
		}
		return text(d.Items(tag.TextObjectSequence)[0], tag.UnformattedTextValue), shape
	}
	if words, shape := said(Options{}); words != dummyText || shape != "(absent)" {
		t.Errorf("basic: %q, %q", words, shape)
	}
	if words, shape := said(Options{CleanGraphics: true}); words != dummyText || shape != "CIRCLE" {
		t.Errorf("graphics: %q, %q", words, shape)
	}
	if words, shape := said(Options{CleanGraphics: true, CleanDescriptors: true}); words != "this is ***" || shape != "CIRCLE" {
		t.Errorf("graphics and descriptors: %q, %q", words, shape)
	}
}

func TestOverlaysStayOnlyIfSomebodyLooked(t *testing.T) {
	t.Parallel()
	d := ct(dicom.Ints(0x60000010, 4), dicom.Ints(0x60000011, 4), dicom.New(0x60003000, vr.OW, []byte{1, 2}),
		dicom.New(0x60001500, vr.LO, []byte("of Quux ")), dicom.Text(tag.PatientName, "Quux^Fred"))
	if leaves(t, Options{CleanGraphics: true}, d).Has(0x60003000) {
		t.Error("an overlay that nobody looked at is still there")
	}
	s := someone()
	s.PixelsReviewed = true
	_, out, _ := applied(t, plan(t, Options{CleanGraphics: true}), file(t, d), s)
	if !out.Dataset.Has(0x60003000) || text(out.Dataset, 0x60001500) != "of ***" {
		t.Errorf("overlay there: %v, its label %q", out.Dataset.Has(0x60003000), text(out.Dataset, 0x60001500))
	}
	_, out, _ = applied(t, plan(t, Options{}), file(t, d), s)
	if out.Dataset.Has(0x60003000) {
		t.Error("an overlay stays without the option")
	}
}

// private is an image with blocks of three creators.
func private() *dicom.Dataset {
	return ct(
		dicom.New(0x00190010, vr.LO, []byte("GEMS_ACQU_01")), dicom.New(0x00191023, vr.DS, []byte("1.25")), // listed
		dicom.New(0x00191002, vr.SL, []byte{1, 0, 0, 0}), // not listed
		dicom.New(0x0019109E, vr.LO, []byte("for Quux")), // listed, but it names the patient
		dicom.New(0x00290010, vr.LO, []byte("QUUX INC")), dicom.New(0x00291001, vr.LO, []byte("harmless")),
		dicom.New(0x00310010, vr.LO, []byte("SOMEBODY")), dicom.New(0x00311001, vr.DA, []byte("20210304")),
		dicom.New(0x00311002, vr.UI, []byte("1.2.3.4.5.6.7.8.1")), dicom.New(0x00311003, vr.LO, []byte("secret")),
		dicom.New(0x00311004, vr.PN, []byte("Grault")), dicom.New(0x00311005, vr.UN, []byte("what is it")),
		dicom.Sequence(0x00311006, dicom.NewDataset(dicom.Text(tag.PatientComments, "gone"), dicom.Text(tag.CodeMeaning, "left"))),
		dicom.Text(tag.PatientName, "Quux^Fred"),
		dicom.Sequence(tag.PrivateDataElementCharacteristicsSequence,
			dicom.NewDataset(dicom.Ints(tag.PrivateGroupReference, 0x31), dicom.Text(tag.PrivateCreatorReference, "SOMEBODY"),
				dicom.Text(tag.BlockIdentifyingInformationStatus, "MIXED"), dicom.Ints(tag.NonidentifyingPrivateElements, 1, 2, 4, 5, 6))))
}

func TestSafePrivateElementsStay(t *testing.T) {
	t.Parallel()
	out := leaves(t, Options{RetainSafePrivate: true, ShiftDates: true}, private())
	want := map[tag.Tag]string{
		0x00190010: "GEMS_ACQU_01", 0x00191023: "1.25", 0x00191002: "(absent)", 0x0019109E: "for ***",
		0x00290010: "(absent)", 0x00291001: "(absent)", 0x00310010: "SOMEBODY", 0x00311001: "20200112",
		0x00311002: MapUID(someone().UIDKey, "1.2.3.4.5.6.7.8.1"), 0x00311003: "(absent)", 0x00311004: "(absent)", 0x00311005: "(absent)",
	}
	for at, s := range want {
		if got := text(out, at); got != s {
			t.Errorf("%v: %q, want %q", at, got, s)
		}
	}
	inner := out.Items(0x00311006)
	if len(inner) != 1 || inner[0].Has(tag.PatientComments) || text(inner[0], tag.CodeMeaning) != "left" {
		t.Errorf("a private sequence: %v", inner)
	}
}

// TestSafePrivateElementsStayInImplicitVR: there the reader finds no VR, and the table has one.
func TestSafePrivateElementsStayInImplicitVR(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := dicom.Write(&b, dicom.NewFile(private(), uid.ExplicitLE), dicom.As(uid.ImplicitLE)); err != nil {
		t.Fatal(err)
	}
	_, out, _ := applied(t, plan(t, Options{RetainSafePrivate: true}), parse(t, b.Bytes()), someone())
	if text(out.Dataset, 0x00191023) != "1.25" || text(out.Dataset, 0x0019109E) != "for ***" || out.Dataset.Has(0x00311003) {
		t.Errorf("left: %q", values(out.Dataset))
	}
}

func TestEveryOptionThatIsOfferedIsCarriedOut(t *testing.T) {
	t.Parallel()
	want := []string{
		"retainUids", "retainDevice", "retainInstitution", "retainPatientCharacteristics", "retainFullDates", "shiftDates",
		"cleanDescriptors", "cleanStructuredContent", "cleanGraphics", "retainSafePrivate", "emptyTimes",
	}
	if got := Supported(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, o := range options {
		if !slices.ContainsFunc(methodCodes[:], func(c methodCode) bool { return c.value == o.code }) {
			t.Errorf("%s has a code that CID 7050 lacks: %s", o.name, o.code)
		}
	}
}

// TestOneThatCleansGoesBeforeOneThatKeeps: keeping a device must not undo that dates are shifted.
func TestOneThatCleansGoesBeforeOneThatKeeps(t *testing.T) {
	t.Parallel()
	d := ct(dicom.Text(tag.DateOfLastCalibration, "20210304"))
	if got := text(leaves(t, Options{RetainDevice: true, ShiftDates: true}, d), tag.DateOfLastCalibration); got != "20200112" {
		t.Errorf("a calibration date became %q", got)
	}
	if got := text(leaves(t, Options{RetainDevice: true}, d), tag.DateOfLastCalibration); got != "20210304" {
		t.Errorf("a calibration date became %q", got)
	}
}
