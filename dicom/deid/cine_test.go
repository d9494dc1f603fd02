package deid

import (
	"bytes"
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

// cine is a compressed image whose native pixels are known.
type cine struct {
	syntax        string
	photometric   string
	rows, columns int
	samples, bits int
	frames        int
	more          []*dicom.Element
}

// native are the pixels of a frame, little endian, the samples of a pixel beside each other: soft shapes, so that JPEG
// keeps them well.
func (c cine) native(frame int) []byte {
	var b []byte
	for y := range c.rows {
		for x := range c.columns {
			for s := range c.samples {
				v := uint32(40 + 3*x + 2*y + 25*frame + 50*s)
				if c.bits == 8 {
					b = append(b, byte(min(v, 250)))
				} else {
					b = binary.LittleEndian.AppendUint32(b, v*(1<<(c.bits-9)))[:len(b)+c.bits/8]
				}
			}
		}
	}
	return b
}

// compressed is a frame as one fragment.
func (c cine) compressed(t testing.TB, frame int) []byte {
	t.Helper()
	if c.syntax == uid.RLELossless {
		return rleOf(c.native(frame), c.samples, c.bits/8)
	}
	return jpegOf(t, c.native(frame), c.rows, c.columns, c.samples)
}

// fragments are all frames, one each.
func (c cine) fragments(t testing.TB) [][]byte {
	t.Helper()
	var all [][]byte
	for i := range max(c.frames, 1) {
		all = append(all, c.compressed(t, i))
	}
	return all
}

// file is the image of these fragments as a reader has it.
func (c cine) file(t testing.TB, parts ...[]byte) *dicom.File {
	t.Helper()
	return c.tabled(t, nil, parts...)
}

// tabled has a Basic Offset Table too.
func (c cine) tabled(t testing.TB, offsets []uint32, parts ...[]byte) *dicom.File {
	t.Helper()
	fragments := dicom.NewFragments(parts...)
	for _, at := range offsets {
		fragments.Table = binary.LittleEndian.AppendUint32(fragments.Table, at)
	}
	d := ct(dicom.Text(tag.SOPClassUID, "1.2.840.10008.5.1.4.1.1.3.1"), dicom.Text(tag.Modality, "US"),
		dicom.Ints(tag.Rows, int64(c.rows)), dicom.Ints(tag.Columns, int64(c.columns)), dicom.Ints(tag.SamplesPerPixel, int64(c.samples)),
		dicom.Ints(tag.BitsAllocated, int64(c.bits)), dicom.Ints(tag.BitsStored, int64(c.bits)), dicom.Ints(tag.HighBit, int64(c.bits-1)),
		dicom.Text(tag.PhotometricInterpretation, c.photometric), dicom.Encapsulated(tag.PixelData, vr.OB, fragments))
	if c.samples > 1 {
		d.Set(dicom.Ints(tag.PlanarConfiguration, 1))
	}
	if c.frames > 0 {
		d.Set(dicom.Ints(tag.NumberOfFrames, int64(c.frames)))
	}
	for _, e := range c.more {
		d.Set(e)
	}
	var b bytes.Buffer
	if err := dicom.Write(&b, dicom.NewFile(d, c.syntax)); err != nil {
		t.Fatal(err)
	}
	return parse(t, b.Bytes())
}

// rleOf is a frame in RLE (PS3.5 annex G): a segment for each byte of each sample, the highest byte first.
func rleOf(native []byte, samples, cell int) []byte {
	header := make([]byte, 64)
	binary.LittleEndian.PutUint32(header, uint32(samples*cell))
	out := header
	for i := range samples * cell {
		binary.LittleEndian.PutUint32(header[4+4*i:], uint32(len(out)))
		var plane []byte
		for at := i/cell*cell + cell - 1 - i%cell; at < len(native); at += samples * cell {
			plane = append(plane, native[at])
		}
		packed := packBits(plane)
		out = append(out, append(packed, make([]byte, len(packed)%2)...)...)
	}
	copy(out, header)
	return out
}

// packBits packs runs of three and more as such, the rest as it is.
func packBits(b []byte) (out []byte) {
	var literal []byte
	flush := func() {
		for len(literal) > 0 {
			n := min(len(literal), 128)
			out = append(append(out, byte(n-1)), literal[:n]...)
			literal = literal[n:]
		}
	}
	for len(b) > 0 {
		run := 1
		for run < len(b) && run < 128 && b[run] == b[0] {
			run++
		}
		if run < 3 {
			literal = append(literal, b[0])
			b = b[1:]
			continue
		}
		flush()
		out = append(out, byte(257-run), b[0])
		b = b[run:]
	}
	flush()
	return out
}

func jpegOf(t testing.TB, native []byte, rows, columns, samples int) []byte {
	t.Helper()
	var img image.Image
	bounds := image.Rect(0, 0, columns, rows)
	if samples == 1 {
		img = &image.Gray{Pix: native, Stride: columns, Rect: bounds}
	} else {
		rgb := image.NewRGBA(bounds)
		for i := range rows * columns {
			rgb.SetRGBA(i%columns, i/columns, color.RGBA{native[3*i], native[3*i+1], native[3*i+2], 255})
		}
		img = rgb
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decodedJPEG is what Go's decoder shows of a frame, as native pixels.
func decodedJPEG(t testing.TB, b []byte, samples int) []byte {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			out = append(out, []byte{c.R, c.G, c.B}[:samples]...)
		}
	}
	return out
}

// split cuts a fragment into parts of even length.
func split(b []byte, size int) (parts [][]byte) {
	for len(b) > size {
		parts = append(parts, b[:size])
		b = b[size:]
	}
	return append(parts, b)
}
