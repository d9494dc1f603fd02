package deid

import (
	"encoding/binary"
	"fmt"
	"slices"

	"filmroom/dicom"
	"filmroom/dicom/tag"
)

// startsOf is the number of the first fragment of each frame. In RLE a fragment is a frame (PS3.5 section A.4.2) unless
// a table says otherwise; a JPEG stream begins with a marker of its own (ITU-T T.81 section B.2.1). Tables that
// say something else are refused: a frame that is skipped, or read twice, would leave unseen.
func startsOf(d *dicom.Dataset, f *dicom.Fragments, jpeg bool) ([]int, error) {
	tables, err := tablesOf(d, f)
	if err != nil {
		return nil, err
	}
	var starts []int
	switch {
	case jpeg:
		starts = streams(f)
	case len(tables) > 0:
		starts = tables[0]
	default:
		starts = each(f)
	}
	for _, table := range tables {
		if !slices.Equal(table, starts) {
			return nil, fmt.Errorf("%w: its offset tables do not point at the frames of its compressed pixels", ErrRefused)
		}
	}
	if len(starts) == 0 || starts[0] != 0 {
		return nil, fmt.Errorf("%w: its compressed pixels do not begin with a frame", ErrRefused)
	}
	return starts, nil
}

func each(f *dicom.Fragments) []int {
	starts := make([]int, f.Len())
	for i := range starts {
		starts[i] = i
	}
	return starts
}

// streams are the fragments that begin with Start Of Image.
func streams(f *dicom.Fragments) (starts []int) {
	var mark [2]byte
	for i, part := range f.All() {
		if n, _ := part.ReadAt(mark[:], 0); n == 2 && mark == [2]byte{0xFF, 0xD8} { // what cannot be read here cannot be decoded later
			starts = append(starts, i)
		}
	}
	return starts
}

// tablesOf are the fragments that the Basic and the Extended Offset Table point at, as far as there are any.
func tablesOf(d *dicom.Dataset, f *dicom.Fragments) (tables [][]int, err error) {
	unsound := fmt.Errorf("%w: its offset tables do not point at fragments of its compressed pixels", ErrRefused)
	if len(f.Table)%4 != 0 {
		return nil, unsound
	}
	var basic, extended []uint64
	for _, at := range f.Offsets() {
		basic = append(basic, uint64(at))
	}
	if e, ok := d.Get(tag.ExtendedOffsetTable); ok && e.Len() > 0 {
		b, err := e.Bytes(8 * int64(f.Len()))
		if err != nil || len(b)%8 != 0 {
			return nil, unsound
		}
		for ; len(b) > 0; b = b[8:] {
			extended = append(extended, binary.LittleEndian.Uint64(b))
		}
	}
	for _, offsets := range [][]uint64{basic, extended} {
		if len(offsets) == 0 {
			continue
		}
		starts := fragmentsAt(f, offsets)
		if len(starts) != len(offsets) {
			return nil, unsound
		}
		tables = append(tables, starts)
	}
	return tables, nil
}

// fragmentsAt finds the fragment that begins at each offset. Both ascend, so one walk finds them all; where an offset
// points elsewhere the answer is too short.
func fragmentsAt(f *dicom.Fragments, offsets []uint64) []int {
	starts := make([]int, 0, len(offsets))
	at := uint64(0)
	for i, part := range f.All() {
		if len(starts) < len(offsets) && offsets[len(starts)] == at {
			starts = append(starts, i)
		}
		at += 8 + uint64(part.Size())
	}
	return starts
}
