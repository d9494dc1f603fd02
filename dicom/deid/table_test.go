package deid

import (
	"bytes"
	"fmt"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// concreteTag is one tag that a row of Table E.1-1 matches.
func concreteTag(a attribute) tag.Tag {
	switch a.mask {
	case 0x00010000:
		return 0x00291010
	case 0xFF010000:
		return a.tag | 0x00023000
	}
	return a.tag
}

// inDataset reports whether a row is about data sets that are files, rather than messages and meta
// information.
func inDataset(a attribute) bool {
	return a.tag.Group() == 0 && a.mask == 0x00010000 || a.tag.Group() >= 8
}

// leave is what became of the element at the end of nested.
func leave(t *testing.T, p *Plan, e *dicom.Element, depth int) (*dicom.Element, bool) {
	t.Helper()
	d := ct(nested(depth, e))
	if depth > 0 && e.Tag.IsPrivate() {
		innermost(d, depth).Set(dicom.New(e.Tag.Creator(), vr.LO, []byte("NORTHSIDE")))
	}
	f := dicom.NewFile(d, uid.ExplicitLE)
	out := dicom.NewDataset()
	pass, err := p.begin(f, &Subject{Pseudonym: "P0001", UIDKey: someone().UIDKey, DateOffset: -417, PixelsReviewed: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := pass.gather(f.Dataset, false); err != nil {
		t.Fatal(err)
	}
	if err := pass.dataset(f.Dataset, out); err != nil {
		t.Fatal(err)
	}
	after, ok := innermost(out, depth).Get(e.Tag)
	return after, ok
}

// TestEachRowOfTheTableIsCarriedOut holds each row of PS3.15 Table E.1-1 against what leaves under the
// Basic profile, at the top and within items of items.
func TestEachRowOfTheTableIsCarriedOut(t *testing.T) {
	t.Parallel()
	p := plan(t, Options{CleanStructuredContent: false})
	for _, a := range attributes {
		at := concreteTag(a)
		if !inDataset(a) || at == tag.EncapsulatedDocument || at == tag.WaveformAnnotationSequence {
			continue // refused as a whole, see hold_test.go
		}
		for _, depth := range []int{0, 1, 3} {
			before := original(at)
			after, there := leave(t, p, before, depth)
			if problem := against(a.basic, before, after, there, depth); problem != "" {
				t.Errorf("%v %s at depth %d, action %d: %s", at, at.Keyword(), depth, a.basic, problem)
			}
		}
	}
}

// against says in which way what leaves breaks an action of Table E.1-1a, compound ones read as the
// package's documentation says.
func against(a action, before, after *dicom.Element, there bool, depth int) string {
	if a == actionX {
		if there {
			return "still there"
		}
		return ""
	}
	if !there {
		return "gone"
	}
	if depth == 0 && (before.Tag == tag.PatientName || before.Tag == tag.PatientID) {
		if string(trim(after.Value)) != "P0001" {
			return "no pseudonym"
		}
		return ""
	}
	switch a {
	case actionZ, actionXZ:
		if !after.IsEmpty() {
			return "not empty"
		}
	case actionU:
		if v := string(trim(after.Value)); !uid.Valid(v) || v == string(trim(before.Value)) {
			return fmt.Sprintf("no new UID: %q", v)
		}
	case actionD, actionXD, actionXZD, actionZD:
		return againstDummy(before, after)
	}
	return ""
}

func againstDummy(before, after *dicom.Element) string {
	switch {
	case after.IsEmpty():
		return "empty instead of a dummy"
	case after.VR != before.VR:
		return "another VR"
	case after.VR == vr.SQ:
		for n := range after.Items[0].Walk() {
			if bytes.Contains(n.Element.Value, []byte("Northside")) {
				return "the old items"
			}
		}
		return ""
	case bytes.Equal(after.Value, before.Value):
		return "the old value"
	}
	return unfit(after)
}

// unfit says why a value does not fit its VR and VM, with the strict parsers of package dicom.
func unfit(e *dicom.Element) string {
	d := dicom.NewDataset(e)
	texts := d.Values(e)
	var err error
	switch e.VR {
	case vr.DA:
		_, err = d.Date(e.Tag)
	case vr.TM:
		_, err = d.Clock(e.Tag)
	case vr.DT:
		_, err = d.DateTime(e.Tag)
	case vr.AS:
		_, err = d.Age(e.Tag)
	case vr.DS, vr.FD, vr.FL, vr.US, vr.UL, vr.SS, vr.SL, vr.IS:
		_, err = d.Floats(e.Tag)
	case vr.UI:
		if !uid.Valid(texts[0]) {
			return "no UID"
		}
	}
	if err != nil {
		return err.Error()
	}
	for _, s := range texts {
		if limit := e.VR.Limit(); limit > 0 && len(s) > limit {
			return "too long for its VR"
		}
	}
	if e.VR.IsString() && len(texts) < leastVM(vmOf(e.Tag)) && !e.VR.IsMultiline() {
		return "fewer values than its VM demands"
	}
	if len(e.Value)%2 == 1 {
		return "odd length"
	}
	return ""
}

// TestOptionsKeepWhatTheirColumnsSay turns on one option after the other and holds each K of its column
// against what leaves.
func TestOptionsKeepWhatTheirColumnsSay(t *testing.T) {
	t.Parallel()
	for _, o := range options {
		plans := map[string]Options{
			"retainUids": {RetainUIDs: true}, "retainDevice": {RetainDevice: true}, "retainInstitution": {RetainInstitution: true},
			"retainPatientCharacteristics": {RetainPatientCharacteristics: true}, "retainFullDates": {RetainFullDates: true},
		}
		set, ok := plans[o.name]
		if !ok {
			continue // a cleaning one: see the tests of what it cleans
		}
		p := plan(t, set)
		for _, a := range attributes {
			at := concreteTag(a)
			if !inDataset(a) || a.options[o.column] != actionK {
				continue
			}
			before := original(at)
			after, there := leave(t, p, before, 1)
			if !there || after.VR != before.VR || !bytes.Equal(after.Value, before.Value) || len(after.Items) != len(before.Items) {
				t.Errorf("%s: %v %s was not kept", o.name, at, at.Keyword())
			}
		}
	}
}

func TestCurvesAndOverlaysGoAsWholeGroups(t *testing.T) {
	t.Parallel()
	for _, at := range []tag.Tag{0x50003000, 0x501E0022, 0x50FE2500, 0x60001500, 0x60000022, 0x60023000, 0x601E4000} {
		d := ct(dicom.New(at, vr.LO, []byte("Northside ward")))
		if out := leaves(t, Options{}, d); out.Has(at) {
			t.Errorf("%v is still there", at)
		}
	}
}

func TestWhatTheDictionaryDoesNotKnowGoes(t *testing.T) {
	t.Parallel()
	for _, at := range []tag.Tag{0x00090010, 0x00091001, 0x00080007, 0x00101234, 0x00280000, 0x7FE10010} {
		d := ct(nested(1, dicom.New(at, vr.LO, []byte("Quux"))))
		d.Set(dicom.New(at, vr.LO, []byte("Quux")))
		out := leaves(t, Options{}, d)
		if out.Has(at) || innermost(out, 1).Has(at) {
			t.Errorf("%v is still there", at)
		}
	}
}

// TestNamesAndDatesOutsideTheTableGo: the table leaves out a few elements whose VR says what they hold.
func TestNamesAndDatesOutsideTheTableGo(t *testing.T) {
	t.Parallel()
	d := ct(
		dicom.Text(tag.EvaluatorName, "Quux^Fred"), dicom.Text(tag.SecondaryReviewDate, "20210304"),
		dicom.Text(tag.PatientBirthDateInAlternativeCalendar, "Reiwa 3"), dicom.Text(tag.RetrieveURL, "http://pacs/1"),
		dicom.Text(tag.TargetFrameOfReferenceUID, "1.2.3.4.5.6.7.8.77"))
	out := leaves(t, Options{}, d)
	for _, at := range []tag.Tag{tag.EvaluatorName, tag.SecondaryReviewDate, tag.PatientBirthDateInAlternativeCalendar, tag.RetrieveURL} {
		if out.Has(at) {
			t.Errorf("%v is still there", at)
		}
	}
	if got := text(out, tag.TargetFrameOfReferenceUID); got != MapUID(someone().UIDKey, "1.2.3.4.5.6.7.8.77") {
		t.Errorf("the frame of reference does not agree with the others: %s", got)
	}
}

// TestATextWhereANumberBelongsGoes: with the wrong VR a name could hide in any element.
func TestATextWhereANumberBelongsGoes(t *testing.T) {
	t.Parallel()
	d := ct(dicom.New(tag.RescaleSlope, vr.FD, make([]byte, 8)), dicom.New(tag.PixelAspectRatio, vr.LO, []byte("Quux Fred")))
	d.Set(dicom.New(tag.LossyImageCompressionRatio, vr.UN, []byte("Quux Fred ")))
	d.Set(dicom.New(tag.SmallestImagePixelValue, vr.LO, []byte("Quux Fred ")))
	out := leaves(t, Options{}, d)
	if out.Has(tag.SmallestImagePixelValue) || out.Has(tag.RescaleSlope) {
		t.Error("a value of the wrong kind is still there")
	}
}
