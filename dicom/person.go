package dicom

import "strings"

// NameGroup is one spelling of a person's name (PS3.5 section 6.2.1).
type NameGroup struct {
	Family, Given, Middle, Prefix, Suffix string
}

// PersonName is a value of VR PN: the same name in up to three scripts.
type PersonName struct {
	Alphabetic, Ideographic, Phonetic NameGroup
}

// ParsePersonName reads a decoded value: component groups are parted by "=", components by "^".
// Anything is accepted; what lies beyond the third group or the fifth component is left out.
func ParsePersonName(s string) PersonName {
	var groups [3]NameGroup
	for i := range groups {
		var group string
		group, s, _ = strings.Cut(s, "=")
		groups[i] = parseGroup(group)
	}
	return PersonName{groups[0], groups[1], groups[2]}
}

func parseGroup(s string) NameGroup {
	var parts [5]string
	for i := range parts {
		parts[i], s, _ = strings.Cut(s, "^")
		parts[i] = strings.Trim(parts[i], " ")
	}
	return NameGroup{parts[0], parts[1], parts[2], parts[3], parts[4]}
}

// String is the group as DICOM writes it, without trailing carets: "Yamada^Tarou".
func (g NameGroup) String() string {
	return strings.TrimRight(strings.Join([]string{g.Family, g.Given, g.Middle, g.Prefix, g.Suffix}, "^"), "^")
}

// Display is the group as people write it: prefix, given, middle, family, suffix.
func (g NameGroup) Display() string {
	return strings.Join(strings.Fields(strings.Join([]string{g.Prefix, g.Given, g.Middle, g.Family, g.Suffix}, " ")), " ")
}

// String is the name as DICOM writes it, without trailing delimiters: "Yamada^Tarou=山田^太郎".
func (n PersonName) String() string {
	return strings.TrimRight(n.Alphabetic.String()+"="+n.Ideographic.String()+"="+n.Phonetic.String(), "=")
}

// PersonName is the first value of a PN element. ok is false where there is none.
func (d *Dataset) PersonName(t Tag) (name PersonName, ok bool) {
	s, ok := d.String(t)
	if !ok {
		return PersonName{}, false
	}
	return ParsePersonName(s), true
}
