package tag_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

func TestATagIsReadAndWrittenAsPeopleDo(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"(0010,0020)", "0010,0020", "00100020", "PatientID"} {
		if got, err := tag.Parse(s); err != nil || got != tag.PatientID {
			t.Errorf("%s is %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "patientid", "(0010,002)", "0010,00200", "(0010.0020)", "xxxxxxxx"} {
		if got, err := tag.Parse(s); err == nil {
			t.Errorf("%q is %v", s, got)
		}
	}
	if got := tag.New(0x7FE0, 0x00AB); got.String() != "(7FE0,00AB)" || got.Group() != 0x7FE0 || got.Element() != 0xAB {
		t.Errorf("%v", got)
	}
}

func TestPrivateTags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tag              tag.Tag
		private, creator bool
		block            tag.Tag
	}{
		{tag.PatientID, false, false, 0},
		{0x00290010, true, true, 0},
		{0x002900FF, true, true, 0},
		{0x00290001, true, false, 0},
		{0x00290100, true, false, 0},
		{0x00291008, true, false, 0x00290010},
		{0x0029FF08, true, false, 0x002900FF},
	} {
		if c.tag.IsPrivate() != c.private || c.tag.IsPrivateCreator() != c.creator || c.tag.Creator() != c.block {
			t.Errorf("%v: private %t, creator %t, block %v", c.tag, c.tag.IsPrivate(), c.tag.IsPrivateCreator(), c.tag.Creator())
		}
	}
}

func TestTheDictionaryKnowsTheStandardsElements(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tag  tag.Tag
		want tag.Entry
	}{
		{tag.PatientName, tag.Entry{Tag: 0x00100010, VRs: [3]vr.VR{vr.PN}, Keyword: "PatientName", VM: "1"}},
		{tag.PixelData, tag.Entry{Tag: 0x7FE00010, VRs: [3]vr.VR{vr.OB, vr.OW}, Keyword: "PixelData", VM: "1"}},
		{tag.Item, tag.Entry{Tag: 0xFFFEE000, Keyword: "Item", VM: "1"}},
		{0x60123000, tag.Entry{Tag: 0x60003000, VRs: [3]vr.VR{vr.OB, vr.OW}, Keyword: "OverlayData", VM: "1"}},
		{0x00203137, tag.Entry{Tag: 0x00203100, VRs: [3]vr.VR{vr.CS}, Keyword: "SourceImageIDs", VM: "1-n", Retired: true}},
		{0x00290010, tag.Entry{Tag: 0x00290010, VRs: [3]vr.VR{vr.LO}, VM: "1"}},
		{0x00100000, tag.Entry{Tag: 0x00100000, VRs: [3]vr.VR{vr.UL}, VM: "1", Retired: true}},
	} {
		got, ok := c.tag.Lookup()
		if diff := cmp.Diff(c.want, got); diff != "" || !ok {
			t.Errorf("%v (-want +got):\n%s", c.tag, diff)
		}
	}
	for _, unknown := range []tag.Tag{0x00100011 + 0xF000, 0x00291008, 0x60113000, 0x00203237} {
		if e, ok := unknown.Lookup(); ok || unknown.Keyword() != "" {
			t.Errorf("%v is %v", unknown, e)
		}
	}
	e, _ := tag.SmallestImagePixelValue.Lookup()
	if e.VR() != vr.US || !e.Allows(vr.SS) || e.Allows(vr.UL) || e.Allows(0) {
		t.Errorf("VRs of %v", e)
	}
	if e, ok := tag.ByKeyword("OverlayData"); !ok || e.Tag != tag.OverlayData {
		t.Errorf("OverlayData is %v", e)
	}
}
