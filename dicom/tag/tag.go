// Package tag names the data elements of DICOM: a constant for each keyword of PS3.6, and the
// dictionary that says what the standard knows of a tag.
package tag

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"filmroom/dicom/vr"
)

// Tag is a data element tag: group in the high 16 bits, element in the low ones.
type Tag uint32

// New puts a tag together.
func New(group, element uint16) Tag { return Tag(group)<<16 | Tag(element) }

// Group is the first half, 0x0010 of (0010,0020).
func (t Tag) Group() uint16 { return uint16(t >> 16) }

// Element is the second half, 0x0020 of (0010,0020).
func (t Tag) Element() uint16 { return uint16(t) }

// String is the usual notation, "(0010,0020)", with upper-case digits.
func (t Tag) String() string {
	var b [11]byte
	return string(t.Append(b[:0]))
}

// Append adds the String of t to b.
func (t Tag) Append(b []byte) []byte {
	const digits = "0123456789ABCDEF"
	b = append(b, '(')
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, digits[t>>shift&0xF])
		if shift == 16 {
			b = append(b, ',')
		}
	}
	return append(b, ')')
}

// Parse reads a tag as people write it: "(0010,0010)", "0010,0010", "00100010" or its keyword,
// "PatientName".
func Parse(s string) (Tag, error) {
	if e, ok := ByKeyword(s); ok {
		return e.Tag, nil
	}
	digits := strings.TrimSuffix(strings.TrimPrefix(s, "("), ")")
	if len(digits) == 9 && digits[4] == ',' {
		digits = digits[:4] + digits[5:]
	}
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != 4 {
		return 0, fmt.Errorf("%q is no tag: want a keyword such as PatientName, or eight hexadecimal digits such as (0010,0010)", s)
	}
	return Tag(b[0])<<24 | Tag(b[1])<<16 | Tag(b[2])<<8 | Tag(b[3]), nil
}

// IsPrivate reports whether the tag belongs to a manufacturer: an odd group (PS3.5 section 7.8).
// Groups 1, 3, 5, 7 and FFFF are not private but forbidden; they count as private here, so that
// nothing in them is ever taken for standard.
func (t Tag) IsPrivate() bool { return t.Group()&1 == 1 }

// IsPrivateCreator reports whether the element reserves a block of private elements: (gggg,0010)
// to (gggg,00FF) of an odd group.
func (t Tag) IsPrivateCreator() bool {
	return t.IsPrivate() && t.Element() >= 0x10 && t.Element() <= 0xFF
}

// Creator is the tag of the private creator that reserves t's block: (0029,0010) for (0029,1008).
// It is 0 for a tag that lies in no block.
func (t Tag) Creator() Tag {
	if !t.IsPrivate() || t.Element() < 0x1000 {
		return 0
	}
	return New(t.Group(), t.Element()>>8)
}

// IsGroupLength reports whether the element is a group length (gggg,0000), retired everywhere
// but in groups 0000 and 0002.
func (t Tag) IsGroupLength() bool { return t.Element() == 0 }

// Keyword is the standard's name for the tag, "PatientName", or "" where it has none.
func (t Tag) Keyword() string {
	e, _ := t.Lookup()
	return e.Keyword
}

// Entry is what the dictionary (PS3.6, edition Edition) knows of a tag.
type Entry struct {
	Tag     Tag      // wildcard digits of repeating groups are 0
	VRs     [3]vr.VR // the allowed ones in the standard's order; unused places are 0
	Keyword string   // empty for a few retired elements
	VM      string   // value multiplicity: "1", "1-n", "2-2n"; empty for delimiters
	Retired bool
}

// VR is the first allowed value representation, 0 where there is none.
func (e Entry) VR() vr.VR { return e.VRs[0] }

// Allows reports whether v is one of the entry's VRs.
func (e Entry) Allows(v vr.VR) bool { return v != 0 && slices.Contains(e.VRs[:], v) }

// Lookup finds what the standard says of the tag; repeating groups such as (60xx,3000) match any
// even group in their range. Group lengths are UL everywhere, private creators LO; other private
// tags are never found.
func (t Tag) Lookup() (Entry, bool) {
	if t.IsPrivate() {
		if t.IsPrivateCreator() {
			return Entry{Tag: t, VRs: [3]vr.VR{vr.LO}, VM: "1"}, true
		}
		return Entry{}, false
	}
	if i, ok := slices.BinarySearch(tags[:], t); ok {
		return entries[i], true
	}
	if t.IsGroupLength() {
		return Entry{Tag: t, VRs: [3]vr.VR{vr.UL}, VM: "1", Retired: true}, true
	}
	for i := range repeating {
		if t&repeating[i].mask == repeating[i].entry.Tag {
			return repeating[i].entry, true
		}
	}
	return Entry{}, false
}

// repeat is a dictionary row whose tag has wildcard digits: those that mask leaves out.
type repeat struct {
	mask  Tag
	entry Entry
}

var keywords = sync.OnceValue(func() map[string]Entry {
	m := make(map[string]Entry, len(entries)+len(repeating))
	for _, e := range entries {
		m[e.Keyword] = e
	}
	for _, r := range repeating {
		m[r.entry.Keyword] = r.entry
	}
	delete(m, "")
	return m
})

// ByKeyword finds a dictionary entry by the standard's keyword, in its exact spelling.
func ByKeyword(keyword string) (Entry, bool) {
	e, ok := keywords()[keyword]
	return e, ok
}
