package deid

import (
	"bytes"
	"errors"
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
	stream := bytes.Join([][]byte{{0xFF, 0x4F}, marked(0x51, "size"), marked(0x64, "\x00\x01Quux!!"), marked(0x90, "\x00\x00tile...."),
		marked(0x64, "\x00\x01Quux!!"), {0xFF, 0x93}, []byte("data\xFF\x8F"), marked(0x91, "ab"), []byte("more"), {0xFF, 0xD9}, []byte("Quux")}, nil)
	for cut := range len(stream) - 4 {
		if cut%2 == 0 {
			parts, _ := sent(t, uid.JPEG2000, dicom.NewFragments(stream[:cut+4], stream[cut+4:]))
			joined := bytes.Join(parts, nil)
			if bytes.Contains(joined, []byte("Quux")) || !bytes.Contains(joined, []byte("tile....")) || !bytes.Contains(joined, []byte("data\xFF\x8F\xFF\x91\x00\x04abmore")) {
				t.Errorf("cut at %d: %q", cut+4, joined)
			}
		}
	}
}

// TestNothingButTheImageStaysInAStream: what stands where no decoder looks.
func TestNothingButTheImageStaysInAStream(t *testing.T) {
	t.Parallel()
	stream := photo(t)
	eoi := bytes.LastIndex(stream, []byte{0xFF, 0xD9})
	scan := bytes.Index(stream, []byte{0xFF, 0xDA})
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	name := []byte("Quux")
	cases := map[string][][]byte{
		"behind its end":                    {join(stream[:eoi+2], name)},
		"in a fragment that is no image":    {stream, name},
		"in one before the next image":      {stream, name, stream},
		"in a comment behind its data":      {join(stream[:eoi], marked(0xFE, "Quux"), stream[eoi:])},
		"in a comment cut in two":           {join(stream[:eoi], marked(0xFE, "Quux")[:6]), join([]byte("ux"), stream[eoi:])},
		"between two segments":              {join(stream[:scan], name, stream[scan:])},
		"in a segment that nobody defined":  {join(stream[:scan], marked(0xF3, "Quux"), stream[scan:])},
		"in a marker that has no length":    {join(stream[:scan], []byte{0xFF, 0xF3, 0, 0}, name, stream[scan:])},
		"behind the end of an end-less one": {stream[:eoi], join(stream, name)},
	}
	for _, syntax := range []string{uid.JPEGBaseline, "1.2.840.10008.1.2.4.55", uid.JPEGLSLossless} {
		for where, parts := range cases {
			got, _ := sent(t, syntax, dicom.NewFragments(parts...))
			joined := join(got...)
			if bytes.Contains(joined, name) || len(joined) != len(join(parts...))+len(join(parts...))%2 {
				t.Errorf("%s %s: %q", syntax, where, joined)
			}
			if !bytes.Contains(joined, stream[scan:eoi]) {
				t.Errorf("%s %s: the image changed", syntax, where)
			}
		}
	}
}

// refusal is what Apply says of compressed pixels.
func refusal(t *testing.T, syntax string, parts ...[]byte) error {
	t.Helper()
	d := ct(dicom.Encapsulated(tag.PixelData, vr.OB, dicom.NewFragments(parts...)))
	_, err := plan(t, Options{}).Apply(io.Discard, dicom.NewFile(d, syntax), someone())
	return err
}

// TestStreamsThatAreNotWhatTheySayAreRefused: to blank them would be to send an image without a picture.
func TestStreamsThatAreNotWhatTheySayAreRefused(t *testing.T) {
	t.Parallel()
	boxes := []byte("\x00\x00\x00\x0CJXL \r\n\x87\n")
	comments := bytes.Repeat(marked(0xFE, "Q"), mostStretches+2)
	for name, err := range map[string]error{
		"a text for JPEG":                   refusal(t, uid.JPEGBaseline, []byte("Quux")),
		"a file of boxes for JPEG 2000":     refusal(t, uid.JPEG2000, []byte("\x00\x00\x00\x0CjP  \r\n\x87\n")),
		"a file of boxes for JPEG XL":       refusal(t, "1.2.840.10008.1.2.4.110", boxes),
		"a text for RLE":                    refusal(t, uid.RLELossless, []byte("Quux")),
		"an RLE frame that ends early":      refusal(t, uid.RLELossless, rle(30)[:80]),
		"more comments than can be counted": refusal(t, uid.JPEGBaseline, append([]byte{0xFF, 0xD8}, comments...)),
	} {
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", name, err)
		}
	}
}

// rle is a frame of 4 x 4 pixels of 16 bits, with bytes behind each of its two planes.
func rle(behind int) []byte {
	plane := append([]byte{15}, bytes.Repeat([]byte{7}, 16)...)
	plane = append(plane, bytes.Repeat([]byte("Q"), behind)...)
	b := make([]byte, rleHeader)
	b[0], b[4], b[8] = 2, rleHeader, byte(rleHeader+len(plane))
	return append(append(b, plane...), plane...)
}

func TestWhatNoDecoderReadsOfRLEIsBlanked(t *testing.T) {
	t.Parallel()
	if got, _ := sent(t, uid.RLELossless, dicom.NewFragments(rle(0))); !bytes.Equal(got[0], rle(0)) {
		t.Error("a frame without anything else was changed")
	}
	got, _ := sent(t, uid.RLELossless, dicom.NewFragments(rle(0), rle(5)))
	if want := bytes.ReplaceAll(rle(5), []byte("Q"), []byte{0}); !bytes.Equal(got[1], want) {
		t.Errorf("got %q", got[1])
	}
	long := append(rle(0)[:rleHeader], append([]byte{3}, "abcdQQ"...)...) // one run of four, where two are pixels
	long[0], long[8] = 1, 0
	d := ct(dicom.Encapsulated(tag.PixelData, vr.OB, dicom.NewFragments(long)), dicom.Ints(tag.Rows, 1), dicom.Ints(tag.Columns, 2))
	_, out, _ := applied(t, plan(t, Options{}), dicom.NewFile(d, uid.RLELossless), someone())
	e, _ := out.Dataset.Get(tag.PixelData)
	if b, _ := io.ReadAll(e.Fragments.At(0)); !bytes.HasSuffix(b, []byte("\x03ab\x00\x00\x00\x00\x00")) {
		t.Errorf("beyond the plane: %q", b[rleHeader:])
	}
}

func TestCompressedPixelsWithoutTextAreLeftAlone(t *testing.T) {
	t.Parallel()
	stream := photo(t)
	for _, parts := range [][][]byte{{stream, stream}, {stream[:100], stream[100:]}, {append(bytes.Clone(stream), stream...)}} {
		got, _ := sent(t, uid.JPEGBaseline, dicom.NewFragments(parts...))
		if !bytes.Equal(bytes.Join(got, nil), bytes.Join(parts, nil)) {
			t.Error("the fragments were changed")
		}
	}
}

func TestAnOffsetTableThatPointsNowhereIsEmptied(t *testing.T) {
	t.Parallel()
	f := dicom.NewFragments(rle(0), rle(0))
	f.Table = []byte{0, 0, 0, 0, byte(8 + len(rle(0))), 0, 0, 0}
	if _, out := sent(t, uid.RLELossless, f); !bytes.Equal(out.Table, f.Table) {
		t.Errorf("a sound table became %x", out.Table)
	}
	f.Table = []byte("Quux")
	if _, out := sent(t, uid.RLELossless, f); len(out.Table) != 0 {
		t.Errorf("a table that is none became %q", out.Table)
	}
}
