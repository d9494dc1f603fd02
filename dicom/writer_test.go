package dicom_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

func write(t testing.TB, f *dicom.File, opts ...dicom.WriteOption) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := dicom.Write(&b, f, opts...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mustParse(t testing.TB, b []byte, opts ...dicom.Option) *dicom.File {
	t.Helper()
	f, err := parse(b, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// everything is a data set with a value of every kind: each VR, long and short, held and large, nested
// in defined and undefined lengths, text in a character set.
func everything(t testing.TB) *dicom.Dataset {
	t.Helper()
	d := dicom.NewDataset(
		dicom.Text(tag.SpecificCharacterSet, "ISO_IR 100"),
		dicom.Text(tag.SOPClassUID, uid.CTImageStorage),
		dicom.Text(tag.SOPInstanceUID, "2.25.1"),
		dicom.Text(tag.PatientID, "ID 1"),
		dicom.Ints(0x00080000, 0),
		dicom.Text(0x00090010, "ACME"),
		dicom.New(0x00091001, vr.UN, []byte{1, 2, 3, 4}),
		dicom.New(0x00091002, vr.SL, []byte{1, 2, 3, 4}),
		dicom.Ints(tag.InstanceNumber, 12),
		dicom.Floats(tag.ImagePositionPatient, -1.5, 2, 3e-7),
		dicom.Ints(tag.Rows, 300),
		dicom.New(tag.FrameIncrementPointer, vr.AT, []byte{0x18, 0, 0x63, 0x10}),
		dicom.Floats(tag.RecommendedDisplayFrameRateInFloat, 0.1),
		dicom.Floats(tag.RealWorldValueSlope, 0.1),
		dicom.New(tag.ExtendedOffsetTable, vr.OV, make([]byte, 16)),
		dicom.New(tag.TextValue, vr.UT, []byte(strings.Repeat("long ", 20_000))),
		dicom.NewLarge(tag.PixelData, vr.OW, section(100_000)),
	)
	if err := d.SetString(tag.PatientName, "Müller^Jörg"); err != nil {
		t.Fatal(err)
	}
	inner := dicom.NewDataset(dicom.Text(tag.ReferencedSOPInstanceUID, "2.25.2"), dicom.Ints(0x00080000, 0), dicom.Sequence(tag.PurposeOfReferenceCodeSequence, dicom.NewDataset()))
	open := dicom.NewDataset(dicom.Text(tag.ReferencedSOPInstanceUID, "2.25.3"))
	open.Undefined = true
	d.SetItems(tag.ReferencedImageSequence, inner, open)
	undefinedLength := dicom.Sequence(tag.SourceImageSequence, dicom.NewDataset(), dicom.NewDataset(dicom.Text(tag.PatientID, "x")))
	undefinedLength.Undefined = true
	d.Set(undefinedLength)
	return d
}

func section(n int) *io.SectionReader {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return io.NewSectionReader(bytes.NewReader(b), 0, int64(n))
}

func TestWhatIsWrittenIsReadBackInEverySyntax(t *testing.T) {
	t.Parallel()
	want := lines(mustParse(t, write(t, dicom.NewFile(everything(t), uid.ExplicitLE))).Dataset)
	for _, from := range []string{uid.ExplicitLE, uid.ImplicitLE, uid.ExplicitBE, uid.DeflatedLE} {
		for _, to := range []string{uid.ExplicitLE, uid.ExplicitBE, uid.DeflatedLE, uid.ImplicitLE} {
			t.Run(uid.Name(from)+" to "+uid.Name(to), func(t *testing.T) {
				t.Parallel()
				first := mustParse(t, write(t, dicom.NewFile(everything(t), from), dicom.As(from)), dicom.Strict())
				if first.TransferSyntax != from {
					t.Fatalf("written in %s", uid.Name(first.TransferSyntax))
				}
				second := mustParse(t, write(t, first, dicom.As(to)), dicom.Strict())
				got := lines(second.Dataset)
				if from == uid.ImplicitLE || to == uid.ImplicitLE {
					got = withPrivateVRs(got)
				}
				if diff := cmp.Diff(dropGroupLengths(want), dropGroupLengths(got)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// withPrivateVRs: implicit VR loses the VR of a private element.
func withPrivateVRs(lines []string) []string {
	for i, l := range lines {
		lines[i] = strings.Replace(l, "(0009,1002) UN", "(0009,1002) SL", 1)
	}
	return lines
}

// dropGroupLengths: group lengths are different in each syntax.
func dropGroupLengths(lines []string) []string {
	var kept []string
	for _, l := range lines {
		if !strings.Contains(l, ",0000) UL") {
			kept = append(kept, l)
		}
	}
	return kept
}

func TestReadingAndWritingAgainIsTheSameFile(t *testing.T) {
	t.Parallel()
	first := write(t, dicom.NewFile(everything(t), uid.ExplicitLE))
	if second := write(t, mustParse(t, first)); !bytes.Equal(first, second) {
		t.Error("the second file differs from the first")
	}
	for _, s := range samples(t) {
		if s.expect != "import" && s.expect != "parse-only" && s.expect != "skip-dicomdir" {
			continue
		}
		t.Run(s.path, func(t *testing.T) {
			t.Parallel()
			first := mustParse(t, s.read(t))
			second := mustParse(t, write(t, first, dicom.As(first.TransferSyntax)))
			if len(second.Warnings) > 0 {
				t.Errorf("what was written has warnings: %v", second.Warnings)
			}
			want := lines(first.Dataset)
			for _, w := range first.Warnings {
				if strings.Contains(w.Reason, "odd length") {
					return // a padding byte was added
				}
			}
			if diff := cmp.Diff(dropGroupLengths(want), dropGroupLengths(lines(second.Dataset))); diff != "" {
				t.Errorf("(-first +second):\n%s", diff)
			}
		})
	}
}

func TestGroupLengthsAreComputedAnew(t *testing.T) {
	t.Parallel()
	d := dicom.NewDataset(dicom.Ints(0x00100000, 999), dicom.Text(tag.PatientID, "ID"), dicom.Text(tag.PatientSex, "O"), dicom.Text(tag.StudyID, "1"))
	f := mustParse(t, write(t, dicom.NewFile(d, uid.ExplicitLE)))
	if n, err := f.Dataset.Int(0x00100000); err != nil || n != 20 {
		t.Errorf("group length %d, %v, want 20", n, err)
	}
	if n, err := f.Meta.Int(tag.FileMetaInformationGroupLength); err != nil || n != int64(len(write(t, f)))-132-12-12-20-10 {
		t.Errorf("meta group length %d, %v", n, err)
	}
}

func TestTheHeaderIsMadeAnewAndTellsNothingOfTheSource(t *testing.T) {
	t.Parallel()
	d := dicom.NewDataset(dicom.Text(tag.SOPClassUID, uid.MRImageStorage), dicom.Text(tag.PatientID, "ID"), dicom.New(0x00000002, vr.UI, []byte("1.2 ")), dicom.New(0x00020016, vr.AE, []byte("SCANNER ")))
	f := dicom.NewFile(d, uid.ExplicitLE)
	f.Meta = dicom.NewDataset(dicom.Text(tag.SourceApplicationEntityTitle, "SCANNER"), dicom.Text(tag.MediaStorageSOPInstanceUID, "2.25.9"), dicom.Text(tag.MediaStorageSOPClassUID, "1.2.3"))
	b := write(t, f)
	if bytes.Contains(b, []byte("SCANNER")) || !bytes.Equal(b[:128], make([]byte, 128)) {
		t.Error("the new file tells where the old one came from")
	}
	if got := f.SOPClass(); got != uid.MRImageStorage {
		t.Errorf("SOP class %q, want the data set's", got)
	}
	d.Remove(tag.SOPClassUID)
	if got := f.SOPClass(); got != "1.2.3" {
		t.Errorf("SOP class %q, want the header's", got)
	}
	meta := mustParse(t, b, dicom.Strict()).Meta
	for tg, want := range map[dicom.Tag]string{
		tag.MediaStorageSOPClassUID: uid.MRImageStorage, tag.MediaStorageSOPInstanceUID: "2.25.9", tag.TransferSyntaxUID: uid.ExplicitLE,
		tag.ImplementationClassUID: dicom.ImplementationClassUID, tag.ImplementationVersionName: dicom.ImplementationVersionName,
	} {
		if got, _ := meta.String(tg); got != want {
			t.Errorf("%v is %q, want %q", tg, got, want)
		}
	}
}

func TestOddValuesArePaddedByTheirVR(t *testing.T) {
	t.Parallel()
	d := dicom.NewDataset(
		&dicom.Element{Tag: tag.StudyInstanceUID, VR: vr.UI, Value: []byte("2.25.3")[:5]},
		&dicom.Element{Tag: tag.PatientID, VR: vr.LO, Value: []byte("abc")},
		&dicom.Element{Tag: tag.PixelData, VR: vr.OB, Section: section(70_001)},
	)
	f := mustParse(t, write(t, dicom.NewFile(d, uid.ExplicitLE)), dicom.Strict())
	for tg, want := range map[dicom.Tag]byte{tag.StudyInstanceUID: 0, tag.PatientID: ' ', tag.PixelData: 0} {
		e, _ := f.Dataset.Get(tg)
		if b := read(e.Open()); len(b)%2 != 0 || b[len(b)-1] != want {
			t.Errorf("%v ends with %#x, want %#x", tg, b[len(b)-1], want)
		}
	}
}

func TestATextTooLongForItsHeaderIsWrittenAsUN(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65_536)
	d := dicom.NewDataset(dicom.New(tag.ImageComments, vr.LT, []byte(long)))
	b := write(t, dicom.NewFile(d, uid.ExplicitLE))
	if e, _ := mustParse(t, b, dicom.KeepUN()).Dataset.Get(tag.ImageComments); e.VR != vr.UN {
		t.Errorf("written as %v, want UN (PS3.5 section 6.2.2)", e.VR)
	}
	if s, _ := mustParse(t, b).Dataset.String(tag.ImageComments); s != long {
		t.Error("the text did not come back")
	}
}

func TestCompressedPixelDataIsCarriedThroughUntouched(t *testing.T) {
	t.Parallel()
	pixels := dicom.NewFragments([]byte("odd"), []byte("even"), bytes.Repeat([]byte("x"), 200_000))
	pixels.Table = []byte{0, 0, 0, 0, 12, 0, 0, 0}
	d := dicom.NewDataset(dicom.Text(tag.PatientID, "ID"), dicom.Encapsulated(tag.PixelData, vr.OB, pixels), dicom.New(tag.DataSetTrailingPadding, vr.OB, []byte("end ")))
	file := write(t, dicom.NewFile(d, uid.JPEG2000))
	f := mustParse(t, file, dicom.Strict())
	if f.TransferSyntax != uid.JPEG2000 || !f.Dataset.Has(tag.DataSetTrailingPadding) {
		t.Error("the syntax or what follows the pixels is lost")
	}
	e, _ := f.Dataset.Get(tag.PixelData)
	if got, want := read(e.Fragments.At(0)), "odd\x00"; string(got) != want || e.Fragments.Len() != 3 {
		t.Errorf("first of %d fragments is %q, want %q", e.Fragments.Len(), got, want)
	}
	if diff := cmp.Diff([]uint32{0, 12}, e.Fragments.Offsets()); diff != "" {
		t.Errorf("offsets: %s", diff)
	}
	other := bytes.ReplaceAll(file, []byte("odd"), []byte("ODD"))
	if got := read(e.Fragments.In(bytes.NewReader(other)).At(0)); string(got) != "ODD\x00" {
		t.Errorf("in another source the first fragment is %q", got)
	}
	if again := mustParse(t, write(t, f)); canon(again.Dataset) != canon(f.Dataset) {
		t.Error("written again it differs")
	}
}

func TestFilesThatCannotBeWrittenInASyntaxAreRefused(t *testing.T) {
	t.Parallel()
	compressed := dicom.NewDataset(dicom.Encapsulated(tag.PixelData, vr.OB, dicom.NewFragments([]byte("ab"))))
	native := dicom.NewDataset(dicom.New(tag.PixelData, vr.OW, []byte("ab")))
	for _, c := range []struct {
		name     string
		data     *dicom.Dataset
		from, to string
		ok       bool
	}{
		{"compressed in its own", compressed, uid.JPEGBaseline, uid.JPEGBaseline, true},
		{"compressed in another", compressed, uid.JPEGBaseline, uid.JPEG2000, false},
		{"compressed in a native one", compressed, uid.JPEGBaseline, uid.ExplicitLE, false},
		{"compressed without a known syntax", compressed, uid.ExplicitLE, uid.ExplicitLE, false},
		{"compressed with the syntax named", compressed, uid.ExplicitLE, uid.JPEGBaseline, true},
		{"native in a compressed one", native, uid.ExplicitLE, uid.JPEGBaseline, false},
		{"native in the file's own", native, uid.JPEGBaseline, uid.JPEGBaseline, true},
		{"an unknown one", native, uid.ExplicitLE, "1.2.3", false},
		{"native from an unknown one", native, "1.2.3", uid.ExplicitLE, false},
		{"what reads like the header's group in big endian", dicom.NewDataset(dicom.New(tag.New(0x0200, 0x0010), vr.LO, []byte("xy"))), uid.ExplicitBE, uid.ExplicitBE, false},
		{"no pixels from an unknown one", dicom.NewDataset(dicom.Text(tag.PatientID, "ID")), "1.2.3", uid.ExplicitLE, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := dicom.Write(io.Discard, dicom.NewFile(c.data, c.from), dicom.As(c.to))
			if c.ok != (err == nil) || err != nil && !errors.Is(err, dicom.ErrSyntax) {
				t.Errorf("error %v, want one: %t", err, !c.ok)
			}
		})
	}
}

// A sink that fails, or a source that has become shorter, must not leave a file that seems whole.
func TestWritingStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for _, syntax := range []string{uid.ExplicitLE, uid.DeflatedLE} {
		size := len(write(t, dicom.NewFile(everything(t), syntax), dicom.As(syntax)))
		for n := 0; n < size; n += 1 + size/10 {
			if err := dicom.Write(&limited{n, full}, dicom.NewFile(everything(t), syntax), dicom.As(syntax)); !errors.Is(err, full) {
				t.Errorf("%s, full after %d of %d bytes: %v", uid.Name(syntax), n, size, err)
			}
		}
	}
	short := io.NewSectionReader(bytes.NewReader(make([]byte, 10)), 0, 100_000)
	d := dicom.NewDataset(dicom.NewLarge(tag.PixelData, vr.OW, short))
	if err := dicom.Write(io.Discard, dicom.NewFile(d, uid.ExplicitLE)); !errors.Is(err, dicom.ErrTruncated) {
		t.Errorf("a source that became shorter: %v, want ErrTruncated", err)
	}
	huge := dicom.NewLarge(tag.TextValue, vr.UT, io.NewSectionReader(bytes.NewReader(nil), 0, 0xFFFFFFF0))
	d = dicom.NewDataset(dicom.Sequence(tag.ContentSequence, dicom.NewDataset(huge)))
	if err := dicom.Write(io.Discard, dicom.NewFile(d, uid.ExplicitLE)); !errors.Is(err, dicom.ErrTooLarge) {
		t.Errorf("an item over 4 GiB: %v, want ErrTooLarge", err)
	}
}

func TestAFileWithoutADataSetIsNotWritten(t *testing.T) {
	t.Parallel()
	d := dicom.NewDataset(dicom.New(0x00000002, vr.UI, []byte("1.2 ")))
	if err := dicom.Write(io.Discard, dicom.NewFile(d, uid.ExplicitLE)); !errors.Is(err, dicom.ErrAbsent) {
		t.Errorf("%v, want ErrAbsent", err)
	}
}

// limited takes n bytes and then fails.
type limited struct {
	n   int
	err error
}

func (l *limited) Write(p []byte) (int, error) {
	if l.n -= len(p); l.n < 0 {
		return 0, l.err
	}
	return len(p), nil
}
