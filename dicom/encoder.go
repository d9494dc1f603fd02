package dicom

import (
	"encoding/binary"
	"errors"
	"io"
	"os"

	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// encoder is the element layer of writing. Lengths stand before what they measure, so each data set is
// gone through twice: first to measure, then to write.
type encoder struct {
	w      io.Writer
	buf    []byte // what is not written yet
	layout layout
	// lengths are those of group lengths, sequences and items of defined length, in the order in which
	// writing comes upon them.
	lengths []int64
	used    int // how many of lengths are written
	meta    bool
	err     error
}

// file writes a data set of the outermost level.
func (e *encoder) file(ds *Dataset, l layout, meta bool) {
	e.layout, e.meta, e.lengths, e.used = l, meta, e.lengths[:0], 0
	e.measure(ds)
	e.dataset(ds)
}

// mayStand reports whether an element may stand in a data set (PS3.5 section 7.1).
func mayStand(el *Element) bool {
	g := el.Tag.Group()
	return g != 0 && g != 2 && g != 0xFFFE
}

func (e *encoder) leftOut(el *Element) bool { return !e.meta && !mayStand(el) }

// vr is the VR to write. A value too long for a 16-bit length becomes UN (PS3.5 section 6.2.2).
func (e *encoder) vr(el *Element) VR {
	if !el.VR.Known() || !el.VR.Long() && even(el.Len()) > 0xFFFE {
		return vr.UN
	}
	return el.VR
}

func even(n int64) int64 { return n + n&1 }

// isShort reports whether an element has the short header of eight bytes.
func (e *encoder) isShort(el *Element) bool { return !e.layout.explicit || !e.vr(el).Long() }

// reserve keeps a place in the list of lengths.
func (e *encoder) reserve() int {
	e.lengths = append(e.lengths, 0)
	return len(e.lengths) - 1
}

// measure is the encoded length of a data set.
func (e *encoder) measure(ds *Dataset) int64 {
	total, slot, group := int64(0), -1, uint16(0)
	for _, el := range ds.elements {
		if e.leftOut(el) {
			continue
		}
		if el.Tag.IsGroupLength() {
			slot, group = e.reserve(), el.Tag.Group()
			total += 12
			continue
		}
		n := e.measureElement(el)
		if slot >= 0 && el.Tag.Group() == group {
			e.lengths[slot] += n
		}
		total += n
	}
	return total
}

func (e *encoder) measureElement(el *Element) int64 {
	n := int64(12)
	if e.isShort(el) {
		n = 8
	}
	switch {
	case el.Fragments != nil:
		n += 8 + even(int64(len(el.Fragments.Table))) + 8 // offset table, delimiter
		for _, s := range el.Fragments.spans {
			n += 8 + even(int64(s.length))
		}
		return n
	case !el.IsSequence():
		return n + even(el.Len())
	}
	slot := -1
	if !el.Undefined {
		slot = e.reserve()
	}
	items := int64(0)
	for _, item := range el.Items {
		items += e.measureItem(item)
	}
	if slot >= 0 {
		e.lengths[slot] = items
		return n + items
	}
	return n + items + 8
}

func (e *encoder) measureItem(item *Dataset) int64 {
	if item.Undefined {
		return 8 + e.measure(item) + 8
	}
	slot := e.reserve()
	n := e.measure(item)
	e.lengths[slot] = n
	return 8 + n
}

// next is the next reserved length.
func (e *encoder) next(t Tag) uint32 {
	n := e.lengths[e.used]
	e.used++
	if n >= undefinedLength && e.err == nil {
		e.err = overflow(t, n)
	}
	return uint32(n)
}

func (e *encoder) dataset(ds *Dataset) {
	for _, el := range ds.elements {
		if e.err != nil {
			return
		}
		switch {
		case e.leftOut(el):
		case el.Tag.IsGroupLength():
			e.header(el.Tag, vr.UL, 4)
			e.uint32(e.next(el.Tag))
		default:
			e.element(el)
		}
	}
}

func (e *encoder) element(el *Element) {
	switch {
	case el.Fragments != nil:
		e.header(el.Tag, el.VR, undefinedLength)
		e.fragments(el.Fragments)
	case el.IsSequence():
		e.sequence(el)
	case el.Section != nil:
		e.header(el.Tag, e.vr(el), uint32(even(el.Len())))
		src := el.Section
		if unit := swapUnit(el.VR); e.layout.big && unit > 1 {
			src = io.NewSectionReader(&swapped{src, unit}, 0, src.Size())
		}
		e.copy(src)
		e.pad(el.Len(), el.VR.Pad())
	default:
		e.header(el.Tag, e.vr(el), uint32(even(el.Len())))
		at := len(e.buf)
		e.bytes(el.Value)
		if e.layout.big {
			swap(e.buf[at:], swapUnit(el.VR))
		}
		e.pad(el.Len(), el.VR.Pad())
	}
}

func (e *encoder) sequence(el *Element) {
	length := uint32(undefinedLength)
	if !el.Undefined {
		length = e.next(el.Tag)
	}
	e.header(el.Tag, vr.SQ, length)
	for _, item := range el.Items {
		if item.Undefined {
			e.header(tag.Item, 0, undefinedLength)
			e.dataset(item)
			e.header(tag.ItemDelimitationItem, 0, 0)
			continue
		}
		e.header(tag.Item, 0, e.next(el.Tag))
		e.dataset(item)
	}
	if el.Undefined {
		e.header(tag.SequenceDelimitationItem, 0, 0)
	}
}

func (e *encoder) fragments(f *Fragments) {
	e.header(tag.Item, 0, uint32(even(int64(len(f.Table)))))
	e.bytes(f.Table)
	e.pad(int64(len(f.Table)), 0)
	for i, s := range f.spans {
		e.header(tag.Item, 0, uint32(even(int64(s.length))))
		e.copy(f.At(i))
		e.pad(int64(s.length), 0)
	}
	e.header(tag.SequenceDelimitationItem, 0, 0)
}

// header writes tag, VR and length; a VR of 0 is for items and delimiters, which have none.
func (e *encoder) header(t Tag, v VR, length uint32) {
	if len(e.buf) > nextRead/2 {
		e.flush()
	}
	e.uint16(t.Group())
	e.uint16(t.Element())
	switch {
	case v == 0 || !e.layout.explicit:
		e.uint32(length)
	case v.Long():
		e.buf = append(e.buf, byte(v>>8), byte(v), 0, 0)
		e.uint32(length)
	default:
		e.buf = append(e.buf, byte(v>>8), byte(v))
		e.uint16(uint16(length))
	}
}

func (e *encoder) uint16(n uint16) {
	if e.layout.big {
		e.buf = binary.BigEndian.AppendUint16(e.buf, n)
		return
	}
	e.buf = binary.LittleEndian.AppendUint16(e.buf, n)
}

func (e *encoder) uint32(n uint32) {
	if e.layout.big {
		e.buf = binary.BigEndian.AppendUint32(e.buf, n)
		return
	}
	e.buf = binary.LittleEndian.AppendUint32(e.buf, n)
}

// bytes takes a held value, of any length that a caller may have set.
func (e *encoder) bytes(b []byte) { e.buf = append(e.buf, b...) }

func (e *encoder) pad(n int64, with byte) {
	if n%2 == 1 {
		e.buf = append(e.buf, with)
	}
}

// copy writes a large value from its source, through the buffer where it must.
func (e *encoder) copy(src *io.SectionReader) {
	at := int64(0)
	if to, ok := e.w.(*os.File); ok && src.Size() > nextRead && e.flush() == nil {
		at = copyWithin(to, src)
	}
	for at < src.Size() && e.err == nil {
		if len(e.buf) >= nextRead {
			e.flush()
		}
		want := int(min(src.Size()-at, int64(nextRead-len(e.buf))))
		from := len(e.buf)
		n, err := src.ReadAt(e.buf[from:from+want], at)
		e.buf = e.buf[:from+n]
		at += int64(n)
		if n < want && e.err == nil {
			if err == nil || errors.Is(err, io.EOF) {
				err = &Error{Err: ErrTruncated, Offset: -1, Reason: shorter}
			}
			e.err = err
		}
	}
}

// flush writes what is in the buffer, and returns the first error there was.
func (e *encoder) flush() error {
	if e.err == nil && len(e.buf) > 0 {
		_, e.err = e.w.Write(e.buf)
	}
	e.buf = e.buf[:0]
	return e.err
}
