package preview

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// rle undoes RLE compression (PS3.5 annex G): for each byte of each sample, the highest first, a segment
// with that byte of all pixels.
func (d *description) rle(b []byte) (raster, error) {
	size := d.allocated / 8
	if size == 0 || d.frameBytes() > maxFrame {
		return nil, fmt.Errorf("%w: an RLE frame of %d bytes", ErrTooLarge, d.frameBytes())
	}
	if d.frameBytes() > mostRLE*int64(len(b)) {
		return nil, fmt.Errorf("%w: an RLE frame of %d bytes cannot hold %d", ErrDamaged, len(b), d.frameBytes())
	}
	segments, err := rleSegments(b, d.samples*size)
	if err != nil {
		return nil, err
	}
	pixels := d.rows * d.columns
	out := make([]byte, pixels*d.samples*size)
	for i, segment := range segments {
		sample, place := i/size, size-1-i%size
		if err := unpack(segment, out[sample*size+place:], d.samples*size, pixels); err != nil {
			return nil, err
		}
	}
	interleaved := *d
	interleaved.planar = false // whatever the file says: RLE has planes of its own
	return interleaved.native(bytes.NewReader(out), int64(len(out)), 0)
}

// mostRLE is how many bytes one compressed byte can stand for: two make a run of 128.
const mostRLE = 64

// rleSegments cuts a frame by the offsets in its header of 64 bytes (PS3.5 section G.5).
func rleSegments(b []byte, want int) ([][]byte, error) {
	if len(b) < 64 {
		return nil, fmt.Errorf("%w: an RLE frame of %d bytes is shorter than its header of 64", ErrDamaged, len(b))
	}
	if n := binary.LittleEndian.Uint32(b); n != uint32(want) || want > 15 {
		return nil, fmt.Errorf("%w: an RLE frame of %d segments, want %d", ErrDamaged, n, want)
	}
	segments := make([][]byte, want)
	end := uint32(len(b))
	for i := want - 1; i >= 0; i-- {
		at := binary.LittleEndian.Uint32(b[4+4*i:])
		if at < 64 || at > end {
			return nil, fmt.Errorf("%w: an RLE segment lies outside its frame", ErrDamaged)
		}
		segments[i] = b[at:end]
		end = at
	}
	return segments, nil
}

// unpack writes a segment's count bytes to every step-th place of out (PS3.5 section G.3.2).
func unpack(b, out []byte, step, count int) error {
	n := 0
	for len(b) > 0 && n < count {
		head := int(int8(b[0]))
		b = b[1:]
		switch {
		case head >= 0: // head+1 bytes as they are
			run := min(head+1, len(b))
			for _, c := range b[:min(run, count-n)] {
				out[n*step] = c
				n++
			}
			b = b[run:]
		case head > -128 && len(b) > 0: // one byte, 1-head times
			for range min(1-head, count-n) {
				out[n*step] = b[0]
				n++
			}
			b = b[1:]
		}
	}
	if n < count {
		return fmt.Errorf("%w: an RLE segment of %d bytes, want %d", ErrDamaged, n, count)
	}
	return nil
}
