package deid

import (
	"bytes"
	"image"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// Bits of a fuzzed choice beside those of chosen.
const (
	somebodyKnown = 1 << 12 // the name that comes with the file is the patient's
	studyKnown    = 1 << 13 // what the file says was collected before
	painted       = 1 << 14 // a rectangle is blacked out
	reviewed      = 1 << 15
)

// FuzzApply: whatever is read and leaves is a sound file, under the pseudonym, with nothing in it that the
// plan removes, no time that was to be emptied, no name that was known, and nothing to be seen where a
// rectangle was; and a second pass finds nothing more to do.
func FuzzApply(f *testing.F) {
	for _, d := range []*dicom.Dataset{planted(&plants{}), report(), private(), timed(), dotted()} {
		var b bytes.Buffer
		if err := dicom.Write(&b, dicom.NewFile(d, uid.ExplicitLE)); err != nil {
			f.Fatal(err)
		}
		for _, choice := range []uint16{0, 0xFFFF, 0xFFFF &^ 0x10, somebodyKnown | studyKnown | painted | 0x0460} {
			f.Add(b.Bytes(), choice, "Northside", uint32(0x01020304))
		}
	}
	for _, c := range cines {
		var b bytes.Buffer
		if err := dicom.Write(&b, c.cine.file(f, c.cine.fragments(f)...)); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes(), uint16(painted|0x0460), "Northside", uint32(0x01020304))
	}
	if _, err := os.Stat(filepath.Join(shared(), "dicom-samples")); err == nil {
		eachSample(f, func(_ string, b []byte) {
			if len(b) < 20_000 {
				f.Add(b, uint16(len(b)), "Sample", uint32(len(b)))
			}
		})
	}
	f.Fuzz(func(t *testing.T, b []byte, choice uint16, name string, corners uint32) {
		file, err := dicom.Parse(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		o, s := chosen(choice), about(file, choice, name, corners)
		p := plan(t, o)
		var first, second bytes.Buffer
		if _, err := p.Apply(&first, file, s); err != nil {
			return
		}
		out, err := dicom.Parse(bytes.NewReader(first.Bytes()), int64(first.Len()))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		checkLeft(t, p, out.Dataset)
		checkTimes(t, p, out.Dataset)
		if choice&somebodyKnown != 0 {
			checkName(t, out.Dataset, name)
		}
		for _, r := range s.Blackout {
			checkBlack(t, out.Dataset, r)
		}
		o.RetainUIDs, o.ShiftDates, o.EmptyTimes = true, false, o.EmptyTimes && o.RetainFullDates
		s.PixelsReviewed, s.Blackout = true, nil
		if _, err := plan(t, o).Apply(&second, out, s); err != nil {
			t.Fatalf("a second pass: %v", err)
		}
	})
}

// dotted is an image no two of whose pixels are the same.
func dotted() *dicom.Dataset {
	pixels := make([]byte, 32)
	for i := range pixels {
		pixels[i] = byte(i / 2)
	}
	return ct(dicom.New(tag.PixelData, vr.OW, pixels))
}

// about is a subject made of fuzzed input.
func about(file *dicom.File, choice uint16, name string, corners uint32) Subject {
	s := someone()
	s.PixelsReviewed = choice&reviewed != 0
	if choice&studyKnown != 0 {
		s.Identity.Collect(file.Dataset)
	}
	if choice&somebodyKnown != 0 {
		s.Identity.Names = append(s.Identity.Names, name)
	}
	if choice&painted != 0 {
		at := image.Pt(int(corners>>24), int(corners>>16&0xFF))
		s.Blackout = []image.Rectangle{{Min: at, Max: at.Add(image.Pt(int(corners>>8&0xFF)+1, int(corners&0xFF)+1))}}
	}
	return s
}

// chosen makes options of bits.
func chosen(bits uint16) Options {
	on := func(i int) bool { return bits>>i&1 == 1 }
	return Options{
		RetainUIDs: on(0), RetainDevice: on(1), RetainInstitution: on(2), RetainPatientCharacteristics: on(3),
		RetainFullDates: on(4) && !on(5), ShiftDates: on(5), CleanDescriptors: on(6), CleanStructuredContent: on(7),
		CleanGraphics: on(8), RetainSafePrivate: on(9), EmptyTimes: on(10) && (on(4) || on(5)),
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
		switch what := p.treat(n.Dataset, e, &declarations{}); {
		case what == remove && !e.Tag.IsPrivate():
			t.Fatalf("%v should have gone", n.Path)
		case what == remove && !p.options.RetainSafePrivate:
			t.Fatalf("%v is private", n.Path)
		case what == empty && !e.IsEmpty() && e.Tag != tag.PatientName:
			t.Fatalf("%v is not empty", n.Path)
		}
	}
}

// checkTimes demands that no time of day is left where all were to be emptied.
func checkTimes(t *testing.T, p *Plan, d *dicom.Dataset) {
	t.Helper()
	if !p.options.EmptyTimes {
		return
	}
	for n := range d.Walk() {
		eachValue(n.Element.Value, func(v []byte) {
			switch value := string(v); {
			case n.Element.VR == vr.TM && value != "" && value != dummyTime,
				n.Element.VR == vr.DT && len(value) > len(dummyDate) && value != dummyDateTime:
				t.Fatalf("%v still has a time of day: %q", n.Path, value)
			}
		})
	}
}

// plain is a name that is found wherever it stands: long enough, and the same in every character set.
var plain = regexp.MustCompile(`^[A-Za-z]{6,60}$`)

// checkName demands that a name stands in no text that people write. What this package itself writes into a
// file is no such text.
func checkName(t *testing.T, d *dicom.Dataset, name string) {
	t.Helper()
	name = strings.ToUpper(name)
	if !plain.MatchString(name) || strings.Contains(dummyText, name) {
		return
	}
	for n := range d.Walk() {
		top := n.Path[0].Tag
		if !isFree(n.Element.VR) || top == tag.DeidentificationMethod || top == tag.DeidentificationMethodCodeSequence {
			continue
		}
		if text, _ := n.Dataset.Text(n.Element); strings.Contains(strings.ToUpper(text), name) {
			t.Fatalf("%v still says %q", n.Path, text)
		}
	}
}

// checkBlack demands that all pixels of a rectangle are the same, in each frame of an image whose samples lie beside
// each other.
func checkBlack(t *testing.T, d *dicom.Dataset, r image.Rectangle) {
	t.Helper()
	e, ok := d.Get(tag.PixelData)
	planar, _ := d.Int(tag.PlanarConfiguration)
	if !ok || planar == 1 {
		return
	}
	pixels, err := e.Bytes(1 << 20)
	if err != nil {
		return
	}
	columns, rows, size := int(positive(d, tag.Columns)), int(positive(d, tag.Rows)), int(positive(d, tag.BitsAllocated)/8*positive(d, tag.SamplesPerPixel))
	if size == 0 {
		return // no pixels, or single bits
	}
	r = r.Intersect(image.Rect(0, 0, columns, rows))
	for frame := 0; (frame+1)*rows*columns*size <= len(pixels); frame++ {
		var first []byte
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				at := ((frame*rows+y)*columns + x) * size
				if first == nil {
					first = pixels[at : at+size]
				}
				if !bytes.Equal(pixels[at:at+size], first) {
					t.Fatalf("pixel %d,%d of frame %d can be told from others in %v", x, y, frame, r)
				}
			}
		}
	}
}
