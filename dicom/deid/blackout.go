package deid

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"io"
	"strings"

	"filmroom/dicom"
	"filmroom/dicom/tag"
)

// blackout reads native pixels with rectangles of every frame in one color (PS3.15 section E.3.1). What
// it fills with is as dark as the image has it; that nothing shows through is what counts.
type blackout struct {
	src        io.ReaderAt
	rectangles []image.Rectangle
	rows       int64 // of a plane: a frame, or one color of it
	rowBytes   int64
	fills      [][]byte // one pixel of each plane
}

// newBlackout fails where the pixels are not laid out so that a rectangle could be found in them.
func newBlackout(d *dicom.Dataset, src io.ReaderAt, rectangles []image.Rectangle) (*blackout, error) {
	rows, columns := positive(d, tag.Rows), positive(d, tag.Columns)
	samples, allocated := positive(d, tag.SamplesPerPixel), positive(d, tag.BitsAllocated)
	photometric, _ := d.String(tag.PhotometricInterpretation)
	if allocated%8 != 0 || allocated > 64 || samples > 4 || photometric == "YBR_FULL_422" || !d.Has(tag.Rows) || !d.Has(tag.Columns) {
		return nil, fmt.Errorf("%w: rectangles cannot be blacked out in pixels of this form", ErrRefused)
	}
	for _, r := range rectangles {
		if !r.Overlaps(image.Rect(0, 0, int(columns), int(rows))) {
			return nil, fmt.Errorf("%w: a rectangle to black out lies outside of a picture of %d x %d pixels", ErrRefused, columns, rows)
		}
	}
	fills := make([][]byte, samples)
	for i := range fills {
		fills[i] = darkest(d, photometric, int(allocated/8))
		if i > 0 && isYBR(photometric) {
			fills[i] = colorless(d, int(allocated/8))
		}
	}
	if planar, err := only(d, tag.PlanarConfiguration); err != nil || planar != 1 {
		fills = [][]byte{bytes.Join(fills, nil)}
	}
	return &blackout{src: src, rectangles: rectangles, rows: rows, rowBytes: columns * int64(len(fills[0])), fills: fills}, nil
}

// colorless is a cell of the second or third sample of a YBR pixel that has no color: the middle of what it can hold
// (PS3.3 section C.7.6.3.1.2).
func colorless(d *dicom.Dataset, size int) []byte {
	stored := min(positive(d, tag.BitsStored), 64)
	return binary.LittleEndian.AppendUint64(nil, 1<<(stored-1))[:size]
}

// darkest is a cell of a pixel that is black, or at least the same everywhere.
func darkest(d *dicom.Dataset, photometric string, size int) []byte {
	stored := positive(d, tag.BitsStored)
	signed, _ := only(d, tag.PixelRepresentation)
	value := uint64(0)
	switch bright := photometric == "MONOCHROME1"; {
	case stored > 64 || signed != 1 && !bright:
	case signed == 1 && !bright:
		value = ^uint64(0) << (stored - 1) // the lowest, its sign extended
	case signed == 1:
		value = 1<<(stored-1) - 1
	default:
		value = 1<<stored - 1
	}
	return binary.LittleEndian.AppendUint64(nil, value)[:size]
}

func (k *blackout) ReadAt(b []byte, off int64) (int, error) {
	n, err := k.src.ReadAt(b, off)
	end := off + int64(n)
	for row := off / k.rowBytes; row*k.rowBytes < end; row++ {
		for _, r := range k.rectangles {
			if y := row % k.rows; y >= int64(r.Min.Y) && y < int64(r.Max.Y) {
				k.paint(b[:n], off, row*k.rowBytes, r)
			}
		}
	}
	return n, err
}

// paint fills the part of a row that lies in a rectangle. b begins at off, the row at start.
func (k *blackout) paint(b []byte, off, start int64, r image.Rectangle) {
	fill := k.fills[start/k.rowBytes/k.rows%int64(len(k.fills))]
	size := int64(len(fill))
	from := max(start+max(int64(r.Min.X), 0)*size, off)
	to := min(start+min(int64(r.Max.X)*size, k.rowBytes), off+int64(len(b)))
	for at := from; at < to; at++ {
		b[at-off] = fill[(at-start)%size]
	}
}

// blacken paints the subject's rectangles into an element's pixels.
func (p *pass) blacken(src *dicom.Dataset, e *dicom.Element) error {
	var from io.ReaderAt = e.Section
	if e.Section == nil {
		from = bytes.NewReader(e.Value)
	}
	k, err := newBlackout(src, from, p.subject.Blackout)
	if err != nil {
		return err
	}
	e.Section, e.Value = io.NewSectionReader(k, 0, e.Len()), nil
	return nil
}

// isYBR reports whether the samples of a pixel are brightness and two of color.
func isYBR(photometric string) bool { return strings.HasPrefix(photometric, "YBR_") }

// decodeAndBlacken makes native pixels of compressed ones, with the subject's rectangles in them.
func (p *pass) decodeAndBlacken(src, out *dicom.Dataset, e *dicom.Element) error {
	decoded, err := newDecoding(p.syntax, src, e)
	if err != nil {
		return err
	}
	size := decoded.frames * decoded.frameBytes()
	after := dicom.NewLarge(e.Tag, decoded.vr(), io.NewSectionReader(decoded, 0, size))
	if err := p.blacken(decoded.like(src), after); err != nil {
		return err
	}
	p.decoded = decoded
	out.Set(after)
	p.note(src, e, Blanked, out, after)
	return nil
}
