package deid

import (
	"errors"
	"io"
	"unicode/utf8"

	"filmroom/dicom"
	"filmroom/dicom/vr"
)

// keepBinary keeps numbers and bytes, unless they are more than numbers: of no known kind, more values
// than there may be, or letters that spell who somebody is.
func (p *pass) keepBinary(src, out *dicom.Dataset, e *dicom.Element) error {
	named := e.VR == vr.UN || overfull(src, e)
	if !named && e.Len() >= leastSpelt {
		var err error
		if named, err = p.spells(src, e); err != nil {
			return err
		}
	}
	if named {
		p.note(src, e, Removed, out, nil)
		return nil
	}
	out.Set(e)
	return nil
}

// overfull reports whether an element for numbers has more of them than its multiplicity allows: room for
// a text that nobody looks for.
func overfull(d *dicom.Dataset, e *dicom.Element) bool {
	unit := int64(e.VR.Unit())
	if unit < 2 || e.Len() <= unit || isOther(e.VR) {
		return false
	}
	most := 0
	if e.Tag.IsPrivate() {
		most = rowOf(d, e.Tag).most
	} else {
		most = mostVM(vmOf(e.Tag))
	}
	return most > 0 && e.Len() > int64(most)*unit
}

// isOther reports whether a VR is one of those for bytes and words in any number: OB, OD, OF, OL, OV, OW.
func isOther(v vr.VR) bool { return v>>8 == 'O' }

const (
	// leastSpelt is from how many bytes on a binary value is searched for identity.
	leastSpelt = 4
	// window is how much of a long value is searched at once, and overlap how much of it again with the
	// next: no needle is as long.
	window  = 32 << 10
	overlap = 8 * longest
)

// spells reports whether the bytes of a value, read as UTF-8 or in the data set's character set, hold a
// name or a number of the patient's.
func (p *pass) spells(d *dicom.Dataset, e *dicom.Element) (bool, error) {
	if e.Section == nil {
		return p.spelt(d, e.VR, e.Value), nil
	}
	b := make([]byte, window)
	for at := int64(0); at < e.Len(); at += window - overlap {
		n, err := e.Section.ReadAt(b, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if p.spelt(d, e.VR, b[:n]) {
			return true, nil
		}
	}
	return false, nil
}

func (p *pass) spelt(d *dicom.Dataset, v vr.VR, b []byte) bool {
	if p.search.numbersIn(v, b) || p.search.spelt(identity, b) {
		return true
	}
	for _, c := range b {
		if c >= utf8.RuneSelf && isOther(v) {
			return p.search.spelt(identity, []byte(d.Charset().Decode(vr.UT, b)))
		}
	}
	return false
}

// spelt reports whether a needle of the kinds is spelt in bytes that need not be text. Folding passes over
// what is no letter, and in numbers that is most bytes: so the letters must stand together, or a byte
// apart as in UTF-16.
func (s *search) spelt(kinds needle, b []byte) bool {
	s.text.fold(b)
	s.sum()
	f := &s.text
	for i := range f.text {
		for n, _ := s.longestAt(kinds, i, ^uint64(0)); n >= leastSpelt; n, _ = s.longestAt(kinds, i, 1<<(n-1)-1) {
			span := int(f.places[i+n-1].to - f.places[i].from)
			if span == n || span == 2*n-1 || n >= glued && span <= n+n/2 {
				return true
			}
		}
	}
	return false
}
