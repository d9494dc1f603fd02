package deid

import (
	"bytes"
	"fmt"
	"io"

	"filmroom/dicom"
	"filmroom/dicom/tag"
)

// pixels lets an image's pixels through as a stream, without what lies behind the last one and without
// overlays in the bits beside them.
func (p *pass) pixels(src, out *dicom.Dataset, e *dicom.Element) error {
	switch {
	case e.IsSequence() || e.VR.IsString():
		p.note(src, e, Removed, out, nil) // no pixels at all
		return nil
	case e.Fragments != nil:
		return p.compressed(src, out, e)
	}
	if e.Len() == 0 {
		out.Set(e)
		return nil
	}
	n, ok := nativeLength(src, e.Tag)
	if !ok {
		return fmt.Errorf("%w: it does not say how many pixels it has: want Rows, Columns and Bits Allocated", ErrRefused)
	}
	after := *e
	if e.Len() > n {
		cutTo(&after, n)
		p.note(src, e, Trimmed, out, &after)
	}
	if mask, unit, ok := pixelMask(src); ok && p.embedded && e.Tag == tag.PixelData {
		blank(&after, mask, unit)
		p.note(src, e, Blanked, out, &after)
	}
	if len(p.subject.Blackout) > 0 {
		if err := p.blacken(src, &after); err != nil {
			return err
		}
		p.note(src, e, Blanked, out, &after)
	}
	out.Set(&after)
	return nil
}

// compressed lets compressed pixels through without the text that their streams may carry.
func (p *pass) compressed(src, out *dicom.Dataset, e *dicom.Element) error {
	if len(p.subject.Blackout) > 0 {
		return p.decodeAndBlacken(src, out, e)
	}
	fragments, err := withoutText(p.syntax, src, e.Fragments)
	if err != nil {
		return err
	}
	if !soundTable(fragments) {
		fragments = fragments.In(source(fragments))
		fragments.Table = nil
	}
	if fragments == e.Fragments {
		out.Set(e)
		return nil
	}
	after := *e
	after.Fragments = fragments
	out.Set(&after)
	p.note(src, e, Blanked, out, &after)
	return nil
}

// source is where fragments are read from.
func source(f *dicom.Fragments) io.ReaderAt {
	if f.Len() == 0 {
		return bytes.NewReader(nil)
	}
	src, _, _ := f.At(0).Outer()
	return src
}

// nativeLength is how many bytes the pixels take by the image's own description (PS3.5 section 8.1.1),
// rounded up to an even number; ok is false where it does not say.
func nativeLength(d *dicom.Dataset, t tag.Tag) (n int64, ok bool) {
	rows, columns, ok := sizeOf(d)
	if !ok {
		return 0, false
	}
	samples := positive(d, tag.SamplesPerPixel)
	if photometric, _ := d.String(tag.PhotometricInterpretation); photometric == "YBR_FULL_422" {
		samples = 2 // two pixels share their colour (PS3.3 section C.7.6.3.1.2)
	}
	bits, err := only(d, tag.BitsAllocated)
	switch {
	case t == tag.FloatPixelData:
		bits = 32
	case t == tag.DoubleFloatPixelData:
		bits = 64
	case err != nil || bits < 1:
		return 0, false
	}
	frames := positive(d, tag.NumberOfFrames)
	if samples > 4 || bits > 64 || frames > 1<<24 {
		return 0, false
	}
	n = (rows*columns*samples*frames*bits + 7) / 8
	return n + n%2, true
}

// sizeOf is how large an image is, if it says so.
func sizeOf(d *dicom.Dataset) (rows, columns int64, ok bool) {
	rows, err1 := only(d, tag.Rows)
	columns, err2 := only(d, tag.Columns)
	return rows, columns, err1 == nil && err2 == nil && rows > 0 && columns > 0 && rows <= 1<<16 && columns <= 1<<16
}

// only is the value of an element that has one. With several the element does not leave, and what it says of the
// pixels that do would not be known to whoever reads them.
func only(d *dicom.Dataset, t tag.Tag) (int64, error) {
	values, err := d.Ints(t)
	switch {
	case err != nil:
		return 0, err
	case len(values) > 1:
		return 0, fmt.Errorf("%w: %d values: want one", dicom.ErrValue, len(values))
	}
	return values[0], nil
}

// positive is the value of an element, 1 where it is absent or makes no sense.
func positive(d *dicom.Dataset, t tag.Tag) int64 {
	n, err := only(d, t)
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// cutTo shortens a value to n bytes.
func cutTo(e *dicom.Element, n int64) {
	if e.Section != nil {
		e.Section = io.NewSectionReader(e.Section, 0, n)
		return
	}
	e.Value = e.Value[:n:n]
}

// isOverlay reports whether an element is of a group of overlays, 6000 to 60FE.
func isOverlay(t tag.Tag) bool { return t.Group()&0xFF01 == 0x6000 }

// hasEmbeddedOverlay reports whether an overlay lies in bits of the pixels that hold no pixel, a way
// that was retired in 2004 (PS3.5 section 8.1.2).
func hasEmbeddedOverlay(d *dicom.Dataset) bool {
	for group := uint16(0x6000); group <= 0x60FE; group += 2 {
		if !d.Has(tag.New(group, 0x0010)) && !d.Has(tag.New(group, 0x0102)) {
			continue
		}
		position, _ := only(d, tag.New(group, 0x0102))
		allocated, err := only(d, tag.New(group, 0x0100))
		if position != 0 || err == nil && allocated != 1 || !d.Has(tag.New(group, 0x3000)) {
			return true
		}
	}
	return false
}

// pixelMask has a 1 for each bit of a pixel cell that holds a pixel's value. ok is false where the
// image does not say, or where there is no other bit.
func pixelMask(d *dicom.Dataset) (mask uint32, unit int, ok bool) {
	allocated, err1 := only(d, tag.BitsAllocated)
	stored, err2 := only(d, tag.BitsStored)
	high, err3 := only(d, tag.HighBit)
	if err1 != nil || err2 != nil || err3 != nil {
		return 0, 0, false
	}
	if allocated != 8 && allocated != 16 && allocated != 32 || stored < 1 || stored >= allocated || high >= allocated || high < stored-1 {
		return 0, 0, false
	}
	return (1<<stored - 1) << (high - stored + 1), int(allocated / 8), true
}

// blank sets the bits outside mask to zero wherever the value is read.
func blank(e *dicom.Element, mask uint32, unit int) {
	if e.Section != nil {
		e.Section = io.NewSectionReader(&masked{e.Section, mask, unit}, 0, e.Section.Size())
		return
	}
	e.Value = append([]byte(nil), e.Value...)
	maskBytes(e.Value, 0, mask, unit)
}

// masked reads pixel cells with some of their bits blanked.
type masked struct {
	src  io.ReaderAt
	mask uint32
	unit int
}

func (m *masked) ReadAt(b []byte, off int64) (int, error) {
	n, err := m.src.ReadAt(b, off)
	maskBytes(b[:n], off, m.mask, m.unit)
	return n, err
}

// maskBytes blanks bits of little-endian cells; off is where b begins.
func maskBytes(b []byte, off int64, mask uint32, unit int) {
	for i := range b {
		b[i] &= byte(mask >> (8 * ((off + int64(i)) % int64(unit))))
	}
}
