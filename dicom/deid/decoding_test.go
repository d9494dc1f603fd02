package deid

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"io"
	"runtime"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// upperLeft is what is painted over in these tests.
var upperLeft = image.Rect(0, 0, 7, 3)

func painter() Subject {
	s := someone()
	s.Blackout = []image.Rectangle{upperLeft}
	return s
}

// images in all forms that can be decoded, with what a black pixel of each is.
var cines = []struct {
	name  string
	cine  cine
	black []byte
}{
	{"RLE, gray, 8 bits", cine{syntax: uid.RLELossless, photometric: "MONOCHROME2", rows: 9, columns: 13, samples: 1, bits: 8}, []byte{0}},
	{"RLE, gray, 16 bits, three frames", cine{syntax: uid.RLELossless, photometric: "MONOCHROME2", rows: 12, columns: 16, samples: 1, bits: 16, frames: 3}, []byte{0, 0}},
	{"RLE, gray, 32 bits", cine{syntax: uid.RLELossless, photometric: "MONOCHROME2", rows: 5, columns: 8, samples: 1, bits: 32, frames: 1}, []byte{0, 0, 0, 0}},
	{"RLE, dark where it is high", cine{syntax: uid.RLELossless, photometric: "MONOCHROME1", rows: 12, columns: 16, samples: 1, bits: 16, frames: 2}, []byte{0xFF, 0xFF}},
	{"RLE, a palette", cine{syntax: uid.RLELossless, photometric: "PALETTE COLOR", rows: 12, columns: 16, samples: 1, bits: 8, frames: 2}, []byte{0}},
	{"RLE, RGB", cine{syntax: uid.RLELossless, photometric: "RGB", rows: 11, columns: 13, samples: 3, bits: 8, frames: 3}, []byte{0, 0, 0}},
	{"RLE, RGB of 16 bits", cine{syntax: uid.RLELossless, photometric: "RGB", rows: 12, columns: 16, samples: 3, bits: 16, frames: 2}, make([]byte, 6)},
	{"RLE, YBR", cine{syntax: uid.RLELossless, photometric: "YBR_FULL", rows: 12, columns: 16, samples: 3, bits: 8, frames: 2}, []byte{0, 128, 128}},
	{"JPEG, gray", cine{syntax: uid.JPEGBaseline, photometric: "MONOCHROME2", rows: 19, columns: 21, samples: 1, bits: 8}, []byte{0}},
	{"JPEG, gray, dark where it is high", cine{syntax: uid.JPEGBaseline, photometric: "MONOCHROME1", rows: 24, columns: 24, samples: 1, bits: 8, frames: 3}, []byte{255}},
	{"JPEG, color, one frame", cine{syntax: uid.JPEGBaseline, photometric: "YBR_FULL_422", rows: 17, columns: 23, samples: 3, bits: 8}, []byte{0, 0, 0}},
	{"JPEG, color, four frames", cine{syntax: uid.JPEGBaseline, photometric: "YBR_FULL_422", rows: 24, columns: 32, samples: 3, bits: 8, frames: 4}, []byte{0, 0, 0}},
	{"JPEG, YBR_FULL", cine{syntax: uid.JPEGBaseline, photometric: "YBR_FULL", rows: 16, columns: 16, samples: 3, bits: 8, frames: 2}, []byte{0, 0, 0}},
}

func TestRectanglesOfCompressedPixelsAreBlackAndAllElseStaysAsItWas(t *testing.T) {
	t.Parallel()
	for _, c := range cines {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, out, _ := applied(t, plan(t, Options{}), c.cine.file(t, c.cine.fragments(t)...), painter())
			checkPainted(t, out, c.cine, c.black)
		})
	}
}

// checkPainted holds all pixels against what the frames were.
func checkPainted(t *testing.T, out *dicom.File, c cine, black []byte) {
	t.Helper()
	e, _ := out.Dataset.Get(tag.PixelData)
	got, err := e.Bytes(1 << 24)
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for i := range max(c.frames, 1) {
		frame := c.native(i)
		if c.syntax == uid.JPEGBaseline {
			frame = decodedJPEG(t, c.compressed(t, i), c.samples)
		}
		for y := upperLeft.Min.Y; y < upperLeft.Max.Y; y++ {
			for x := upperLeft.Min.X; x < upperLeft.Max.X; x++ {
				copy(frame[(y*c.columns+x)*len(black):], black)
			}
		}
		want = append(want, frame...)
	}
	want = append(want, make([]byte, len(want)%2)...)
	if !bytes.Equal(got, want) {
		t.Errorf("the pixels are not those that were, with a black rectangle:\n%v\nwant\n%v", got[:min(len(got), 99)], want[:min(len(want), 99)])
	}
}

func TestTheAttributesOfDecompressedPixelsAreThoseOfNativeOnes(t *testing.T) {
	t.Parallel()
	for _, c := range cines {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			loss := "(absent)"
			photometric, planar := c.cine.photometric, "(absent)"
			if c.cine.syntax == uid.JPEGBaseline {
				loss = "01"
			}
			if c.cine.samples == 3 && loss == "01" {
				photometric = "RGB"
			}
			_, out, report := applied(t, plan(t, Options{}), c.cine.file(t, c.cine.fragments(t)...), painter())
			d := out.Dataset
			if n, err := d.Int(tag.PlanarConfiguration); err == nil && n == 0 {
				planar = "beside each other"
			}
			wantPlanar := map[int]string{1: "(absent)", 3: "beside each other"}[c.cine.samples]
			if out.TransferSyntax != uid.ExplicitLE || text(d, tag.PhotometricInterpretation) != photometric || planar != wantPlanar {
				t.Errorf("%s, %s, samples %s", out.TransferSyntax, text(d, tag.PhotometricInterpretation), planar)
			}
			if text(d, tag.LossyImageCompression) != loss || (loss == "01") != (text(d, tag.LossyImageCompressionMethod) == "ISO_10918_1") || (loss == "01") != d.Has(tag.LossyImageCompressionRatio) {
				t.Errorf("the loss: %q", values(d))
			}
			codes := d.Items(tag.DeidentificationMethodCodeSequence)
			if text(d, tag.BurnedInAnnotation) != "NO" || len(codes) != 2 || text(codes[1], tag.CodeValue) != cleanPixels {
				t.Error("the marks do not say that rectangles were blacked out")
			}
			e, _ := d.Get(tag.PixelData)
			if e.Fragments != nil || (c.cine.bits == 8) != (e.VR == vr.OB) || (c.cine.bits > 8) != (e.VR == vr.OW) {
				t.Errorf("pixels of VR %v", e.VR)
			}
			if report.CountByAction()[Blanked] != 1 {
				t.Errorf("the report: %s", report.String())
			}
		})
	}
}

// TestWhatAJPEGSaysOfItselfIsCorrectedAndWhatItLostIsKept: bits that a file gets wrong, and a longer history of loss.
func TestWhatAJPEGSaysOfItselfIsCorrectedAndWhatItLostIsKept(t *testing.T) {
	t.Parallel()
	c := cine{syntax: uid.JPEGBaseline, photometric: "MONOCHROME2", rows: 16, columns: 16, samples: 1, bits: 8}
	c.more = []*dicom.Element{dicom.Ints(tag.BitsAllocated, 16), dicom.Ints(tag.BitsStored, 12), dicom.Ints(tag.HighBit, 11), dicom.Text(tag.LossyImageCompression, "00"),
		dicom.Text(tag.LossyImageCompressionMethod, "ISO_15444_1", "ISO_10918_1"), dicom.Floats(tag.LossyImageCompressionRatio, 3, 5)}
	_, out, _ := applied(t, plan(t, Options{}), c.file(t, c.fragments(t)...), painter())
	checkPainted(t, out, c, []byte{0})
	for at, want := range map[tag.Tag]int64{tag.BitsAllocated: 8, tag.BitsStored: 8, tag.HighBit: 7} {
		if n, err := out.Dataset.Int(at); err != nil || n != want {
			t.Errorf("%s is %d, want %d: %v", at.Keyword(), n, want, err)
		}
	}
	if text(out.Dataset, tag.LossyImageCompression) != "01" || text(out.Dataset, tag.LossyImageCompressionMethod) != `ISO_15444_1\ISO_10918_1` || text(out.Dataset, tag.LossyImageCompressionRatio) != `3\5` {
		t.Errorf("the loss: %q", values(out.Dataset))
	}
}

// TestColorsOfAJPEGAreWhatItsStreamSays: many files say RGB of a stream that is YCbCr by its own header.
func TestColorsOfAJPEGAreWhatItsStreamSays(t *testing.T) {
	t.Parallel()
	c := cine{syntax: uid.JPEGBaseline, photometric: "RGB", rows: 16, columns: 16, samples: 3, bits: 8}
	stream := c.compressed(t, 0)
	with := func(segment string) []byte { return append([]byte("\xFF\xD8"+segment), stream[2:]...) }
	for name, of := range map[string]struct {
		stream []byte
		asIs   bool
	}{
		"it says nothing":     {stream, true},
		"it is JFIF":          {with("\xFF\xE0\x00\x10JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x00\x00"), false},
		"Adobe says YCbCr":    {with("\xFF\xEE\x00\x0EAdobe\x00\x64\x00\x00\x00\x00\x01"), false},
		"Adobe says RGB":      {with("\xFF\xEE\x00\x0EAdobe\x00\x64\x00\x00\x00\x00\x00"), true},
		"JFIF without colors": {with("\xFF\xFE\x00\x06JFIF"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, out, _ := applied(t, plan(t, Options{}), c.file(t, of.stream), painter())
			e, _ := out.Dataset.Get(tag.PixelData)
			last := e.Value[len(e.Value)-3:]
			native := c.native(0)
			near := true // what the encoder was given: RGB, unless it is taken for what it is not
			for i, b := range native[len(native)-3:] {
				near = near && max(b, last[i])-min(b, last[i]) < 12
			}
			if near == of.asIs {
				t.Errorf("the last pixel is %v, it was %v", last, native[len(native)-3:])
			}
		})
	}
}

func TestFramesAreFoundByTheirTablesAndMarkers(t *testing.T) {
	t.Parallel()
	rle := cine{syntax: uid.RLELossless, photometric: "MONOCHROME2", rows: 12, columns: 16, samples: 1, bits: 16, frames: 2}
	jpg := cine{syntax: uid.JPEGBaseline, photometric: "YBR_FULL_422", rows: 24, columns: 32, samples: 3, bits: 8, frames: 2}
	for name, of := range map[string]struct {
		cine  cine
		black []byte
	}{"RLE": {rle, []byte{0, 0}}, "JPEG": {jpg, []byte{0, 0, 0}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := of.cine.fragments(t)
			first, second := split(whole[0], 100), split(whole[1], 100)
			second0 := uint32(8*len(first) + len(whole[0]) + len(whole[0])%2)
			one := whole[0][:len(whole[0]):len(whole[0])]
			files := map[string]*dicom.File{
				"a table, a fragment each": of.cine.tabled(t, []uint32{0, uint32(8 + len(one) + len(one)%2)}, whole...),
				"a table, many fragments":  of.cine.tabled(t, []uint32{0, second0}, append(first, second...)...),
			}
			extended := of.cine
			extended.more = tables(0, uint64(second0))
			files["an extended table"] = extended.file(t, append(first, second...)...)
			if of.cine.syntax == uid.JPEGBaseline {
				files["markers alone"] = of.cine.file(t, append(first, second...)...)
			}
			for name, f := range files {
				_, out, _ := applied(t, plan(t, Options{}), f, painter())
				checkPainted(t, out, of.cine, of.black)
				if out.Dataset.Has(tag.ExtendedOffsetTable) || out.Dataset.Has(tag.ExtendedOffsetTableLengths) {
					t.Errorf("%s: an offset table is left of what is no longer there", name)
				}
			}
		})
	}
}

// tables are an Extended Offset Table and its lengths.
func tables(offsets ...uint64) []*dicom.Element {
	var at, lengths []byte
	for _, o := range offsets {
		at, lengths = binary.LittleEndian.AppendUint64(at, o), binary.LittleEndian.AppendUint64(lengths, 1)
	}
	return []*dicom.Element{dicom.New(tag.ExtendedOffsetTable, vr.OV, at), dicom.New(tag.ExtendedOffsetTableLengths, vr.OV, lengths)}
}

func TestFramesThatAreNotWhatTheFileSaysAreRefused(t *testing.T) {
	t.Parallel()
	rle := cine{syntax: uid.RLELossless, photometric: "MONOCHROME2", rows: 12, columns: 16, samples: 1, bits: 16, frames: 2}
	jpg := cine{syntax: uid.JPEGBaseline, photometric: "MONOCHROME2", rows: 16, columns: 16, samples: 1, bits: 8, frames: 2}
	but := func(c cine, change func(*cine)) cine { change(&c); return c }
	with := func(c cine, e ...*dicom.Element) cine { c.more = e; return c }
	r, j := rle.fragments(t), jpg.fragments(t)
	short := func(parts [][]byte) [][]byte { return [][]byte{parts[0], parts[1][:len(parts[1])/2]} }
	twelve := bytes.Clone(j[0])
	twelve[bytes.Index(twelve, []byte{0xFF, 0xC0})+4] = 12
	color := but(jpg, func(c *cine) { c.samples, c.photometric = 3, "YBR_FULL_422" })
	for name, f := range map[string]*dicom.File{
		"more frames than fragments, RLE":        but(rle, func(c *cine) { c.frames = 3 }).file(t, r...),
		"fewer frames than fragments, RLE":       but(rle, func(c *cine) { c.frames = 0 }).file(t, r...),
		"more frames than streams, JPEG":         but(jpg, func(c *cine) { c.frames = 3 }).file(t, j...),
		"fewer frames than streams, JPEG":        but(jpg, func(c *cine) { c.frames = 1 }).file(t, j...),
		"no frames":                              with(jpg, dicom.Ints(tag.NumberOfFrames, 0)).file(t, j...),
		"frames beyond counting":                 with(jpg, dicom.New(tag.NumberOfFrames, vr.IS, []byte("99999999999 "))).file(t, j...),
		"no fragment":                            rle.file(t),
		"a table of fewer frames":                rle.tabled(t, []uint32{0}, r...),
		"a table of another frame":               jpg.tabled(t, []uint32{0, 0}, j...),
		"a table beside the fragments":           rle.tabled(t, []uint32{0, 9}, r...),
		"a table that skips the first":           but(rle, func(c *cine) { c.frames = 1 }).tabled(t, []uint32{uint32(8 + len(r[0]))}, r...),
		"an extended table beside the fragments": with(jpg, tables(0, 3)...).file(t, j...),
		"an extended table without an end":       with(jpg, dicom.New(tag.ExtendedOffsetTable, vr.OV, make([]byte, 12))).file(t, j...),
		"an endless extended table":              with(jpg, dicom.New(tag.ExtendedOffsetTable, vr.OV, make([]byte, 70_000))).file(t, j...),
		"a second frame that ends, RLE":          rle.file(t, short(r)...),
		"a second frame that ends, JPEG":         jpg.file(t, short(j)...),
		"segments of other samples":              but(rle, func(c *cine) { c.samples, c.photometric, c.bits = 3, "RGB", 8 }).file(t, r...),
		"a picture of another size":              but(jpg, func(c *cine) { c.rows = 17 }).file(t, j...),
		"a gray stream of a color image":         color.file(t, j...),
		"a color stream of a gray image":         jpg.file(t, color.fragments(t)...),
		"12 bits in JPEG":                        jpg.file(t, twelve, j[1]),
		"something else before the first frame":  jpg.file(t, append([][]byte{{1, 2}}, j...)...),
		"no image in a frame":                    jpg.file(t, j[0], []byte{0xFF, 0xD8, 0xFF, 0xD9}),
		"single bits":                            with(rle, dicom.Ints(tag.BitsAllocated, 1)).file(t, r...),
		"bits beyond the cell":                   with(rle, dicom.Ints(tag.HighBit, 16)).file(t, r...),
		"a form that nobody knows":               with(rle, dicom.Text(tag.PhotometricInterpretation, "CMYK")).file(t, r...),
		"shared colors in RLE":                   but(rle, func(c *cine) { c.samples, c.bits, c.photometric = 3, 8, "YBR_FULL_422" }).file(t, r...),
		"a frame that is too large, RLE":         but(rle, func(c *cine) { c.rows, c.columns = 65535, 65535 }).file(t, r...),
		"a frame that is too large, JPEG":        but(jpg, func(c *cine) { c.rows, c.columns = 65535, 65535 }).file(t, j...),
		"a large frame of a few bytes":           but(rle, func(c *cine) { c.rows, c.columns = 4000, 4000 }).file(t, r...),
		"more than an element can hold":          but(rle, func(c *cine) { c.rows, c.columns, c.frames = 4000, 4000, 135 }).file(t, r...),
		"no rows":                                with(rle, dicom.Ints(tag.Rows, 0)).file(t, r...),
		"pixels of floating point":               floating(t, rle.file(t, r...)),
	} {
		if _, err := plan(t, Options{}).Apply(io.Discard, f, painter()); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := plan(t, Options{}).Apply(io.Discard, rle.file(t, r...), painter()); err != nil {
		t.Errorf("as it should be: %v", err)
	}
}

func floating(t *testing.T, f *dicom.File) *dicom.File {
	t.Helper()
	e, _ := f.Dataset.Get(tag.PixelData)
	f.Dataset.Remove(tag.PixelData)
	f.Dataset.Set(dicom.Encapsulated(tag.FloatPixelData, vr.OF, e.Fragments))
	return f
}

func TestOtherCompressionsAreRefusedByName(t *testing.T) {
	t.Parallel()
	for syntax, name := range map[string]string{
		uid.JPEGExtended: "JPEG Extended (Process 2 & 4)", uid.JPEG2000: "JPEG 2000 Image Compression", uid.DeflatedFrame: uid.Name(uid.DeflatedFrame),
		"1.2.3.4.4711": "an unknown transfer syntax",
	} {
		c := cine{syntax: uid.JPEGBaseline, photometric: "MONOCHROME2", rows: 16, columns: 16, samples: 1, bits: 8}
		f := c.file(t, c.fragments(t)...)
		f.TransferSyntax = syntax
		_, err := plan(t, Options{}).Apply(io.Discard, f, painter())
		want := "cannot be de-identified: rectangles cannot be blacked out in pixels compressed as " + name + ", only in native ones, RLE Lossless and JPEG Baseline"
		if !errors.Is(err, ErrRefused) || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
		if dicom.IsEncapsulated(syntax) && Paintable(syntax) {
			t.Errorf("%s is said to be paintable", name)
		}
	}
}

// TestADryRunFindsADamagedFrame: what can be known before anything is written, is.
func TestADryRunFindsADamagedFrame(t *testing.T) {
	t.Parallel()
	c := cine{syntax: uid.RLELossless, photometric: "MONOCHROME2", rows: 16, columns: 16, samples: 1, bits: 8, frames: 2}
	f := c.fragments(t)
	if _, err := plan(t, Options{}).DryRun(c.file(t, f[0][:70], f[1]), painter()); !errors.Is(err, ErrRefused) {
		t.Errorf("got %v", err)
	}
	changes, err := plan(t, Options{}).DryRun(c.file(t, f...), painter())
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		if change.Keyword == "PixelData" && (change.Before != "2 fragments" || change.After != "512 bytes" || change.Action != Blanked) {
			t.Errorf("%+v", change)
		}
	}
}

// TestTextInCompressedPixelsIsNowhereInWhatLeaves: under the rectangle, beside the image in its streams, and in tables.
func TestTextInCompressedPixelsIsNowhereInWhatLeaves(t *testing.T) {
	t.Parallel()
	p := &plants{}
	c := cine{syntax: uid.RLELossless, photometric: "MONOCHROME2", rows: 12, columns: 16, samples: 1, bits: 8, frames: 1}
	pixels := bytes.Repeat([]byte{9}, c.rows*c.columns)
	p.all = append(p.all, "QWZ4X7KJ14XYZW") // without runs, so that it stands in RLE as it is
	copy(pixels[c.columns:], p.all[0])
	fragment := append(rleOf(pixels, 1, 1), p.next()...)
	c.more = append(tables(0), dicom.Sequence(tag.IconImageSequence, dicom.NewDataset(dicom.New(tag.PixelData, vr.OB, []byte(p.next())))),
		dicom.New(tag.ExtendedOffsetTableLengths, vr.OV, []byte(p.next()+"--")))
	s := painter()
	s.Blackout = append(s.Blackout, image.Rect(6, 1, 14, 2))
	f := c.file(t, fragment)
	var before bytes.Buffer
	if err := dicom.Write(&before, f); err != nil || len(p.found(before.Bytes())) != len(p.all) {
		t.Fatal("the test did not plant what it looks for", err)
	}
	b, out, _ := applied(t, plan(t, Options{}), f, s)
	if left := p.found(b); len(left) > 0 {
		t.Errorf("%v left", left)
	}
	if e, _ := out.Dataset.Get(tag.PixelData); bytes.Count(e.Value, []byte{9}) < 150 {
		t.Error("the picture went with the text")
	}
	jpg := cine{syntax: uid.JPEGBaseline, photometric: "MONOCHROME2", rows: 16, columns: 16, samples: 1, bits: 8}
	stream := jpg.compressed(t, 0)
	said := p.next()
	stream = append(append(append([]byte{0xFF, 0xD8, 0xFF, 0xFE, 0, byte(len(said) + 2)}, said...), stream[2:]...), p.next()...)
	b, _, _ = applied(t, plan(t, Options{}), jpg.file(t, stream), painter())
	if left := p.found(b); len(left) > 0 {
		t.Errorf("%v left of a JPEG stream", left)
	}
}

// TestMemoryIsThatOfAFrameHoweverManyThereAre: 200 frames of a megabyte each.
func TestMemoryIsThatOfAFrameHoweverManyThereAre(t *testing.T) {
	c := cine{syntax: uid.RLELossless, photometric: "RGB", rows: 512, columns: 640, samples: 3, bits: 8, frames: 200}
	frame := rleOf(bytes.Repeat([]byte{1, 2, 3}, c.rows*c.columns), 3, 1)
	parts := make([][]byte, c.frames)
	for i := range parts {
		parts[i] = frame
	}
	f, p := c.file(t, parts...), plan(t, Options{})
	var before, after runtime.MemStats
	var written counted
	runtime.ReadMemStats(&before)
	if _, err := p.Apply(&written, f, painter()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d bytes were allocated for %d that were written", n, written)
	}
	if written < 200*512*640*3 {
		t.Errorf("only %d bytes were written", written)
	}
}

type counted int64

func (n *counted) Write(b []byte) (int, error) {
	*n += counted(len(b))
	return len(b), nil
}
