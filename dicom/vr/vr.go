// Package vr names the value representations of DICOM, the types a data element's value can have,
// and says how each is laid out (PS3.5 section 6.2 and 7.1).
package vr

// VR is a value representation: its two letters, the first in the high byte, as they stand in an
// explicit-VR file. The zero VR stands for "none": delimiters have no value representation.
type VR uint16

// Of makes a VR from the two letters that stand in a file. Any two bytes are accepted; Known tells
// whether the standard knows them.
func Of(a, b byte) VR { return VR(a)<<8 | VR(b) }

// Parse reads a VR written as two letters, and reports whether the standard knows it.
func Parse(s string) (VR, bool) {
	if len(s) != 2 {
		return 0, false
	}
	v := Of(s[0], s[1])
	return v, v.Known()
}

// String is the two letters, or "--" where they are not two upper-case letters: what a damaged
// file holds is never echoed.
func (v VR) String() string {
	if !v.Letters() {
		return "--"
	}
	return string([]byte{byte(v >> 8), byte(v)})
}

// Letters reports whether both bytes are upper-case letters, as in every VR there is or will be.
func (v VR) Letters() bool {
	a, b := byte(v>>8)-'A', byte(v)-'A'
	return a < 26 && b < 26
}

// info is what the standard says of one VR.
type info struct {
	known bool  // listed in PS3.5 section 6.2
	long  bool  // explicit VR: two reserved bytes and a 32-bit length (PS3.5 table 7.1-1)
	text  bool  // Specific Character Set applies (PS3.5 section 6.1.2.2)
	pad   byte  // what fills a value up to an even length
	unit  uint8 // size in bytes of one binary value, and of what a byte-order swap turns round
	limit uint16
}

func (v VR) info() info {
	if !v.Letters() {
		return info{}
	}
	return table[int(v>>8-'A')*26+int(v&0xFF-'A')]
}

// Known reports whether PS3.5 lists the VR.
func (v VR) Known() bool { return v.info().known }

// Long reports whether an explicit-VR element of this VR has a 32-bit length. Unknown VRs do:
// PS3.5 section 6.2 gives every future VR that layout.
func (v VR) Long() bool {
	i := v.info()
	return i.long || !i.known
}

// Pad is the byte that fills a value of odd length: a space for text, NUL for UI, OB and UN.
func (v VR) Pad() byte { return v.info().pad }

// Unit is the size in bytes of one binary value: 2 for US, 8 for FD. It is 1 for OB and 0 for text,
// sequences and UN.
func (v VR) Unit() int { return int(v.info().unit) }

// UsesCharset reports whether Specific Character Set (0008,0005) says how the value is encoded.
func (v VR) UsesCharset() bool { return v.info().text }

// Limit is the most characters one value may have (bytes for the ASCII ones; per component group
// for PN), or 0 where the standard sets none below 2^32.
func (v VR) Limit() int { return int(v.info().limit) }

// IsString reports whether the value is text of any kind: the VRs under the character set and
// those that are always ASCII, such as UI, DA and DS.
func (v VR) IsString() bool {
	i := v.info()
	return i.known && i.unit == 0 && v != SQ && v != UN
}

// IsMultiline reports whether a backslash is an ordinary character in the value, which then is
// always a single one: ST, LT, UT and UR (PS3.5 section 6.4).
func (v VR) IsMultiline() bool { return v == ST || v == LT || v == UT || v == UR }
