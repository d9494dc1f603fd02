package deid

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// someone is a subject with all that every plan needs.
func someone() Subject {
	return Subject{Pseudonym: "P0001", UIDKey: []byte("a key of UIDs, 32 bytes of it..."), DateOffset: -417}
}

// plan compiles the Basic profile with options.
func plan(t testing.TB, o Options) *Plan {
	t.Helper()
	p, err := Compile(Basic, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ct is a small CT image with the elements beside it; 4 x 4 pixels of 16 bits, 12 of them stored.
func ct(elements ...*dicom.Element) *dicom.Dataset {
	d := dicom.NewDataset(
		dicom.Text(tag.SOPClassUID, uid.CTImageStorage),
		dicom.Text(tag.SOPInstanceUID, "1.2.3.4.5.6.7.8.1"),
		dicom.Text(tag.StudyInstanceUID, "1.2.3.4.5.6.7.8.2"),
		dicom.Text(tag.SeriesInstanceUID, "1.2.3.4.5.6.7.8.3"),
		dicom.Text(tag.Modality, "CT"),
		dicom.Ints(tag.Rows, 4), dicom.Ints(tag.Columns, 4), dicom.Ints(tag.SamplesPerPixel, 1),
		dicom.Ints(tag.BitsAllocated, 16), dicom.Ints(tag.BitsStored, 12), dicom.Ints(tag.HighBit, 11),
		dicom.Ints(tag.PixelRepresentation, 0), dicom.Text(tag.PhotometricInterpretation, "MONOCHROME2"),
		dicom.New(tag.PixelData, vr.OW, bytes.Repeat([]byte{0x23, 0x01}, 16)))
	for _, e := range elements {
		d.Set(e)
	}
	return d
}

// file writes a data set as a file and reads it again.
func file(t testing.TB, d *dicom.Dataset) *dicom.File {
	t.Helper()
	var b bytes.Buffer
	if err := dicom.Write(&b, dicom.NewFile(d, uid.ExplicitLE)); err != nil {
		t.Fatal(err)
	}
	return parse(t, b.Bytes())
}

func parse(t testing.TB, b []byte) *dicom.File {
	t.Helper()
	f, err := dicom.Parse(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// applied is what leaves: the bytes, and what a reader makes of them.
func applied(t testing.TB, p *Plan, f *dicom.File, s Subject) ([]byte, *dicom.File, Report) {
	t.Helper()
	var b bytes.Buffer
	report, err := p.Apply(&b, f, s)
	if err != nil {
		t.Fatal(err)
	}
	out, err := dicom.Parse(bytes.NewReader(b.Bytes()), int64(b.Len()), dicom.Strict())
	if err != nil {
		t.Fatalf("what was written breaks the standard: %v", err)
	}
	return b.Bytes(), out, report
}

// leaves is the data set that leaves under options.
func leaves(t testing.TB, o Options, d *dicom.Dataset) *dicom.Dataset {
	t.Helper()
	_, out, _ := applied(t, plan(t, o), file(t, d), someone())
	return out.Dataset
}

// text is the decoded value of an element, "(absent)" where there is none.
func text(d *dicom.Dataset, t tag.Tag) string {
	e, ok := d.Get(t)
	if !ok {
		return "(absent)"
	}
	s, _ := d.Text(e)
	return s
}

// values are all decoded texts of a data set outside pixel data, at every depth.
func values(d *dicom.Dataset) []string {
	var all []string
	for n := range d.Walk() {
		if s, ok := n.Dataset.Text(n.Element); ok && s != "" {
			all = append(all, s)
		}
	}
	return all
}

// nested is a kept sequence of depth items within each other, the innermost holding e.
func nested(depth int, e *dicom.Element) *dicom.Element {
	for range depth {
		e = dicom.Sequence(tag.ReferencedSeriesSequence, dicom.NewDataset(e))
	}
	return e
}

// innermost is the data set at the end of nested.
func innermost(d *dicom.Dataset, depth int) *dicom.Dataset {
	for range depth {
		items := d.Items(tag.ReferencedSeriesSequence)
		if len(items) == 0 {
			return dicom.NewDataset()
		}
		d = items[0]
	}
	return d
}

// original is a value of an element as a hospital might have written it.
func original(t tag.Tag) *dicom.Element {
	v := dictionaryVR(t)
	switch {
	case v == vr.SQ:
		return dicom.Sequence(t, dicom.NewDataset(dicom.Text(tag.CodeMeaning, "Northside wing")))
	case v.Unit() == 1 || v == vr.UN:
		return dicom.New(t, v, []byte("Northside clinic"))
	case v.Unit() > 1:
		return dicom.New(t, v, bytes.Repeat([]byte{0x11}, leastVM(vmOf(t))*v.Unit()))
	}
	sample := map[vr.VR]string{
		vr.DA: "20210304", vr.TM: "103000", vr.DT: "20210304103000", vr.UI: "1.2.3.4.5.6.7.8.9", vr.DS: "81.5", vr.IS: "73",
		vr.AS: "044Y", vr.UR: "http://pacs.northside/42", vr.CS: "NORTHSIDE", vr.AE: "NORTHSIDE", vr.PN: "Quux^Fred",
	}
	s, ok := sample[v]
	if !ok {
		s = "Northside"
	}
	if t == tag.TimezoneOffsetFromUTC {
		s = "+0100"
	}
	values := make([]string, leastVM(vmOf(t)))
	for i := range values {
		values[i] = s
	}
	return dicom.New(t, v, []byte(strings.Join(values, `\`)))
}

// shortReader ends before its size.
type shortReader struct{ n int64 }

func (s shortReader) ReadAt(p []byte, off int64) (int, error) {
	if off >= s.n {
		return 0, io.ErrUnexpectedEOF
	}
	return int(min(int64(len(p)), s.n-off)), nil
}

func words(b []byte) []uint16 {
	w := make([]uint16, len(b)/2)
	for i := range w {
		w[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return w
}
