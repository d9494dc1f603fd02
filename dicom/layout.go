package dicom

import (
	"encoding/binary"

	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// layout is how elements are laid out.
type layout struct {
	explicit bool // the VR stands in the file (PS3.5 section 7.1.2)
	big      bool // numbers are big endian
}

// tag is the tag at the start of b, which has four bytes or more.
func (l layout) tag(b []byte) Tag { return tag.New(l.uint16(b), l.uint16(b[2:])) }

func (l layout) uint16(b []byte) uint16 {
	if l.big {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func (l layout) uint32(b []byte) uint32 {
	if l.big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

// fits reports whether the first bytes of a data set of left bytes can be an element in this layout:
// the VR is known and there is room for the value. What fits explicit VR is not taken for implicit VR:
// as its length the letters would stand for a first value of 16 KiB and more.
func (l layout) fits(b []byte, left int64) bool {
	if len(b) < 8 {
		return false
	}
	if !l.explicit {
		length := binary.LittleEndian.Uint32(b[4:])
		return (int64(length) <= left-8 || length == undefinedLength) && !explicitLE.fits(b, left)
	}
	v := vr.Of(b[4], b[5])
	switch {
	case !v.Known():
		return false
	case !v.Long():
		return int64(l.uint16(b[6:])) <= left-8
	case len(b) < 12:
		return false
	}
	length := l.uint32(b[8:])
	return int64(length) <= left-12 || length == undefinedLength && v == vr.SQ
}

// canBegin reports whether a data set is likely to begin with the tag: one that the dictionary knows, in
// the groups that come first. In the wrong byte order 0008 is 0800, which is none.
func canBegin(t Tag) bool {
	_, known := t.Lookup()
	return known && t != 0 && t.Group() <= 0x0020 && !t.IsPrivate()
}

var (
	explicitLE = layout{explicit: true}
	implicitLE = layout{}
)

// layouts are all there are, in the order in which they are tried.
var layouts = [...]layout{explicitLE, {explicit: true, big: true}, implicitLE}

// guessLayout tells from its first element how a data set of left bytes is laid out. sure says that
// the element is one that data sets begin with, ok that at least there can be an element.
func guessLayout(b []byte, left int64) (l layout, sure, ok bool) {
	for _, l := range layouts {
		if l.fits(b, left) && canBegin(l.tag(b)) {
			return l, true, true
		}
	}
	for _, l := range layouts {
		if l.fits(b, left) {
			return l, false, true
		}
	}
	return l, false, false
}

// layoutAt is the layout of a data set that is said to be in the stated one: that, unless its first
// element cannot be in it and can be in another. ok is false where nothing is stated, nor anything found.
func layoutAt(b []byte, left int64, stated layout, known bool) (l layout, ok bool) {
	guess, _, ok := guessLayout(b, left)
	switch {
	case !known:
		return guess, ok
	case !ok || stated.fits(b, left):
		return stated, true
	case stated.explicit && !guess.explicit && vr.Of(b[4], b[5]).Letters():
		return stated, true // a VR of a later edition
	}
	return guess, true
}
