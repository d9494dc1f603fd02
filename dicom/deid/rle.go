package deid

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"filmroom/dicom"
	"filmroom/dicom/tag"
)

// textInRLE is what decoders do not read of frames in RLE (PS3.5 annex G): gaps, and what stands behind the last
// pixel of a segment. A frame that does not follow its header is refused: nobody could tell its pixels from
// anything else.
func textInRLE(d *dicom.Dataset, f *dicom.Fragments) (found stretches, err error) {
	rows, columns, ok := sizeOf(d)
	if !ok {
		return nil, fmt.Errorf("%w: it does not say how many pixels it has: want Rows and Columns", ErrRefused)
	}
	plane := rows * columns
	if bits, _ := only(d, tag.BitsAllocated); bits == 1 {
		plane = (plane + 7) / 8
	}
	r := bufio.NewReaderSize(nil, 16<<10)
	for _, frame := range f.All() {
		if err := textInFrame(&found, frame, r, plane); err != nil {
			return nil, err
		}
		if len(found) > mostStretches {
			return nil, fmt.Errorf("%w: its compressed pixels hold more text than can be blanked", ErrRefused)
		}
	}
	return found, nil
}

const rleHeader = 64

// textInFrame goes through the segments that a frame's header names, one byte plane each.
func textInFrame(found *stretches, frame *io.SectionReader, r *bufio.Reader, plane int64) error {
	_, base, size := frame.Outer()
	var header [rleHeader]byte
	if n, err := frame.ReadAt(header[:], 0); n < rleHeader {
		if err == io.EOF {
			return brokenRLE()
		}
		return err
	}
	bounds, ok := rleBounds(header[:], size)
	if !ok {
		return brokenRLE()
	}
	for i, from := range bounds[:len(bounds)-1] {
		to := bounds[i+1]
		r.Reset(io.NewSectionReader(frame, from, to-from))
		used, spare, err := rleSegment(r, plane)
		if err != nil {
			return err
		}
		if err := blankUnread(found, frame, base, from+used-spare, to); err != nil {
			return err
		}
	}
	return nil
}

func brokenRLE() error {
	return fmt.Errorf("%w: its pixels do not follow the header that RLE gives each frame", ErrRefused)
}

// rleBounds are where the segments begin, and where the last one ends.
func rleBounds(header []byte, size int64) (bounds []int64, ok bool) {
	count := binary.LittleEndian.Uint32(header)
	if count < 1 || count > 15 {
		return nil, false
	}
	for i := range 15 {
		at := int64(binary.LittleEndian.Uint32(header[4+4*i:]))
		switch {
		case i >= int(count):
			ok = at == 0
		case i == 0:
			ok = at == rleHeader
		default:
			ok = at > bounds[i-1]
		}
		if !ok || at > size {
			return nil, false
		}
		if i < int(count) {
			bounds = append(bounds, at)
		}
	}
	return append(bounds, size), true
}

// rleSegment reads runs until a plane is full: used bytes, of which the last spare ones are a literal run's
// beyond the plane.
func rleSegment(r *bufio.Reader, plane int64) (used, spare int64, err error) {
	for left := plane; left > 0; {
		c, err := r.ReadByte()
		if err != nil {
			return 0, 0, endOfRLE(err)
		}
		used++
		run, length := int64(257)-int64(c), 1
		switch {
		case c < 128:
			run, length = int64(c)+1, int(c)+1
		case c == 128: // nothing
			continue
		}
		if _, err := r.Discard(length); err != nil {
			return 0, 0, endOfRLE(err)
		}
		used += int64(length)
		if left -= run; left < 0 && c < 128 {
			spare = -left
		}
	}
	return used, spare, nil
}

func endOfRLE(err error) error {
	if err == io.EOF {
		return brokenRLE()
	}
	return err
}

// blankUnread adds a range of a frame, unless it holds nothing but zeros.
func blankUnread(found *stretches, frame *io.SectionReader, base, from, to int64) error {
	var b [512]byte
	for at := from; at < to; at += int64(len(b)) {
		n, err := frame.ReadAt(b[:min(int64(len(b)), to-at)], at)
		if err != nil && err != io.EOF {
			return err
		}
		for _, c := range b[:n] {
			if c != 0 {
				found.add(base+from, base+to)
				return nil
			}
		}
	}
	return nil
}
