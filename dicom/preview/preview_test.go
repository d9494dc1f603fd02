package preview

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// picture describes an image to be made.
type picture struct {
	rows, columns, frames, samples int
	allocated, stored              int
	signed, planar                 bool
	photometric, syntax            string
	pixels                         []byte
	fragments                      [][]byte
	more                           []*dicom.Element
}

func (p picture) file() *dicom.File {
	d := dicom.NewDataset(
		dicom.Ints(tag.Rows, int64(p.rows)), dicom.Ints(tag.Columns, int64(p.columns)),
		dicom.Ints(tag.SamplesPerPixel, int64(max(p.samples, 1))), dicom.Ints(tag.NumberOfFrames, int64(max(p.frames, 1))),
		dicom.Ints(tag.BitsAllocated, int64(p.allocated)), dicom.Ints(tag.BitsStored, int64(p.stored)), dicom.Ints(tag.HighBit, int64(p.stored-1)),
		dicom.Ints(tag.PixelRepresentation, toInt(p.signed)), dicom.Ints(tag.PlanarConfiguration, toInt(p.planar)),
		dicom.Text(tag.PhotometricInterpretation, p.photometric))
	if p.fragments != nil {
		d.Set(dicom.Encapsulated(tag.PixelData, vr.OB, dicom.NewFragments(p.fragments...)))
	} else {
		d.Set(dicom.New(tag.PixelData, vr.OW, p.pixels))
	}
	for _, e := range p.more {
		d.Set(e)
	}
	if p.syntax == "" {
		p.syntax = uid.ExplicitLE
	}
	return dicom.NewFile(d, p.syntax)
}

func toInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// gray16 are pixels of 16 bits.
func gray16(values ...int16) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	return b
}

// grays renders a picture and gives its brightnesses.
func grays(t *testing.T, p picture, o Options) []uint8 {
	t.Helper()
	img, err := Render(p.file(), o)
	if err != nil {
		t.Fatal(err)
	}
	return img.(*image.Gray).Pix
}

func windowed(center, width float64) []*dicom.Element {
	return []*dicom.Element{dicom.Floats(tag.WindowCenter, center), dicom.Floats(tag.WindowWidth, width)}
}

func TestValuesAreRescaledAndWindowed(t *testing.T) {
	t.Parallel()
	base := picture{rows: 1, columns: 4, allocated: 16, stored: 16, signed: true, photometric: "MONOCHROME2", pixels: gray16(-100, 0, 50, 100)}
	cases := []struct {
		name   string
		change func(*picture)
		want   []uint8
	}{
		{"a linear window counts both ends", func(p *picture) { p.more = windowed(0.5, 101) }, []uint8{0, 128, 255, 255}},
		{"an exact one does not", func(p *picture) {
			p.more = append(windowed(0, 200), dicom.Text(tag.VOILUTFunction, "LINEAR_EXACT"))
		}, []uint8{0, 128, 191, 255}},
		{"a sigmoid has soft ends", func(p *picture) { p.more = append(windowed(0, 200), dicom.Text(tag.VOILUTFunction, "SIGMOID")) }, []uint8{30, 128, 186, 225}},
		{"the window is in rescaled values", func(p *picture) {
			p.more = append(windowed(1000.5, 201), dicom.Floats(tag.RescaleSlope, 1), dicom.Floats(tag.RescaleIntercept, 1000))
		}, []uint8{0, 128, 191, 255}},
		{"without a window the whole range shows", func(*picture) {}, []uint8{0, 128, 191, 255}},
		{"a window beside the image is not used", func(p *picture) { p.more = windowed(5000, 10) }, []uint8{0, 128, 191, 255}},
		{"nor is one of no width", func(p *picture) { p.more = windowed(0, 0) }, []uint8{0, 128, 191, 255}},
		{"MONOCHROME1 has its bright end low", func(p *picture) { p.photometric = "MONOCHROME1" }, []uint8{255, 127, 64, 0}},
		{"an inverse presentation too", func(p *picture) { p.more = []*dicom.Element{dicom.Text(tag.PresentationLUTShape, "INVERSE")} }, []uint8{255, 127, 64, 0}},
		{"padding is black and counts for nothing", func(p *picture) {
			p.more = []*dicom.Element{dicom.New(tag.PixelPaddingValue, vr.SS, gray16(-100))}
		}, []uint8{0, 0, 128, 255}},
		{"bits above the highest count for nothing", func(p *picture) { p.stored, p.signed, p.pixels = 12, false, gray16(0x7000, 0x1800, 0x0C00, 0x0FFF) }, []uint8{0, 128, 191, 255}},
		{"the sign is the highest stored bit", func(p *picture) { p.stored, p.pixels = 12, gray16(0x0F9C, 0, 50, 100) }, []uint8{0, 128, 191, 255}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := base
			c.change(&p)
			got := grays(t, p, Options{})
			for i := range c.want {
				if math.Abs(float64(got[i])-float64(c.want[i])) > 1 {
					t.Fatalf("got %v, want %v", got, c.want)
				}
			}
		})
	}
}

func TestFunctionalGroupsSpeakForTheirFrame(t *testing.T) {
	t.Parallel()
	voi := func(center float64) *dicom.Dataset {
		return dicom.NewDataset(dicom.Sequence(tag.FrameVOILUTSequence, dicom.NewDataset(windowed(center, 100)...)))
	}
	p := picture{rows: 1, columns: 2, frames: 2, allocated: 16, stored: 16, photometric: "MONOCHROME2", pixels: gray16(0, 100, 0, 100)}
	p.more = []*dicom.Element{dicom.Sequence(tag.PerFrameFunctionalGroupsSequence, voi(100), voi(50))}
	if got := grays(t, p, Options{Frame: 0}); got[1] < 125 || got[1] > 130 {
		t.Errorf("first frame %v", got)
	}
	if got := grays(t, p, Options{Frame: Middle}); got[1] != 255 {
		t.Errorf("second frame %v", got)
	}
}

func TestOtherKindsOfCellsAreRead(t *testing.T) {
	t.Parallel()
	floats := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, math.Float32bits(-0.5)), math.Float32bits(0.5))
	doubles := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN())), math.Float64bits(3))
	float := picture{rows: 1, columns: 2, allocated: 32, stored: 32, photometric: "MONOCHROME2"}.file()
	float.Dataset.Remove(tag.PixelData)
	float.Dataset.Set(dicom.New(tag.FloatPixelData, vr.OF, floats))
	double := picture{rows: 1, columns: 2, allocated: 64, stored: 64, photometric: "MONOCHROME2"}.file()
	double.Dataset.Remove(tag.PixelData)
	double.Dataset.Set(dicom.New(tag.DoubleFloatPixelData, vr.OD, doubles))
	cases := []struct {
		name string
		f    *dicom.File
		want []uint8
	}{
		{"8 bits", picture{rows: 1, columns: 2, allocated: 8, stored: 8, photometric: "MONOCHROME2", pixels: []byte{7, 9}}.file(), []uint8{0, 255}},
		{"32 bits", picture{rows: 1, columns: 2, allocated: 32, stored: 32, photometric: "MONOCHROME2", pixels: []byte{0, 0, 0, 1, 0, 0, 0, 2}}.file(), []uint8{0, 255}},
		{"single bits, rows not at whole bytes", picture{rows: 2, columns: 3, allocated: 1, stored: 1, photometric: "MONOCHROME2", pixels: []byte{0b101_010, 0}}.file(), []uint8{0, 255, 0, 255, 0, 255}},
		{"floating point", float, []uint8{0, 255}},
		{"what is no number is black", double, []uint8{0, 0}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			img, err := Render(c.f, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := img.(*image.Gray).Pix; c.name != "what is no number is black" && !bytes.Equal(got, c.want) || got[0] != c.want[0] {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestColorsAreWhatTheyShouldBe(t *testing.T) {
	t.Parallel()
	rgb := picture{rows: 1, columns: 2, samples: 3, allocated: 8, stored: 8, photometric: "RGB", pixels: []byte{255, 0, 0, 0, 0, 255}}
	planar := rgb
	planar.planar, planar.pixels = true, []byte{255, 0, 0, 0, 0, 255}
	deep := rgb
	deep.allocated, deep.stored, deep.pixels = 16, 16, []byte{255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255}
	ybr := rgb
	ybr.photometric, ybr.pixels = "YBR_FULL", []byte{76, 85, 255, 29, 255, 107}
	shared := rgb
	shared.photometric, shared.pixels = "YBR_FULL_422", []byte{76, 76, 85, 255}
	cases := []struct {
		name string
		p    picture
		want [2]color.RGBA
	}{
		{"RGB", rgb, [2]color.RGBA{{255, 0, 0, 255}, {0, 0, 255, 255}}},
		{"color by plane", planar, [2]color.RGBA{{255, 0, 0, 255}, {0, 0, 255, 255}}},
		{"16 bits", deep, [2]color.RGBA{{255, 0, 0, 255}, {0, 0, 255, 255}}},
		{"YBR_FULL", ybr, [2]color.RGBA{{254, 0, 0, 255}, {0, 0, 254, 255}}},
		{"YBR_FULL_422", shared, [2]color.RGBA{{254, 0, 0, 255}, {254, 0, 0, 255}}},
		{"palette", paletted(), [2]color.RGBA{{255, 0, 0, 255}, {0, 0, 255, 255}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			img, err := Render(c.p.file(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for x, want := range c.want {
				if got := img.At(x, 0).(color.RGBA); far(got, want) {
					t.Errorf("pixel %d is %v, want %v", x, got, want)
				}
			}
		})
	}
}

func far(a, b color.RGBA) bool {
	d := func(x, y uint8) bool { return math.Abs(float64(x)-float64(y)) > 3 }
	return d(a.R, b.R) || d(a.G, b.G) || d(a.B, b.B)
}

// paletted has a table of two entries from stored value 10 on.
func paletted() picture {
	p := picture{rows: 1, columns: 2, allocated: 8, stored: 8, photometric: "PALETTE COLOR", pixels: []byte{10, 11}}
	for i, data := range [][]byte{{0, 255, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 255}} {
		next := dicom.Tag(i)
		p.more = append(p.more, dicom.New(tag.RedPaletteColorLookupTableDescriptor+next, vr.US, gray16(2, 10, 16)),
			dicom.New(tag.RedPaletteColorLookupTableData+next, vr.OW, data))
	}
	return p
}

func TestCompressedFramesAreDecoded(t *testing.T) {
	t.Parallel()
	gray := image.NewGray(image.Rect(0, 0, 16, 16))
	for i := range gray.Pix {
		gray.Pix[i] = uint8(i % 16 * 16)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, gray, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	half := b.Len() / 4 * 2
	p := picture{rows: 16, columns: 16, allocated: 8, stored: 8, photometric: "MONOCHROME2", syntax: uid.JPEGBaseline}
	p.fragments = [][]byte{b.Bytes()[:half], b.Bytes()[half:]}
	if got := grays(t, p, Options{}); got[0] != 0 || got[15] != 255 || got[8] < 120 || got[8] > 150 {
		t.Errorf("JPEG: %v", got[:16])
	}
	r := picture{rows: 1, columns: 4, allocated: 16, stored: 16, photometric: "MONOCHROME2", syntax: uid.RLELossless}
	r.fragments = [][]byte{rleFrame([]byte{3, 0, 1, 0, 1}, []byte{0xFF, 0, 0xFF, 0xFF})} // 0, 256, 255, 511
	if got := grays(t, r, Options{}); got[0] != 0 || got[1] != 128 || got[2] != 127 || got[3] != 255 {
		t.Errorf("RLE: %v", got)
	}
}

// rleFrame puts segments behind a header.
func rleFrame(segments ...[]byte) []byte {
	header := make([]byte, 64)
	binary.LittleEndian.PutUint32(header, uint32(len(segments)))
	frame := header
	for i, s := range segments {
		binary.LittleEndian.PutUint32(header[4+4*i:], uint32(len(frame)))
		frame = append(frame, s...)
		copy(frame, header)
	}
	return frame
}

func TestFramesAreFoundByTheirOffsets(t *testing.T) {
	t.Parallel()
	solid := func(v uint8) []byte {
		img := image.NewGray(image.Rect(0, 0, 8, 8))
		for i := range img.Pix {
			img.Pix[i] = v
		}
		img.Pix[0], img.Pix[1] = 0, 255
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 100}); err != nil {
			t.Fatal(err)
		}
		if b.Len()%2 == 1 {
			b.WriteByte(0)
		}
		return b.Bytes()
	}
	first, second := solid(10), solid(200)
	p := picture{rows: 8, columns: 8, frames: 2, allocated: 8, stored: 8, photometric: "MONOCHROME2", syntax: uid.JPEGBaseline}
	p.fragments = [][]byte{first[:20], first[20:], second[:40], second[40:]}
	p.more = windowed(128, 257)
	for _, tabled := range []bool{true, false} {
		f := p.file()
		if e, _ := f.Dataset.Get(tag.PixelData); tabled {
			e.Fragments.Table = binary.LittleEndian.AppendUint32(make([]byte, 4), uint32(len(first)+16))
		}
		img, err := Render(f, Options{Frame: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := img.(*image.Gray).Pix[60]; got < 190 || got > 210 {
			t.Errorf("with a table %v: brightness %d, want 200", tabled, got)
		}
	}
}

func TestWhatCannotBeShownIsSaidByName(t *testing.T) {
	t.Parallel()
	base := picture{rows: 2, columns: 2, allocated: 8, stored: 8, photometric: "MONOCHROME2", pixels: make([]byte, 4)}
	cases := []struct {
		name   string
		change func(*picture)
		frame  int
		want   error
	}{
		{"JPEG 2000", func(p *picture) { p.syntax, p.fragments = uid.JPEG2000, [][]byte{{1, 2}} }, 0, ErrUnsupported},
		{"a JPEG of 12 bits", func(p *picture) {
			p.syntax, p.fragments = uid.JPEGExtended, [][]byte{{0xFF, 0xD8, 0xFF, 0xC1, 0, 8, 12, 0, 2, 0, 2, 1}}
		}, 0, ErrUnsupported},
		{"four samples", func(p *picture) { p.samples = 4 }, 0, ErrUnsupported},
		{"another color space", func(p *picture) { p.photometric = "CMYK" }, 0, ErrUnsupported},
		{"no rows", func(p *picture) { p.rows = 0 }, 0, ErrNoImage},
		{"no pixels", func(p *picture) { p.pixels = nil }, 0, ErrNoImage},
		{"a frame that is not there", func(*picture) {}, 1, ErrNoImage},
		{"too few pixels", func(p *picture) { p.rows = 200 }, 0, ErrDamaged},
		{"a JPEG of another size", func(p *picture) {
			p.syntax, p.fragments = uid.JPEGBaseline, [][]byte{{0xFF, 0xD8, 0xFF, 0xC0, 0, 8, 8, 0, 9, 0, 9, 1}}
		}, 0, ErrDamaged},
		{"an RLE frame that ends too soon", func(p *picture) { p.syntax, p.fragments = uid.RLELossless, [][]byte{rleFrame([]byte{0, 1})} }, 0, ErrDamaged},
		{"a frame that would take too much memory", func(p *picture) {
			p.rows, p.columns, p.syntax, p.fragments = 60000, 60000, uid.RLELossless, [][]byte{rleFrame([]byte{0, 1})}
		}, 0, ErrTooLarge},
		{"a palette that is not there", func(p *picture) { p.photometric = "PALETTE COLOR" }, 0, ErrUnsupported},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := base
			c.change(&p)
			if _, err := PNG(p.file(), Options{Frame: c.frame}); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// endless is a native image of any size that costs nothing.
type endless struct{ read *int64 }

func (e endless) ReadAt(p []byte, _ int64) (int, error) {
	*e.read += int64(len(p))
	return len(p), nil
}

// TestAHugeImageIsSampled: 8 GB of pixels, of which a picture needs a small part.
func TestAHugeImageIsSampled(t *testing.T) {
	t.Parallel()
	var read int64
	f := picture{rows: 65535, columns: 65535, allocated: 16, stored: 16, photometric: "MONOCHROME2", pixels: []byte{0, 0}}.file()
	f.Dataset.Set(dicom.NewLarge(tag.PixelData, vr.OW, io.NewSectionReader(endless{&read}, 0, 65535*65535*2)))
	b, err := PNG(f, Options{MaxSide: 16})
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil || img.Bounds().Dx() != 16 || img.Bounds().Dy() != 16 {
		t.Errorf("a picture of %v, %v", img.Bounds(), err)
	}
	if limit := int64(16 * (most + 2) * 65535 * 2); read > limit {
		t.Errorf("%d bytes were read, at most %d are needed", read, limit)
	}
}

func TestAPictureKeepsItsProportions(t *testing.T) {
	t.Parallel()
	for _, c := range [][5]int{{1000, 500, 100, 100, 50}, {500, 1000, 100, 50, 100}, {60, 40, 100, 60, 40}, {65535, 1, 64, 64, 1}} {
		if w, h := fit(c[0], c[1], c[2]); w != c[3] || h != c[4] {
			t.Errorf("%d x %d in %d became %d x %d, want %d x %d", c[0], c[1], c[2], w, h, c[3], c[4])
		}
	}
}
