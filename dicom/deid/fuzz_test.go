package deid

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
)

// FuzzApply: whatever is read and leaves is a sound file, under the pseudonym, with nothing in it that the
// Basic profile removes; and a second pass finds nothing more to do.
func FuzzApply(f *testing.F) {
	for _, d := range []*dicom.Dataset{planted(&plants{}), report(), private()} {
		var b bytes.Buffer
		if err := dicom.Write(&b, dicom.NewFile(d, uid.ExplicitLE)); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes(), uint16(0))
		f.Add(b.Bytes(), uint16(0xFFFF))
	}
	if _, err := os.Stat(filepath.Join(shared(), "dicom-samples")); err == nil {
		eachSample(f, func(_ string, b []byte) {
			if len(b) < 20_000 {
				f.Add(b, uint16(len(b)))
			}
		})
	}
	f.Fuzz(func(t *testing.T, b []byte, choice uint16) {
		file, err := dicom.Parse(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		o := chosen(choice)
		p := plan(t, o)
		s := someone()
		s.PixelsReviewed = choice&0x8000 != 0
		var first, second bytes.Buffer
		if _, err := p.Apply(&first, file, s); err != nil {
			return
		}
		out, err := dicom.Parse(bytes.NewReader(first.Bytes()), int64(first.Len()))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		checkLeft(t, p, out.Dataset)
		o.RetainUIDs, o.ShiftDates, s.PixelsReviewed = true, false, true
		if _, err := plan(t, o).Apply(&second, out, s); err != nil {
			t.Fatalf("a second pass: %v", err)
		}
	})
}

// chosen makes options of bits.
func chosen(bits uint16) Options {
	on := func(i int) bool { return bits>>i&1 == 1 }
	return Options{
		RetainUIDs: on(0), RetainDevice: on(1), RetainInstitution: on(2), RetainPatientCharacteristics: on(3),
		RetainFullDates: on(4) && !on(5), ShiftDates: on(5), CleanDescriptors: on(6), CleanStructuredContent: on(7),
		CleanGraphics: on(8), RetainSafePrivate: on(9),
	}
}

// checkLeft holds what left against the plan.
func checkLeft(t *testing.T, p *Plan, d *dicom.Dataset) {
	t.Helper()
	if text(d, tag.PatientName) != "P0001" || text(d, tag.PatientID) != "P0001" || text(d, tag.PatientIdentityRemoved) != "YES" {
		t.Fatalf("no pseudonym or no mark: %q", values(d))
	}
	for n := range d.Walk() {
		e := n.Element
		switch what := p.treat(n.Dataset, e); {
		case what == remove && !e.Tag.IsPrivate():
			t.Fatalf("%v should have gone", n.Path)
		case what == remove && !p.options.RetainSafePrivate:
			t.Fatalf("%v is private", n.Path)
		case what == empty && !e.IsEmpty() && e.Tag != tag.PatientName:
			t.Fatalf("%v is not empty", n.Path)
		}
	}
}
