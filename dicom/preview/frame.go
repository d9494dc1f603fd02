package preview

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"

	"filmroom/dicom"
	"filmroom/dicom/frame"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
)

// raster reads a frame row by row.
type raster interface {
	// row fills dst with the samples of row y, those of a pixel beside each other.
	row(y int, dst []float32) error
}

// open finds and, where needed, decompresses a frame.
func (d *description) open(f *dicom.File, number int) (raster, error) {
	if d.pixels.Fragments == nil {
		return d.native(readerAt(d.pixels), d.pixels.Len(), int64(number)*d.frameBytes())
	}
	switch f.TransferSyntax {
	case uid.RLELossless, uid.JPEGBaseline, uid.JPEGExtended, uid.DeflatedFrame, uid.EncapsulatedUncompressed:
	default:
		return nil, unsupported(f.TransferSyntax)
	}
	compressed, err := d.compressed(f.Dataset, number)
	if err != nil {
		return nil, err
	}
	switch f.TransferSyntax {
	case uid.RLELossless:
		return d.rle(compressed)
	case uid.JPEGBaseline, uid.JPEGExtended:
		return d.jpeg(compressed, f.TransferSyntax)
	case uid.DeflatedFrame:
		if compressed, err = d.inflate(compressed); err != nil {
			return nil, err
		}
	}
	return d.native(bytes.NewReader(compressed), int64(len(compressed)), 0)
}

// readerAt is where native pixel data stands.
func readerAt(e *dicom.Element) io.ReaderAt {
	if e.Section != nil {
		return e.Section
	}
	return bytes.NewReader(e.Value)
}

// mostDeflate is how many bytes one compressed byte can stand for (RFC 1951).
const mostDeflate = 1032

// inflate undoes Deflated Image Frame Compression (PS3.5 section A.4).
func (d *description) inflate(b []byte) ([]byte, error) {
	if d.frameBytes() > frame.MaxBytes {
		return nil, ErrTooLarge
	}
	if d.frameBytes() > mostDeflate*int64(len(b)) {
		return nil, fmt.Errorf("%w: a deflated frame of %d bytes cannot hold %d", ErrDamaged, len(b), d.frameBytes())
	}
	out := make([]byte, d.frameBytes())
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(b)), out); err != nil {
		return nil, fmt.Errorf("%w: a deflated frame ends too soon", ErrDamaged)
	}
	return out, nil
}

// rle undoes RLE compression (PS3.5 annex G).
func (d *description) rle(b []byte) (raster, error) {
	cell := d.allocated / 8
	if cell == 0 {
		return nil, fmt.Errorf("%w: RLE of single bits", ErrUnsupported)
	}
	if err := frame.RLEFits(d.frameBytes(), len(b)); err != nil {
		return nil, err
	}
	out := make([]byte, d.frameBytes())
	if err := frame.RLE(out, b, d.samples, cell); err != nil {
		return nil, err
	}
	interleaved := *d
	interleaved.planar = false // whatever the file says: RLE has planes of its own
	return interleaved.native(bytes.NewReader(out), int64(len(out)), 0)
}

// compressed joins the fragments of a frame.
func (d *description) compressed(ds *dicom.Dataset, number int) ([]byte, error) {
	first, end, err := d.span(ds, number)
	if err != nil {
		return nil, err
	}
	return frame.Join(nil, d.pixels.Fragments, first, end)
}

// span is which fragments make a frame: by the offset table, or one each, or all for a single one, or
// by the marker that begins a JPEG image (PS3.5 section A.4).
func (d *description) span(ds *dicom.Dataset, frame int) (first, end int, err error) {
	all := d.pixels.Fragments
	switch n := all.Len(); {
	case n == d.frames:
		return frame, frame + 1, nil
	case d.frames == 1 && n > 0:
		return 0, n, nil
	case n < d.frames:
		return 0, 0, fmt.Errorf("%w: %d fragments for %d frames", ErrDamaged, n, d.frames)
	}
	starts := d.starts(ds)
	if frame >= len(starts) {
		return 0, 0, fmt.Errorf("%w: nothing says which fragments make a frame", ErrDamaged)
	}
	end = all.Len()
	if frame+1 < len(starts) {
		end = starts[frame+1]
	}
	return starts[frame], end, nil
}

// starts are the numbers of the fragments that begin a frame.
func (d *description) starts(ds *dicom.Dataset) []int {
	if offsets := d.offsets(ds); len(offsets) == d.frames {
		return d.startsAt(offsets)
	}
	var starts []int
	var mark [2]byte
	for i, part := range d.pixels.Fragments.All() {
		if n, _ := part.ReadAt(mark[:], 0); n == 2 && mark == [2]byte{0xFF, 0xD8} {
			starts = append(starts, i)
		}
	}
	return starts
}

// offsets are the places of the frames' first items, from the Extended or the Basic Offset Table.
func (d *description) offsets(ds *dicom.Dataset) []uint64 {
	var offsets []uint64
	if e, ok := ds.Get(tag.ExtendedOffsetTable); ok && e.Len() > 0 && e.Section == nil {
		for b := e.Value; len(b) >= 8; b = b[8:] {
			offsets = append(offsets, binary.LittleEndian.Uint64(b))
		}
		return offsets
	}
	for _, o := range d.pixels.Fragments.Offsets() {
		offsets = append(offsets, uint64(o))
	}
	return offsets
}

// startsAt finds the fragment that begins at each offset. Both ascend, so one walk finds them all; where
// a table points between fragments the answer is cut short.
func (d *description) startsAt(offsets []uint64) []int {
	var starts []int
	at := uint64(0)
	for i, part := range d.pixels.Fragments.All() {
		if len(starts) < len(offsets) && offsets[len(starts)] == at {
			starts = append(starts, i)
		}
		at += 8 + uint64(part.Size())
	}
	return starts
}
