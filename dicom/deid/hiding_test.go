package deid

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// hidden is a value that stands nowhere by chance.
const hidden = "QWZ123456789KJ"

// reserved is a private element and its creator; declared says that the file calls its block safe.
func reserved(creator string, e *dicom.Element) []*dicom.Element {
	return []*dicom.Element{dicom.New(e.Tag.Creator(), vr.LO, []byte(creator)), e}
}

func declared(creator string, elements ...*dicom.Element) []*dicom.Element {
	all := []*dicom.Element{dicom.Sequence(tag.PrivateDataElementCharacteristicsSequence, dicom.NewDataset(
		dicom.Ints(tag.PrivateGroupReference, 9), dicom.Text(tag.PrivateCreatorReference, creator),
		dicom.Text(tag.BlockIdentifyingInformationStatus, "SAFE")))}
	for _, e := range elements {
		all = append(all, reserved(creator, e)...)
	}
	return all
}

// tableOnly is encapsulated data without a fragment, and a value where its offset table belongs.
func tableOnly(value string) *dicom.Fragments {
	f := dicom.NewFragments()
	f.Table = []byte(value)
	return f
}

// inUTF16 is ASCII text as Windows keeps it.
func inUTF16(s string) []byte {
	var b []byte
	for _, c := range []byte(s) {
		b = append(b, c, 0)
	}
	return b
}

// TestWhatIsNoTextHidesNothing: values where a reader would not look for text. The case name says where.
func TestWhatIsNoTextHidesNothing(t *testing.T) {
	t.Parallel()
	fred := dicom.Text(tag.PatientName, "Garply^Waldo")
	of := func(e ...*dicom.Element) []*dicom.Element { return append(e, fred) }
	safe := Options{RetainSafePrivate: true}
	cases := []struct {
		where    string
		o        Options
		elements []*dicom.Element
		value    string
	}{
		{"a character set behind one that stands alone", Options{}, of(dicom.New(tag.SpecificCharacterSet, vr.CS, []byte(`ISO_IR 192\`+hidden))), hidden},
		{"the character set of an item", Options{}, of(nested(1, dicom.New(tag.SpecificCharacterSet, vr.CS, []byte(`GBK\`+hidden)))), hidden},
		{"a character set of other letters", Options{}, of(dicom.New(tag.SpecificCharacterSet, vr.CS, []byte(`ISO_IR 192\山田太郎`))), "山田"},
		{"the offset table of what is no pixels", Options{}, of(dicom.Encapsulated(tag.LUTData, vr.OW, tableOnly(hidden))), hidden},
		{"the offset table of a private element", safe, of(declared("QUX", dicom.Encapsulated(0x00091001, vr.OB, tableOnly(hidden)))...), hidden},
		{"the offset table of the pixels", Options{}, of(dicom.Encapsulated(tag.PixelData, vr.OB, tableOnly(hidden))), hidden},
		{"bytes that a file calls safe", safe, of(declared("QUX", dicom.New(0x00091001, vr.OB, []byte("for Garply")))...), "Garply"},
		{"UTF-16 in bytes that a file calls safe", safe, of(declared("QUX", dicom.New(0x00091001, vr.OB, inUTF16("for Garply")))...), string(inUTF16("Garply"))},
		{"a listed private number of unknown VR and odd size", safe, of(reserved("GEMS_SERS_01", dicom.New(0x00251007, vr.UN, []byte(hidden)))...), hidden},
		{"a listed private number with too many values", safe, of(reserved("GEMS_SERS_01", dicom.New(0x00251007, vr.SL, []byte(hidden+"..")))...), hidden},
		{"a number with too many values", Options{}, of(dicom.New(tag.SmallestImagePixelValue, vr.US, []byte(hidden))), hidden},
		{"a look-up table", Options{}, of(dicom.New(tag.LUTData, vr.OW, []byte("Garply^Waldo"))), "Garply"},
		{"a long look-up table", Options{}, of(dicom.New(tag.LUTData, vr.OW, append(make([]byte, window-3), "Garply^Waldo"+strings.Repeat("\x00", 2*dicom.Held+1)...))), "Garply"},
		{"a colour profile", Options{}, of(dicom.New(tag.ICCProfile, vr.OB, []byte("....desc Garply^Waldo!"))), "Garply"},
		{"a colour profile in Latin letters", Options{}, of(dicom.Text(tag.SpecificCharacterSet, "ISO_IR 100"), dicom.New(tag.OtherPatientNames, vr.PN, []byte("Garpl\xfck^A")),
			dicom.New(tag.ICCProfile, vr.OB, []byte("....desc Garpl\xfck"))), "Garpl\xfck"},
		{"tags", Options{}, of(dicom.New(tag.FrameIncrementPointer, vr.AT, []byte("Garply^Waldo"))), "Garply"},
	}
	for _, c := range cases {
		t.Run(c.where, func(t *testing.T) {
			t.Parallel()
			syntax := uid.ExplicitLE
			f := dicom.NewFile(ct(c.elements...), syntax)
			if e, ok := f.Dataset.Get(tag.PixelData); ok && e.Fragments != nil {
				f.TransferSyntax = uid.JPEGBaseline
			}
			var b bytes.Buffer
			if err := dicom.Write(&b, f); err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(b.Bytes(), []byte(c.value)) {
				t.Fatal("the test did not hide what it looks for")
			}
			for _, f := range []*dicom.File{f, parse(t, b.Bytes())} {
				if out, _, _ := applied(t, plan(t, c.o), f, someone()); bytes.Contains(out, []byte(c.value)) {
					t.Errorf("left: %q", values(parse(t, out).Dataset))
				}
			}
		})
	}
}

// TestBytesThatNameNobodyStay: what is searched is not what is lost.
func TestBytesThatNameNobodyStay(t *testing.T) {
	t.Parallel()
	d := ct(dicom.Text(tag.PatientName, "Garply^Waldo"), dicom.Text(tag.PatientID, "1234567"),
		dicom.Ints(tag.LUTDescriptor, 256, 0, 16),
		dicom.New(tag.LUTData, vr.OW, bytes.Repeat([]byte{1, 2, 3, 'g', 0xFE, 'a'}, 100)))
	out := leaves(t, Options{}, d)
	for _, at := range []tag.Tag{tag.LUTDescriptor, tag.LUTData} {
		if !out.Has(at) {
			t.Errorf("%s is gone", at.Keyword())
		}
	}
}

// TestTheHeaderHidesNothing: the class and the instance that the header names are copied where the data set
// names none.
func TestTheHeaderHidesNothing(t *testing.T) {
	t.Parallel()
	s := someone()
	s.PixelsReviewed = true
	for _, o := range []Options{{}, {RetainUIDs: true}} {
		for at, inData := range map[tag.Tag]tag.Tag{
			tag.MediaStorageSOPClassUID: tag.SOPClassUID, tag.MediaStorageSOPInstanceUID: tag.SOPInstanceUID,
		} {
			f := dicom.NewFile(ct(), uid.ExplicitLE)
			f.Dataset.Remove(inData)
			f.Meta.Set(dicom.New(at, vr.UI, []byte(hidden)))
			if out, _, _ := applied(t, plan(t, o), f, s); bytes.Contains(out, []byte(hidden)) {
				t.Errorf("%+v: the value of %s is left", o, at.Keyword())
			}
		}
	}
}

// TestPixelsOfUnknownSizeAreRefused: nobody could tell where the image ends and something else begins.
func TestPixelsOfUnknownSizeAreRefused(t *testing.T) {
	t.Parallel()
	for _, at := range []tag.Tag{tag.Rows, tag.Columns, tag.BitsAllocated} {
		d := ct()
		d.Remove(at)
		if _, err := plan(t, Options{}).Apply(&bytes.Buffer{}, file(t, d), someone()); !errors.Is(err, ErrRefused) {
			t.Errorf("without %s: %v, want ErrRefused", at.Keyword(), err)
		}
		// Of several values none counts: the element goes, and with it what was known of the pixels.
		d.Set(dicom.Ints(at, 4, 4))
		if _, err := plan(t, Options{}).Apply(&bytes.Buffer{}, file(t, d), someone()); !errors.Is(err, ErrRefused) {
			t.Errorf("with %s twice: %v, want ErrRefused", at.Keyword(), err)
		}
	}
}
