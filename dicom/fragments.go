package dicom

import (
	"encoding/binary"
	"io"
	"iter"
	"unsafe"

	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// Fragments are the parts of encapsulated pixel data (PS3.5 section A.4). They stay in their source.
type Fragments struct {
	// Table is the Basic Offset Table as it stands in the file, without its item's header; often empty.
	Table []byte

	src   io.ReaderAt
	spans []span
}

// span is a fragment's place in its source.
type span struct {
	at     int64
	length uint32
}

// spanSize is what a span counts against MaxMemory: twice its size, for the list is copied as it grows.
const spanSize = 2 * int(unsafe.Sizeof(span{}))

// NewFragments makes encapsulated pixel data of fragments in memory, with an empty offset table.
// Fragments of odd length get a zero byte (PS3.5 section A.4).
func NewFragments(parts ...[]byte) *Fragments {
	f := &Fragments{}
	var all []byte
	for _, p := range parts {
		f.spans = append(f.spans, span{int64(len(all)), uint32(len(p) + len(p)%2)})
		all = append(all, p...)
		all = append(all, make([]byte, len(p)%2)...)
	}
	f.src = readerAt(all)
	return f
}

// Len is the number of fragments, the offset table not counted.
func (f *Fragments) Len() int { return len(f.spans) }

// At is fragment i, counted from 0.
func (f *Fragments) At(i int) *io.SectionReader {
	return io.NewSectionReader(f.src, f.spans[i].at, int64(f.spans[i].length))
}

// In is the same fragments, read from another source that has them in the same places.
func (f *Fragments) In(src io.ReaderAt) *Fragments {
	moved := *f
	moved.src = src
	return &moved
}

// All are the fragments in order.
func (f *Fragments) All() iter.Seq2[int, *io.SectionReader] {
	return func(yield func(int, *io.SectionReader) bool) {
		for i := range f.spans {
			if !yield(i, f.At(i)) {
				return
			}
		}
	}
}

// Offsets are the entries of the Basic Offset Table: for each frame the distance of its first
// fragment's item from that of the very first fragment. None where the table is empty.
func (f *Fragments) Offsets() []uint32 {
	offsets := make([]uint32, len(f.Table)/4)
	for i := range offsets {
		offsets[i] = binary.LittleEndian.Uint32(f.Table[4*i:])
	}
	return offsets
}

// fragments reads the items of encapsulated pixel data: the offset table first, then the fragments, of
// which only the place is noted.
func (d *decoder) fragments(e *Element, end int64) error {
	f := &Fragments{src: d.in.src}
	e.Fragments = f
	for first := true; d.pos < end; first = false {
		h, err := d.itemHeader(end)
		if err != nil {
			return err
		}
		if h.tag == tag.SequenceDelimitationItem {
			return nil
		}
		if h.tag != tag.Item || h.length == undefinedLength {
			return d.fail(ErrMalformed, h.at, "%v within pixel data: want a fragment (FFFE,E000) of defined length", h.tag)
		}
		if left := end - d.pos; int64(h.length) > left {
			return d.fail(ErrTruncated, h.at, "the file ends within a fragment: %s bytes, %s are left", thousands(int64(h.length)), thousands(left))
		}
		if err := d.fragment(f, h, first); err != nil {
			return err
		}
	}
	return d.fail(ErrTruncated, d.pos, "encapsulated pixel data has no delimiter at its end")
}

func (d *decoder) fragment(f *Fragments, h header, first bool) error {
	if !first {
		f.spans = append(f.spans, span{d.pos, h.length})
		d.pos += int64(h.length)
		return d.spend(spanSize)
	}
	if err := d.spend(int(h.length)); err != nil {
		return err
	}
	f.Table = make([]byte, h.length)
	if n, err := d.in.src.ReadAt(f.Table, d.pos); n < len(f.Table) {
		if err == io.EOF {
			err = ErrTruncated
		}
		return d.fail(err, d.pos, "the source is shorter than it was said to be")
	}
	d.pos += int64(h.length)
	return nil
}

// readerAt makes bytes in memory a source.
type readerAt []byte

func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(r)) {
		return 0, io.EOF
	}
	n := copy(p, r[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// swapUnit is how many bytes change places between big and little endian. A tag is two numbers.
func swapUnit(v VR) int {
	if v == vr.AT {
		return 2
	}
	return v.Unit()
}

// swap turns the bytes of each unit round: big endian to little endian and back.
func swap(b []byte, unit int) {
	for ; unit > 1 && len(b) >= unit; b = b[unit:] {
		for i, j := 0, unit-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	}
}

// swapped reads a big-endian source in little-endian order.
type swapped struct {
	src  *io.SectionReader
	unit int
}

// ReadAt reads whole units around what is asked for, in pieces.
func (s *swapped) ReadAt(p []byte, off int64) (int, error) {
	var buf [4096]byte
	done := 0
	for done < len(p) {
		at := off + int64(done)
		skip := int(at % int64(s.unit))
		n, err := s.src.ReadAt(buf[:min(len(buf), (skip+len(p)-done+s.unit-1)/s.unit*s.unit)], at-int64(skip))
		swap(buf[:n], s.unit)
		if n <= skip {
			return done, err
		}
		done += copy(p[done:], buf[skip:n])
		if err != nil && done < len(p) {
			return done, err
		}
	}
	return done, nil
}
