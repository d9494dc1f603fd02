package frame

import (
	"encoding/binary"
	"fmt"
)

// RLE undoes RLE compression (PS3.5 annex G): for each byte of each sample, the highest first, a segment with that byte
// of all pixels. It fills out with pixels of samples cells of cell bytes each, little endian, the samples of a pixel
// beside each other. The caller bounds out, by [RLEFits] before there is one.
func RLE(out, b []byte, samples, cell int) error {
	segments, err := rleSegments(b, samples*cell)
	if err != nil {
		return err
	}
	step := samples * cell
	for i, segment := range segments {
		sample, place := i/cell, cell-1-i%cell
		if err := unpack(segment, out[sample*cell+place:], step, len(out)/step); err != nil {
			return err
		}
	}
	return nil
}

// mostRLE is how many bytes one compressed byte can stand for: two make a run of 128.
const mostRLE = 64

// RLEFits says what is wrong with a frame of size bytes in RLE that claims to hold native bytes.
func RLEFits(native int64, size int) error {
	if native > MaxBytes {
		return ErrTooLarge
	}
	if native > mostRLE*int64(size) {
		return fmt.Errorf("%w: an RLE frame of %d bytes cannot hold %d", ErrDamaged, size, native)
	}
	return nil
}

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
