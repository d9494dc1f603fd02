package deid

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// marked is a marker segment.
func marked(marker byte, body string) []byte {
	n := len(body) + 2
	return append([]byte{0xFF, marker, byte(n >> 8), byte(n)}, body...)
}

// photo is a JPEG stream with segments behind its start.
func photo(t *testing.T, segments ...[]byte) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 16, 16))
	img.SetGray(3, 3, color.Gray{200})
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	stream := append([]byte{0xFF, 0xD8}, bytes.Join(segments, nil)...)
	stream = append(stream, b.Bytes()[2:]...)
	return append(stream, make([]byte, len(stream)%2)...)
}

// sent is the compressed pixels that leave, fragment by fragment.
func sent(t *testing.T, syntax string, f *dicom.Fragments) ([][]byte, *dicom.Fragments) {
	t.Helper()
	d := ct(dicom.Encapsulated(tag.PixelData, vr.OB, f))
	_, out, _ := applied(t, plan(t, Options{}), dicom.NewFile(d, syntax), someone())
	e, _ := out.Dataset.Get(tag.PixelData)
	var parts [][]byte
	for _, part := range e.Fragments.All() {
		b, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, b)
	}
	return parts, e.Fragments
}

func TestTextWithinCompressedPixelsIsBlanked(t *testing.T) {
	t.Parallel()
	stream := photo(t, marked(0xE0, "JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x01\x01Quux's thumbnail"), marked(0xE1, "Exif\x00\x00Quux was here"),
		[]byte{0xFF}, marked(0xFE, "Quux comments"), marked(0xEE, "Adobe\x00\x64\x00\x00\x00\x00\x00"))
	for _, cut := range []int{len(stream), 30, 60, 62, 64} {
		parts, _ := sent(t, uid.JPEGBaseline, dicom.NewFragments(stream[:cut], stream[cut:]))
		joined := bytes.Join(parts, nil)
		if bytes.Contains(joined, []byte("Quux")) {
			t.Errorf("cut at %d: a name is left", cut)
		}
		if len(joined) != len(stream) || !bytes.Contains(joined, []byte("Adobe")) || !bytes.Contains(joined, []byte("JFIF")) {
			t.Errorf("cut at %d: more changed than the text", cut)
		}
		if _, err := jpeg.Decode(bytes.NewReader(joined)); err != nil {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

func TestCommentsOfJPEG2000AreBlanked(t *testing.T) {
	t.Parallel()
	stream := bytes.Join([][]byte{{0xFF, 0x4F}, marked(0x51, "size"), marked(0x64, "\x00\x01Quux!!"), marked(0x90, "tile Quux")}, nil)
	parts, _ := sent(t, uid.JPEG2000, dicom.NewFragments(stream))
	if bytes.Contains(parts[0][:24], []byte("Quux")) || !bytes.Contains(parts[0], []byte("tile Quux")) {
		t.Errorf("got %q", parts[0])
	}
}

func TestCompressedPixelsWithoutTextAreLeftAlone(t *testing.T) {
	t.Parallel()
	stream := photo(t)
	parts, _ := sent(t, uid.JPEGBaseline, dicom.NewFragments(stream, []byte{1, 2}, []byte{0xFF, 0xD8}))
	if !bytes.Equal(parts[0], stream) || !bytes.Equal(parts[1], []byte{1, 2}) {
		t.Error("the fragments were changed")
	}
}

func TestAnOffsetTableThatPointsNowhereIsEmptied(t *testing.T) {
	t.Parallel()
	f := dicom.NewFragments([]byte{1, 2}, []byte{3, 4})
	f.Table = []byte{0, 0, 0, 0, 10, 0, 0, 0}
	if _, out := sent(t, uid.RLELossless, f); !bytes.Equal(out.Table, f.Table) {
		t.Errorf("a sound table became %x", out.Table)
	}
	f.Table = []byte("Quux")
	if _, out := sent(t, uid.RLELossless, f); len(out.Table) != 0 {
		t.Errorf("a table that is none became %q", out.Table)
	}
}
