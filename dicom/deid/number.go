package deid

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"

	"filmroom/dicom/vr"
)

// leastNumber is from how many digits on a number that stands alone is held against those of the patient:
// shorter ones are found everywhere. Binary values, of which there may be thousands, need leastBinary.
const (
	leastNumber = 6
	leastBinary = 8
)

// numbers reports whether one of the values of an IS or DS, or a component of a UID, is a number of the
// patient's or a date that was removed. Only whole numbers count: a spacing of 0.703125 is no ID 703125.
func (s *search) numbers(v vr.VR, text []byte) bool {
	parted := byte('\\')
	switch v {
	case vr.UI:
		parted = '.'
	case vr.IS, vr.DS:
	default:
		return false
	}
	for len(text) >= leastNumber {
		end := bytes.IndexByte(text, parted)
		if end < 0 {
			end = len(text)
		}
		if digits := wholeNumber(text[:end]); len(digits) >= leastNumber && s.isNumber(digits) {
			return true
		}
		text = text[min(end+1, len(text)):]
	}
	return false
}

func (s *search) isNumber(digits []byte) bool { return s.needles[hashOf(digits)]&(identity|day) != 0 }

// wholeNumber are the digits of a value, without a sign, zeros in front and a fraction of zeros; none for
// what is no whole number.
func wholeNumber(b []byte) []byte {
	b = bytes.TrimLeft(trim(b), "+0")
	if whole, fraction, ok := bytes.Cut(b, []byte{'.'}); ok && len(bytes.TrimLeft(fraction, "0")) == 0 {
		b = whole
	}
	if !consistsOf(b, "") {
		return nil
	}
	return b
}

// numbersIn is numbers for binary integers and long floats.
func (s *search) numbersIn(v vr.VR, b []byte) bool {
	var digits [20]byte
	for unit := v.Unit(); len(b) >= unit && unit >= 4; b = b[unit:] {
		n := uint64(0)
		switch v {
		case vr.UL, vr.SL:
			n = uint64(binary.LittleEndian.Uint32(b))
		case vr.UV, vr.SV:
			n = binary.LittleEndian.Uint64(b)
		case vr.FD:
			if f := math.Float64frombits(binary.LittleEndian.Uint64(b)); f >= 1 && f < 1<<53 && f == math.Trunc(f) {
				n = uint64(f)
			}
		default:
			return false
		}
		if b := strconv.AppendUint(digits[:0], n, 10); len(b) >= leastBinary && s.isNumber(b) {
			return true
		}
	}
	return false
}
