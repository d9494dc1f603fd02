package dicom

import (
	"errors"

	"filmroom/dicom/vr"
)

// header is what stands before a value.
type header struct {
	tag    Tag
	vr     VR
	length uint32
	at     int64 // where the element begins
}

// peek is n bytes at the current position, which must end before end: that of the sequence or item
// around, or that of the file.
func (d *decoder) peek(n int, end int64) ([]byte, error) {
	if d.pos+int64(n) > end && end < d.in.size {
		return nil, d.fail(ErrMalformed, d.pos, "element runs past its sequence: want %d bytes, %d are left", n, end-d.pos)
	}
	b, err := d.in.bytes(d.pos, n)
	if errors.Is(err, ErrTruncated) {
		return nil, d.fail(ErrTruncated, d.pos, "the file ends within an element: want %d bytes, %d are left", n, len(b))
	}
	return b, err
}

// form is where the length stands in a header.
type form uint8

const (
	shortForm    form = iota // behind the VR, 16 bits
	longForm                 // behind the VR and two zero bytes, 32 bits
	implicitForm             // in place of the VR, 32 bits
)

// header reads tag, VR and length (PS3.5 section 7.1), and moves to the value.
func (d *decoder) header(end int64) (header, error) {
	b, err := d.peek(8, end)
	if err != nil {
		return header{}, err
	}
	h := header{tag: d.layout.tag(b), at: d.pos}
	d.path[len(d.path)-1].Tag = h.tag
	form, err := d.form(&h, b, end)
	if err != nil {
		return h, err
	}
	switch form {
	case shortForm:
		h.length = uint32(d.layout.uint16(b[6:]))
	case implicitForm:
		h.length = d.layout.uint32(b[4:])
	case longForm:
		if b, err = d.peek(12, end); err != nil {
			return h, err
		}
		h.length = d.layout.uint32(b[8:])
		d.pos += 4
	}
	d.pos += 8
	return h, nil
}

// form finds the VR, if there is one, and where the length is.
func (d *decoder) form(h *header, b []byte, end int64) (form, error) {
	if !d.layout.explicit || h.tag.Group() == 0xFFFE {
		return implicitForm, nil
	}
	h.vr = vr.Of(b[4], b[5])
	switch {
	case !h.vr.Known():
		return d.unknownVR(h, b, end)
	case h.vr.Long():
		return longForm, nil
	}
	return shortForm, nil
}

// unknownVR decides what two bytes mean that are no known VR. Capital letters are a VR of a later
// edition, with a 32-bit length behind two zero bytes (PS3.5 section 6.2); where those bytes are not
// zero they must be a 16-bit length. Other printable characters are a VR that was never filled in, or
// filled in wrongly. The rest is an element without a VR among others that have one, whose length
// stands there. Whichever length there is room for decides where that is not enough.
func (d *decoder) unknownVR(h *header, b []byte, end int64) (form, error) {
	if h.vr.Letters() {
		err := d.warn(h.at, "unknown value representation: want one of PS3.5 section 6.2; the dictionary's is taken, or UN")
		if b[6] == 0 && b[7] == 0 {
			return longForm, err
		}
		return shortForm, err
	}
	left := end - d.pos - 8
	long, short := int64(d.layout.uint32(b[4:])), int64(d.layout.uint16(b[6:]))
	if short <= left && (isPrintable(b[4]) && isPrintable(b[5]) || long > left && long != undefinedLength) {
		return shortForm, d.warn(h.at, "no value representation before the length: want one of PS3.5 section 6.2; the dictionary's is taken, or UN")
	}
	h.vr = 0
	return implicitForm, d.warn(h.at, "no value representation in an explicit-VR file; read as implicit VR")
}

func isPrintable(c byte) bool { return c >= ' ' && c < 0x7f }
