package deid

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// plants makes values that stand nowhere by chance, and remembers them.
type plants struct{ all []string }

func (p *plants) next() string {
	s := fmt.Sprintf("QWZ%09dKJ", 417*(len(p.all)+1)) // 14 characters, legal in every text VR
	p.all = append(p.all, s)
	return s
}

// found are the planted values that stand in b.
func (p *plants) found(b []byte) []string {
	var found []string
	for _, s := range p.all {
		if bytes.Contains(bytes.ToUpper(b), []byte(s)) {
			found = append(found, s)
		}
	}
	return found
}

// planted is an image with a value in every place where identity hides.
func planted(p *plants) *dicom.Dataset {
	lo := func(t tag.Tag) *dicom.Element { return dicom.New(t, vr.LO, []byte(p.next())) }
	name := p.next()
	pixels := append(bytes.Repeat([]byte{0x23, 0x01}, 16), p.next()...)
	icon := dicom.NewDataset(dicom.New(tag.PixelData, vr.OB, []byte(p.next())), lo(tag.CodeMeaning))
	d := ct(
		dicom.Text(tag.PatientName, name+"^Fred"), lo(tag.PatientID), lo(tag.OtherPatientIDs), lo(tag.AccessionNumber),
		lo(tag.InstitutionName), lo(tag.StudyDescription), lo(tag.ProtocolName), lo(tag.PatientComments),
		dicom.New(tag.PatientAge, vr.LO, []byte(p.next())), // not an age at all
		lo(0x00101234), lo(0x00090010), dicom.New(0x00091001, vr.UN, []byte(p.next())), lo(0x00091002),
		dicom.New(0x00080104, vr.LO, []byte("seen by "+name)),
		dicom.New(tag.SequenceName, vr.SH, []byte(name)),
		dicom.New(tag.BodyPartExamined, vr.CS, []byte(name)),
		dicom.New(tag.Manufacturer, vr.LO, []byte(strings.ToLower(name))),
		dicom.New(0x50000022, vr.LO, []byte(p.next())), dicom.New(0x60001500, vr.LO, []byte(p.next())),
		dicom.New(0x60003000, vr.OW, []byte(p.next())), dicom.New(0x60004000, vr.LT, []byte(p.next())),
		dicom.Sequence(tag.IconImageSequence, icon),
		dicom.Sequence(tag.OriginalAttributesSequence, dicom.NewDataset(lo(tag.PatientID))),
		dicom.Sequence(tag.ReferencedImageSequence, dicom.NewDataset(lo(tag.PatientID), lo(0x00290010), lo(0x00291010),
			dicom.Sequence(0x00291011, dicom.NewDataset(lo(tag.CodeMeaning))))),
		dicom.Sequence(tag.DigitalSignaturesSequence, dicom.NewDataset(lo(tag.CodeMeaning))),
		dicom.New(tag.DataSetTrailingPadding, vr.OB, []byte(p.next())),
		dicom.New(tag.DeidentificationMethod, vr.LO, []byte(p.next())),
		dicom.New(tag.PixelData, vr.OW, pixels))
	return d
}

// withPlantedHeader puts values into the preamble, the meta information and behind the data set.
func withPlantedHeader(t *testing.T, p *plants, d *dicom.Dataset) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := dicom.Write(&b, dicom.NewFile(d, uid.ExplicitLE)); err != nil {
		t.Fatal(err)
	}
	raw := b.Bytes()
	copy(raw, p.next())
	source := p.next()
	element := append([]byte{0x02, 0x00, 0x16, 0x00, 'A', 'E', byte(len(source)), 0}, source...)
	// Group 0002 begins with its length: 12 bytes, the value in the last four.
	raw[132+8] += byte(len(element))
	end := 132 + 12 + int(raw[132+8]) - len(element) // below 256 for these UIDs
	return append(append(append([]byte(nil), raw[:end]...), element...), raw[end:]...)
}

func TestPlantedValuesStandNowhereInWhatLeaves(t *testing.T) {
	t.Parallel()
	all := map[string]Options{
		"basic":    {},
		"retained": {RetainUIDs: true, RetainDevice: true, RetainPatientCharacteristics: true, RetainFullDates: true, RetainSafePrivate: true},
		"cleaned":  {ShiftDates: true, CleanDescriptors: true, CleanStructuredContent: true, CleanGraphics: true},
	}
	for name, o := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &plants{}
			raw := withPlantedHeader(t, p, planted(p))
			f := parse(t, raw)
			if len(p.found(raw)) != len(p.all) {
				t.Fatal("the test did not plant what it looks for")
			}
			if o.CleanDescriptors { // what is asked for stays: only the names in it may not
				for _, at := range []tag.Tag{tag.StudyDescription, tag.ProtocolName, tag.PatientComments} {
					f.Dataset.Remove(at)
				}
			}
			out, _, report := applied(t, plan(t, o), f, someone())
			if left := p.found(out); len(left) > 0 {
				t.Errorf("%v left; the data set: %q", left, values(parse(t, out).Dataset))
			}
			if left := p.found([]byte(report.String())); len(left) > 0 {
				t.Errorf("the report repeats %v", left)
			}
		})
	}
}

func TestTextInUNIsReadBeforeItIsJudged(t *testing.T) {
	t.Parallel()
	d := ct(dicom.New(tag.StudyDescription, vr.UN, []byte("Fred Quux, knee ")), dicom.New(tag.PatientName, vr.UN, []byte("Quux^Fred ")),
		dicom.New(tag.SequenceName, vr.UN, []byte("for Quux")))
	out := leaves(t, Options{}, d)
	if out.Has(tag.StudyDescription) || text(out, tag.PatientName) != "P0001" || text(out, tag.SequenceName) != "for ***" {
		t.Errorf("left: %q", values(out))
	}
}

// TestThePatientIsFoundInTextThatStays: the case name says in which disguise.
func TestThePatientIsFoundInTextThatStays(t *testing.T) {
	t.Parallel()
	cases := []struct{ disguise, kept, want string }{
		{"as it is", "scan of Quux", "scan of ***"},
		{"in capitals", "FREDERICK Q. QUUX", "*** Q. ***"},
		{"without spaces", "FrederickQuux 1", "*** 1"},
		{"within a word of one's own, if it is long", "xFrederickson", "x***son"},
		{"but not within a word, if it is short", "Quuxen", "Quuxen"},
		{"with an accent", "Quüx", "***"},
		{"in full-width letters", "ＱＵＵＸ様", "***様"},
		{"the number with dashes", "no 12-34-567", "no ***"},
		{"the birth date as Germans write it", "born 04.03.1921", "born ***"},
		{"the birth date as Americans write it", "born 03/04/1921", "born ***"},
		{"the birth date in words", "born 4 March 1921", "born ***"},
		{"an accession number", "see ACC77", "see ***"},
		{"a value that was removed elsewhere", "Northside", "***"},
		{"a description that was removed", "hip left, see note", "***, see note"},
		{"a UID", "of 1.2.3.4.5.6.7.8.1 there", "of *** there"},
		{"the day of the study in another form", "on 05.03.2021", "on ***"},
		{"nobody", "axial T1 pre", "axial T1 pre"},
	}
	for _, c := range cases {
		t.Run(c.disguise, func(t *testing.T) {
			t.Parallel()
			d := ct(dicom.Text(tag.PatientName, "Quux^Frederick"), dicom.Text(tag.PatientID, "1234567"),
				dicom.Text(tag.PatientBirthDate, "19210304"), dicom.Text(tag.AccessionNumber, "ACC77"),
				dicom.Text(tag.InstitutionName, "Northside"), dicom.Text(tag.StudyDate, "20210305"),
				dicom.Text(tag.StudyDescription, "Hip left"),
				dicom.Text(tag.SpecificCharacterSet, "ISO_IR 192"), dicom.Text(tag.AcquisitionProtocolName, c.kept))
			if got := text(leaves(t, Options{}, d), tag.AcquisitionProtocolName); got != c.want {
				t.Errorf("%q became %q, want %q", c.kept, got, c.want)
			}
		})
	}
}

// TestThePatientIsFoundInEveryScript: names are compared as text, whatever bytes they are in.
func TestThePatientIsFoundInEveryScript(t *testing.T) {
	t.Parallel()
	cases := []struct{ charset, name, kept, want string }{
		{"ISO_IR 100", "Müller^Jörg", "Herr MÜLLER", "Herr ***"},
		{"ISO_IR 144", "Иванов^Пётр", "снимок ИВАНОВ", "снимок ***"},
		{"ISO_IR 126", "Διονυσιος", "ΔΙΟΝΥΣΙΟΣ κεφ", "*** κεφ"},
		{"ISO_IR 192", "Wang^XiaoDong=王^小東大", "見る小東大です", "見る***です"},
		{"GB18030", "Wang^XiaoDong=王小东", "患者王小东头部", "患者***头部"},
		{`\ISO 2022 IR 87`, "Yamada^Tarou=山田中^太郎丸", "検査 山田中", "検査 ***"},
		{`\ISO 2022 IR 149`, "Hong^Gildong=홍길동", "환자 홍길동 님", "환자 *** 님"},
	}
	for _, c := range cases {
		t.Run(c.charset, func(t *testing.T) {
			t.Parallel()
			d := ct(dicom.New(tag.SpecificCharacterSet, vr.CS, []byte(c.charset)))
			for at, s := range map[tag.Tag]string{tag.PatientName: c.name, tag.AcquisitionProtocolName: c.kept} {
				if err := d.SetString(at, s); err != nil {
					t.Fatal(err)
				}
			}
			if got := text(leaves(t, Options{}, d), tag.AcquisitionProtocolName); got != c.want {
				t.Errorf("%q became %q, want %q", c.kept, got, c.want)
			}
		})
	}
}

// TestANameInUndeclaredBytesIsFound: the text is not what its character set says, and goes as a whole.
func TestANameInUndeclaredBytesIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ charset, kept string }{{"ISO_IR 100", "of M\u00fcller"}, {"ISO_IR 144", "of M\u00fcller"}, {"ISO_IR 192", "of M\xfcller"}} {
		d := ct(dicom.New(tag.SpecificCharacterSet, vr.CS, []byte(c.charset)), dicom.New(tag.AcquisitionProtocolName, vr.LO, []byte(c.kept)))
		s := someone()
		s.Identity.Names = []string{"M\u00fcller"}
		_, out, _ := applied(t, plan(t, Options{}), file(t, d), s)
		if got := text(out.Dataset, tag.AcquisitionProtocolName); got != "" {
			t.Errorf("%s: left %q", c.charset, got)
		}
	}
}

// dictionaryText are the tags of data sets that the standard knows and that hold text.
func dictionaryText() []tag.Tag {
	groups := []uint32{0x5200, 0x5400, 0x5600, 0x0100, 0x0400, 0x2000, 0x2010, 0x2020, 0x2030, 0x2040, 0x2050, 0x2100, 0x2110, 0x2120,
		0x2130, 0x2200, 0x3002, 0x3004, 0x3006, 0x3008, 0x300A, 0x300C, 0x300E, 0x3010, 0x4000, 0x4008, 0x4010, 0x5000, 0x6000}
	for g := uint32(0x0008); g <= 0x0088; g += 2 {
		groups = append(groups, g)
	}
	var all []tag.Tag
	for _, g := range groups {
		for element := range uint32(1 << 16) {
			at := tag.Tag(g<<16 | element)
			if entry, ok := at.Lookup(); ok && entry.VR().IsString() && !at.IsGroupLength() {
				all = append(all, at)
			}
		}
	}
	return all
}

// TestTheNameSurvivesInNoElementOfTheDictionary writes the patient's name into each element that the
// standard knows and that can hold text, whatever it is for.
func TestTheNameSurvivesInNoElementOfTheDictionary(t *testing.T) {
	t.Parallel()
	const name = "GARPLYQUUX"
	all := dictionaryText()
	if len(all) < 2900 {
		t.Fatalf("only %d elements hold text", len(all))
	}
	for _, o := range []Options{{}, chosen(0xFFFF &^ 0x20), chosen(0x03FF &^ 0x10 &^ 1)} {
		var elements []*dicom.Element
		for _, at := range all {
			elements = append(elements, dicom.New(at, dictionaryVR(at), []byte(name)))
		}
		d := ct(elements...)
		d.Set(dicom.Text(tag.SOPClassUID, uid.CTImageStorage))
		d.Set(nested(1, dicom.Sequence(tag.ReferencedSOPSequence, dicom.NewDataset(elements...))))
		s := someone()
		s.PixelsReviewed = true
		b, out, _ := applied(t, plan(t, o), dicom.NewFile(d, uid.ExplicitLE), s)
		if bytes.Contains(bytes.ToUpper(b), []byte(name)) {
			for n := range out.Dataset.Walk() {
				if bytes.Contains(n.Element.Value, []byte(name)) {
					t.Errorf("%+v: %v %s %v", o, n.Path, n.Element.Tag.Keyword(), n.Element.VR)
				}
			}
		}
	}
}

func TestAShortNameBlanksTheWholeText(t *testing.T) {
	t.Parallel()
	d := ct(dicom.Text(tag.PatientName, "Wu^Li"), dicom.Text(tag.AcquisitionProtocolName, "head of Wu"),
		dicom.Text(tag.SequenceName, "Wurst"), dicom.Text(tag.ImageType, `ORIGINAL\PRIMARY`))
	out := leaves(t, Options{}, d)
	if got := text(out, tag.AcquisitionProtocolName); got != "" {
		t.Errorf("what is left: %q", got)
	}
	if got := text(out, tag.SequenceName); got != "Wurst" {
		t.Errorf("a word that begins like a name became %q", got)
	}
}

// TestWhatTheStudyKnowsIsSearchedForToo: a file that lacks the name may still speak it.
func TestWhatTheStudyKnowsIsSearchedForToo(t *testing.T) {
	t.Parallel()
	s := someone()
	s.Identity = Identity{Names: []string{"Quux^Fred"}, IDs: []string{"ID-4711"}, BirthDates: []string{"19210304"}}
	d := ct(dicom.Text(tag.AcquisitionProtocolName, "Quux id4711 1921-03-04"))
	_, out, _ := applied(t, plan(t, Options{}), file(t, d), s)
	if got := text(out.Dataset, tag.AcquisitionProtocolName); got != "*** *** ***" {
		t.Errorf("what is left: %q", got)
	}
}

// TestOtherPeoplesNamesCostNoTerms: an operator called Philips Service must not cost the file its maker.
func TestOtherPeoplesNamesCostNoTerms(t *testing.T) {
	t.Parallel()
	d := ct(dicom.Text(tag.OperatorsName, "Philips^MR"), dicom.Text(tag.Manufacturer, "Philips"), dicom.Text(tag.SequenceName, "MR of Philips"))
	out := leaves(t, Options{}, d)
	if text(out, tag.Manufacturer) != "Philips" || text(out, tag.SequenceName) != "MR of ***" {
		t.Errorf("left: %q", values(out))
	}
}

// TestNumbersAreNoIdentity: an image must not lose its 120 kV to a patient with the ID 120.
func TestNumbersAreNoIdentity(t *testing.T) {
	t.Parallel()
	d := ct(dicom.Text(tag.PatientID, "120"), dicom.Text(tag.PatientName, "AXIAL^PRIMARY"),
		dicom.New(tag.KVP, vr.DS, []byte("120 ")), dicom.Text(tag.ImageType, `ORIGINAL\PRIMARY\AXIAL`),
		dicom.Text(tag.SpecificCharacterSet, "ISO_IR 100"), dicom.Text(tag.OtherPatientIDs, "100"))
	out := leaves(t, Options{}, d)
	if text(out, tag.KVP) != "120" || text(out, tag.ImageType) != `ORIGINAL\PRIMARY\AXIAL` {
		t.Errorf("left: %q", values(out))
	}
}
