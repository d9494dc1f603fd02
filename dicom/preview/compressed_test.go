package preview

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// redJPEG is a red square; Go's encoder writes no JFIF segment.
func redJPEG(t *testing.T, segments ...[]byte) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 16, 16))
	for i := range img.Pix {
		img.Pix[i] = []uint8{255, 0, 0, 255}[i%4]
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	stream := append([]byte{0xFF, 0xD8}, bytes.Join(segments, nil)...)
	return append(stream, b.Bytes()[2:]...)
}

// TestColorsOfAJPEGAreWhatItsHeadersSay: many files say RGB of a stream that is YCbCr by its own header.
func TestColorsOfAJPEGAreWhatItsHeadersSay(t *testing.T) {
	t.Parallel()
	jfif := []byte("\xFF\xE0\x00\x10JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x00\x00")
	adobe := []byte("\xFF\xEE\x00\x0EAdobe\x00\x64\x00\x00\x00\x00\x00")
	cases := []struct {
		name, photometric string
		stream            []byte
		want              color.RGBA
	}{
		{"YBR_FULL_422 is YCbCr", "YBR_FULL_422", redJPEG(t), color.RGBA{254, 0, 0, 255}},
		{"RGB without a word in the stream is RGB", "RGB", redJPEG(t), color.RGBA{76, 85, 255, 255}},
		{"RGB in a JFIF stream is YCbCr", "RGB", redJPEG(t, jfif), color.RGBA{254, 0, 0, 255}},
		{"a stream that says RGB is RGB", "YBR_FULL", redJPEG(t, adobe), color.RGBA{76, 85, 255, 255}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := picture{rows: 16, columns: 16, samples: 3, allocated: 8, stored: 8, photometric: c.photometric, syntax: uid.JPEGBaseline, fragments: [][]byte{c.stream}}
			img, err := Render(p.file(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := img.At(8, 8).(color.RGBA); far(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestVideoRangeIsStretched(t *testing.T) {
	t.Parallel()
	p := picture{rows: 1, columns: 2, samples: 3, allocated: 8, stored: 8, photometric: "YBR_PARTIAL_422", pixels: []byte{16, 128, 128, 235, 128, 128}}
	img, err := Render(p.file(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if black, white := img.At(0, 0).(color.RGBA), img.At(1, 0).(color.RGBA); far(black, color.RGBA{A: 255}) || far(white, color.RGBA{255, 255, 255, 255}) {
		t.Errorf("black is %v, white is %v", black, white)
	}
}

func TestADeflatedFrameIsInflated(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z, _ := flate.NewWriter(&b, flate.BestCompression)
	z.Write([]byte{0, 85, 170, 255})
	z.Close()
	p := picture{rows: 1, columns: 4, allocated: 8, stored: 8, photometric: "MONOCHROME2", syntax: uid.DeflatedFrame, fragments: [][]byte{b.Bytes()}}
	if got := grays(t, p, Options{}); !bytes.Equal(got, []byte{0, 85, 170, 255}) {
		t.Errorf("got %v", got)
	}
}

func TestRLEColorsLieInSegmentsOfTheirOwn(t *testing.T) {
	t.Parallel()
	p := picture{rows: 1, columns: 2, samples: 3, allocated: 8, stored: 8, planar: true, photometric: "RGB", syntax: uid.RLELossless}
	p.fragments = [][]byte{rleFrame([]byte{1, 255, 0}, []byte{0xFF, 0}, []byte{1, 0, 255, 0x80})}
	img, err := Render(p.file(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := img.At(0, 0).(color.RGBA), img.At(1, 0).(color.RGBA); far(a, color.RGBA{255, 0, 0, 255}) || far(b, color.RGBA{0, 0, 255, 255}) {
		t.Errorf("got %v and %v", a, b)
	}
}

func TestAPaletteOfSingleBytesIsRead(t *testing.T) {
	t.Parallel()
	p := paletted()
	p.more = nil
	for i, data := range [][]byte{{255, 0}, {0, 0}, {0, 255}} {
		next := dicom.Tag(i)
		p.more = append(p.more, dicom.New(tag.RedPaletteColorLookupTableDescriptor+next, vr.US, gray16(2, 10, 8)),
			dicom.New(tag.RedPaletteColorLookupTableData+next, vr.OW, data))
	}
	img, err := Render(p.file(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := img.At(0, 0).(color.RGBA), img.At(1, 0).(color.RGBA); far(a, color.RGBA{255, 0, 0, 255}) || far(b, color.RGBA{0, 0, 255, 255}) {
		t.Errorf("got %v and %v", a, b)
	}
}

func TestTheExtendedOffsetTableCountsToo(t *testing.T) {
	t.Parallel()
	p := picture{rows: 1, columns: 2, frames: 2, allocated: 8, stored: 8, photometric: "MONOCHROME2", syntax: uid.EncapsulatedUncompressed}
	p.fragments = [][]byte{{1, 2}, {3, 4}, {5, 6}}
	p.more = []*dicom.Element{dicom.New(tag.ExtendedOffsetTable, vr.OV, binary.LittleEndian.AppendUint64(make([]byte, 8), 20)), dicom.Floats(tag.WindowCenter, 3.5), dicom.Floats(tag.WindowWidth, 6)}
	if got := grays(t, p, Options{Frame: 1}); got[0] < 200 {
		t.Errorf("the last fragment is not the second frame: %v", got)
	}
}
