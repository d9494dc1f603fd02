package deid

import (
	"slices"
	"strconv"
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

// dummyValue is a value that fits the VR and the least multiplicity of the VM. It must not be changed.
// UIDs are not made here.
func dummyValue(v vr.VR, vm string) []byte {
	n := leastVM(vm)
	if unit := v.Unit(); unit > 1 {
		return zeros[:min(n*unit, len(zeros)/unit*unit)]
	}
	if v == vr.OB || v == vr.UN {
		return zeros[:2]
	}
	if n == 1 {
		return singles[max(slices.Index(special, v), 0)]
	}
	return repeat(dummyOne(v), n, v)
}

// special are the text VRs that have a dummy of their own, singles one value of each, padded; the first
// is for all others.
var (
	special = []vr.VR{vr.LO, vr.DA, vr.TM, vr.DT, vr.DS, vr.IS, vr.AS, vr.UR}
	singles = func() (values [][]byte) {
		for _, v := range special {
			values = append(values, repeat(dummyOne(v), 1, v))
		}
		return values
	}()
)

// dummyOne is one value of a text VR.
func dummyOne(v vr.VR) string {
	switch v {
	case vr.DA:
		return dummyDate
	case vr.TM:
		return dummyTime
	case vr.DT:
		return dummyDateTime
	case vr.DS, vr.IS:
		return "0"
	case vr.AS:
		return "000Y"
	case vr.UR:
		return "about:blank"
	}
	return dummyText
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

// mostVM is the most values that a VM allows, 0 where it sets no bound or says nothing.
func mostVM(vm string) int {
	_, last, ranged := strings.Cut(vm, "-")
	if !ranged {
		last = vm
	}
	n, err := strconv.Atoi(last)
	if err != nil {
		return 0 // "n", "2n"
	}
	return n
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
