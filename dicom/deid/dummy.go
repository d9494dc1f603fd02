package deid

import (
	"strings"

	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// Dummies. They fit the limits of every VR they stand in (PS3.5 table 6.2-1). The date is none that people
// or programs put where they know none, so that nobody takes it for a removed one.
const (
	dummyText     = "DEIDENTIFIED"
	dummyDate     = "18991231"
	dummyTime     = "000000"
	dummyDateTime = dummyDate + dummyTime
)

var zeros [64]byte

// dummyValue is a value that fits the VR and the least multiplicity of the VM. UIDs are not made here.
func dummyValue(v vr.VR, vm string) []byte {
	n := leastVM(vm)
	if unit := v.Unit(); unit > 1 {
		return zeros[:min(n*unit, len(zeros)/unit*unit)]
	}
	switch v {
	case vr.OB, vr.UN:
		return zeros[:2]
	case vr.DA:
		return repeat(dummyDate, n, v)
	case vr.TM:
		return repeat(dummyTime, n, v)
	case vr.DT:
		return repeat(dummyDateTime, n, v)
	case vr.DS, vr.IS:
		return repeat("0", n, v)
	case vr.AS:
		return repeat("000Y", n, v)
	case vr.UR:
		return repeat("about:blank", n, v)
	}
	return repeat(dummyText, n, v)
}

func repeat(s string, n int, v vr.VR) []byte {
	if v.IsMultiline() {
		n = 1
	}
	return padded([]byte(strings.TrimSuffix(strings.Repeat(s+`\`, n), `\`)), v)
}

// padded brings a value to even length (PS3.5 section 6.2).
func padded(b []byte, v vr.VR) []byte {
	if len(b)%2 == 1 {
		b = append(b, v.Pad())
	}
	return b
}

// leastVM is the least number of values that a VM such as "1", "2-n" or "0-1" allows, at least one.
func leastVM(vm string) int {
	n := 0
	for _, c := range []byte(vm) {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return max(n, 1)
}

// vmOf is the dictionary's multiplicity of a tag.
func vmOf(t tag.Tag) string {
	e, _ := t.Lookup()
	return e.VM
}

// dictionaryVR is the dictionary's first value representation of a tag.
func dictionaryVR(t tag.Tag) vr.VR {
	e, _ := t.Lookup()
	return e.VR()
}
