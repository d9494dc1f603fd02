package vr_test

import (
	"testing"

	"filmroom/dicom/vr"
)

func TestEachVRHasTheLayoutOfTheStandard(t *testing.T) {
	t.Parallel()
	type layout struct {
		long, text, str, multiline bool
		pad                        byte
		unit, limit                int
	}
	for v, want := range map[vr.VR]layout{
		vr.PN: {text: true, str: true, pad: ' ', limit: 64},
		vr.UI: {str: true, limit: 64},
		vr.UT: {long: true, text: true, str: true, multiline: true, pad: ' '},
		vr.UC: {long: true, text: true, str: true, pad: ' '},
		vr.DS: {str: true, pad: ' ', limit: 16},
		vr.OB: {long: true, unit: 1},
		vr.OW: {long: true, unit: 2},
		vr.US: {unit: 2},
		vr.FD: {unit: 8},
		vr.SQ: {long: true},
		vr.UN: {long: true},
	} {
		got := layout{v.Long(), v.UsesCharset(), v.IsString(), v.IsMultiline(), v.Pad(), v.Unit(), v.Limit()}
		if got != want || !v.Known() {
			t.Errorf("%v: %+v, want %+v", v, got, want)
		}
	}
}

func TestUnknownVRsHaveLongLengthsAndAreNotEchoed(t *testing.T) {
	t.Parallel()
	if v := vr.Of('Z', 'Z'); v.Known() || !v.Long() || v.String() != "ZZ" || v.IsString() {
		t.Errorf("%v", v)
	}
	if v := vr.Of(0x1b, '['); v.Known() || v.Letters() || v.String() != "--" {
		t.Errorf("%v", v)
	}
	if v, ok := vr.Parse("PN"); !ok || v != vr.PN {
		t.Errorf("%v, %t", v, ok)
	}
	for _, s := range []string{"", "P", "PNN", "pn", "ZZ"} {
		if v, ok := vr.Parse(s); ok {
			t.Errorf("%q is %v", s, v)
		}
	}
}
