package imaging_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"slices"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/phantom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
	"filmroom/imaging"
)

// compressed is a file with other pixels: 16 x 16 of 8 bits, a frame for each fragment.
func compressed(t testing.TB, f file, syntax string, fragments ...[]byte) file {
	t.Helper()
	parsed, err := dicom.Parse(bytes.NewReader(f.data), int64(len(f.data)))
	check(t, err)
	for _, e := range []*dicom.Element{
		dicom.Ints(tag.BitsAllocated, 8), dicom.Ints(tag.BitsStored, 8), dicom.Ints(tag.HighBit, 7), dicom.Ints(tag.PixelRepresentation, 0),
		dicom.Ints(tag.NumberOfFrames, int64(len(fragments))), dicom.Text(tag.BurnedInAnnotation, "YES"),
		dicom.Encapsulated(tag.PixelData, vr.OB, dicom.NewFragments(fragments...)),
	} {
		parsed.Dataset.Set(e)
	}
	parsed.TransferSyntax = syntax
	var b bytes.Buffer
	check(t, dicom.Write(&b, parsed))
	return file{f.name, b.Bytes()}
}

// bright is a JPEG of 16 x 16 pixels.
func bright(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	check(t, jpeg.Encode(&b, &image.Gray{Pix: bytes.Repeat([]byte{200}, 256), Stride: 16, Rect: image.Rect(0, 0, 16, 16)}, nil))
	return b.Bytes()
}

// A loop of ultrasound leaves with its rectangle black in each frame; what cannot be decompressed is listed.
func TestRectanglesAreBlackInCompressedFrames(t *testing.T) {
	t.Parallel()
	d := setup(t)
	files := study(phantom.Study{Slices: 3})
	frame := bright(t)
	d.bring(compressed(t, files[0], uid.JPEGBaseline, frame, frame, frame), compressed(t, files[1], uid.JPEGBaseline, frame, frame[:len(frame)/2]),
		compressed(t, files[2], uid.JPEG2000, frame))
	id := d.series(ada)[0].ID
	task, archive := d.takeOut(imaging.ExportRequest{Blackout: map[string][][]int{id: {{4, 0, 8, 2}}}})
	if task.Progress.Message != "1 of 3 exported, 2 refused" {
		t.Error(task.Progress.Message)
	}
	for name, set := range images(t, archive) {
		e, _ := set.Get(tag.PixelData)
		if e.Fragments != nil || e.Len() != 3*256 {
			t.Fatalf("%s has %d bytes of pixels", name, e.Len())
		}
		for i, v := range e.Value {
			if x, y := i%16, i/16%16; (v == 0) != (x >= 4 && x < 12 && y < 2) {
				t.Fatalf("%s shows %d at %d, %d of frame %d", name, v, x, y, i/256)
			}
		}
	}
	rows, err := d.Receipts(t.Context(), task.ID, imaging.ReceiptQuery{After: -1, Limit: 10, Outcomes: []imaging.Outcome{imaging.Refused}})
	check(t, err)
	var reasons []string
	for _, row := range rows {
		reasons = append(reasons, row.Reason)
	}
	slices.Sort(reasons)
	want := []string{
		"cannot be de-identified: frame 2 of 2: damaged pixel data: a JPEG frame that cannot be decoded",
		"cannot be de-identified: rectangles cannot be blacked out in pixels compressed as JPEG 2000 Image Compression, only in native ones, RLE Lossless and JPEG Baseline",
	}
	if !slices.Equal(reasons, want) {
		t.Errorf("refused: %q", reasons)
	}
}
