package dicom_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// The rules of PS3.18 Annex F, one at a time.
func TestTheJSONModel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		element *dicom.Element
		want    string
	}{
		{"text", dicom.Text(tag.ImageType, "A", "B"), `"00080008":{"vr":"CS","Value":["A","B"]}`},
		{"text that must be escaped", dicom.Text(tag.PatientID, "\"\x01<"), `"00100020":{"vr":"LO","Value":["\"\u0001\u003c"]}`},
		{"no value", dicom.Text(tag.PatientID, ""), `"00100020":{"vr":"LO"}`},
		{"an empty value among others", dicom.Text(tag.ImageType, "A", "", "B"), `"00080008":{"vr":"CS","Value":["A",null,"B"]}`},
		{"a name", dicom.Text(tag.PatientName, "A^B=C=D"), `"00100010":{"vr":"PN","Value":[{"Alphabetic":"A^B","Ideographic":"C","Phonetic":"D"}]}`},
		{"a name of delimiters", dicom.Text(tag.PatientName, "^^"), `"00100010":{"vr":"PN"}`},
		{"an integer string", dicom.Text(tag.InstanceNumber, "+12", "x"), `"00200013":{"vr":"IS","Value":[12,"x"]}`},
		{"a decimal string", dicom.Text(tag.PixelSpacing, "0.50", "1e3"), `"00280030":{"vr":"DS","Value":[0.5,1000]}`},
		{"a number", dicom.Ints(tag.Rows, 512), `"00280010":{"vr":"US","Value":[512]}`},
		{"a single float", dicom.Floats(tag.RecommendedDisplayFrameRateInFloat, 0.1), `"00089459":{"vr":"FL","Value":[0.1]}`},
		{"no numbers of JSON", dicom.Floats(tag.RealWorldValueSlope, math.NaN(), math.Inf(1), math.Inf(-1)), `"00409225":{"vr":"FD","Value":["NaN","inf","-inf"]}`},
		{"a long number", dicom.Ints(tag.SelectorSVValue, 12, -1<<62), `"00720082":{"vr":"SV","Value":[12,"-4611686018427387904"]}`},
		{"an unsigned long number", dicom.Ints(tag.SelectorUVValue, 12, -1), `"00720083":{"vr":"UV","Value":[12,"18446744073709551615"]}`},
		{"a tag", dicom.New(tag.FrameIncrementPointer, vr.AT, []byte{0x18, 0, 0x63, 0x10}), `"00280009":{"vr":"AT","Value":["00181063"]}`},
		{"bytes", dicom.New(tag.PixelData, vr.OB, []byte{1, 2, 3}), `"7FE00010":{"vr":"OB","InlineBinary":"AQIDAA=="}`},
		{"a sequence", dicom.Sequence(tag.ContentSequence, dicom.NewDataset(), dicom.NewDataset(dicom.Text(tag.Modality, "CT"))), `"0040A730":{"vr":"SQ","Value":[{},{"00080060":{"vr":"CS","Value":["CT"]}}]}`},
		{"a character set", dicom.Text(tag.SpecificCharacterSet, "ISO_IR 100"), `"00080005":{"vr":"CS","Value":["ISO_IR 192"]}`},
		{"a group length", dicom.Ints(0x00100000, 4), ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := dicom.WriteJSON(&b, dicom.NewDataset(c.element), nil); err != nil {
				t.Fatal(err)
			}
			if want := "{" + c.want + "}\n"; b.String() != want {
				t.Errorf("%s, want %s", b.String(), want)
			}
		})
	}
}

func TestBulkDataIsNamedByItsURI(t *testing.T) {
	t.Parallel()
	compressed := func() *dicom.Element {
		return dicom.Encapsulated(tag.PixelData, vr.OB, dicom.NewFragments([]byte("ab")))
	}
	d := dicom.NewDataset(dicom.Sequence(tag.ContentSequence, dicom.NewDataset(compressed())), compressed())
	var b bytes.Buffer
	if err := dicom.WriteJSON(&b, d, func(n dicom.Node) string { return "#" + n.Path.String() }); err != nil {
		t.Fatal(err)
	}
	want := `{"0040A730":{"vr":"SQ","Value":[{"7FE00010":{"vr":"OB","BulkDataURI":"#(0040,A730)[1] \u003e (7FE0,0010)"}}]},"7FE00010":{"vr":"OB","BulkDataURI":"#(7FE0,0010)"}}` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	if err := dicom.WriteJSON(io.Discard, d, nil); !errors.Is(err, dicom.ErrSyntax) {
		t.Errorf("compressed pixels without a URI: %v, want ErrSyntax", err)
	}
}

func TestJSONThatCannotBeMadeIsAnError(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	for name, c := range map[string]struct {
		element *dicom.Element
		want    error
	}{
		"a torn number":                {&dicom.Element{Tag: tag.Rows, VR: vr.US, Value: []byte("abc")}, dicom.ErrValue},
		"a text of 2 MiB":              {dicom.NewLarge(tag.TextValue, vr.UT, io.NewSectionReader(section(10), 0, 2<<20)), dicom.ErrTooLarge},
		"a source that became shorter": {dicom.NewLarge(tag.PixelData, vr.OB, io.NewSectionReader(section(10), 0, 2<<20)), dicom.ErrTruncated},
		"a source that fails":          {dicom.NewLarge(tag.PixelData, vr.OB, io.NewSectionReader(failing{bytes.NewReader(nil), full}, 0, 2<<20)), full},
	} {
		if err := dicom.WriteJSON(io.Discard, dicom.NewDataset(c.element), nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	for n := 0; n < 100_000; n += 5000 {
		if err := dicom.WriteJSON(&limited{n, full}, everything(t), nil); !errors.Is(err, full) {
			t.Errorf("a sink that fails after %d bytes: %v", n, err)
		}
	}
}

func TestADumpShowsStructureAndNoNamesUnlessAsked(t *testing.T) {
	t.Parallel()
	f := dicom.NewFile(dicom.NewDataset(
		dicom.Text(tag.ImageType, "ORIGINAL", "PRIMARY"),
		dicom.Text(tag.RetrieveAETitle, "SECRET"),
		dicom.Text(tag.SeriesDescription, "Secret"),
		dicom.Text(0x00090010, "ACME"),
		dicom.New(0x00091001, vr.UN, []byte("Secret")),
		dicom.Text(tag.PatientName, "Secret^\x1b[2J"),
		dicom.Text(tag.PatientBirthDate, "19010203"),
		dicom.Ints(tag.Rows, 512),
		dicom.New(tag.FrameIncrementPointer, vr.AT, []byte{0x18, 0, 0x63, 0x10}),
		dicom.Floats(tag.RealWorldValueSlope, 0.5),
		dicom.Text(tag.StudyID, ""),
		dicom.Sequence(tag.ContentSequence, dicom.NewDataset(dicom.Text(tag.PersonName, "Secret"))),
		dicom.New(tag.ICCProfile, vr.OB, bytes.Repeat([]byte{0xab}, 100)),
		dicom.Encapsulated(tag.PixelData, vr.OB, dicom.NewFragments([]byte("ab"), []byte("cd"))),
	), uid.JPEGBaseline)
	f.Warnings = []*dicom.Error{{Err: dicom.ErrStrict, Offset: 132, Reason: "something odd"}}
	var b strings.Builder
	if err := dicom.Dump(&b, f, dicom.DumpOptions{}); err != nil {
		t.Fatal(err)
	}
	const want = `# JPEG Baseline (Process 1)
# at 132: something odd
(0008,0008) CS "ORIGINAL\PRIMARY"  # 16 bytes, ImageType
(0008,0054) AE (not shown)  # 6 bytes, RetrieveAETitle
(0008,103E) LO (not shown)  # 6 bytes, SeriesDescription
(0009,0010) LO "ACME"  # 4 bytes, PrivateCreator
(0009,1001) UN (not shown)  # 6 bytes, private
(0010,0010) PN (not shown)  # 12 bytes, PatientName
(0010,0030) DA (not shown)  # 8 bytes, PatientBirthDate
(0020,0010) SH (no value)  # 0 bytes, StudyID
(0028,0009) AT (0018,1063)  # 4 bytes, FrameIncrementPointer
(0028,0010) US 512  # 2 bytes, Rows
(0028,2000) OB ababababababababababababababababababababababababababababababa...  # 100 bytes, ICCProfile
(0040,9225) FD 0.5  # 8 bytes, RealWorldValueSlope
(0040,A730) SQ ...  # 1 items, ContentSequence
  item 1
    (0040,A123) PN (not shown)  # 6 bytes, PersonName
(7FE0,0010) OB ...  # 2 fragments, PixelData
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if err := dicom.Dump(&b, f, dicom.DumpOptions{Names: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `(0010,0010) PN "Secret^<1B>[2J"`) || strings.Contains(b.String(), "not shown") {
		t.Errorf("asked for names:\n%s", b.String())
	}
	full := errors.New("full")
	if err := dicom.Dump(&limited{0, full}, f, dicom.DumpOptions{}); !errors.Is(err, full) {
		t.Errorf("a sink that fails: %v", err)
	}
}
