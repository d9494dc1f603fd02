package deid

import (
	"strings"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// dataset fills out with what of src may leave.
func (p *pass) dataset(src, out *dicom.Dataset) error {
	depth := len(p.path)
	p.path = append(p.path, dicom.Step{})
	defer func() { p.path = p.path[:depth] }()
	for t, e := range src.All() {
		p.path[depth] = dicom.Step{Tag: t}
		rewrite := p.element
		if depth == 0 && isSpecial(t) {
			rewrite = p.special
		}
		if err := rewrite(src, out, e); err != nil {
			return err
		}
	}
	if p.plan.options.RetainSafePrivate {
		p.noteCreators(src, out)
	}
	return nil
}

// isSpecial reports whether an element of the outermost data set is decided by more than the table.
func isSpecial(t tag.Tag) bool {
	switch t {
	case tag.PatientName, tag.PatientID, tag.PatientIdentityRemoved, tag.DeidentificationMethod,
		tag.DeidentificationMethodCodeSequence, tag.LongitudinalTemporalInformationModified:
		return true
	}
	return isPixelData(t)
}

// special deals with the pseudonym's elements and the pixels; mark writes its own.
func (p *pass) special(src, out *dicom.Dataset, e *dicom.Element) error {
	switch {
	case e.Tag == tag.PatientName || e.Tag == tag.PatientID:
		p.set(src, e, Pseudonymised, out, vrOf(e), padded(append(p.bytes(), p.subject.Pseudonym...), vr.LO))
	case isPixelData(e.Tag):
		return p.pixels(src, out, e)
	}
	return nil
}

// element deals with one element; a private one that stays takes its block's creator with it.
func (p *pass) element(src, out *dicom.Dataset, e *dicom.Element) error {
	if !e.Tag.IsPrivate() || !p.plan.options.RetainSafePrivate {
		return p.carryOut(src, out, e)
	}
	if e.Tag.IsPrivateCreator() {
		return nil
	}
	if err := p.carryOut(src, out, e); err != nil {
		return err
	}
	return p.keepCreator(src, out, e.Tag)
}

// carryOut is the plan's treatment of one element.
func (p *pass) carryOut(src, out *dicom.Dataset, e *dicom.Element) error {
	what := p.plan.treat(src, e, &p.declared)
	if len(e.Items) > 0 && e.VR != vr.SQ {
		what = remove // a sequence in disguise
	}
	if e.Tag == tag.EncapsulatedDocument && p.subject.PixelsReviewed {
		what = keep // somebody read it; the table's dummy would be no document
	}
	if e.IsEmpty() && what != remove {
		out.Set(e) // there is nothing to take from it
		return nil
	}
	if what >= keep {
		e = wellFormed(src, e)
		if v := vrOf(e); p.plan.options.EmptyTimes && (v == vr.TM || v == vr.DT) {
			what = shift
		}
	}
	switch what {
	case empty:
		p.set(src, e, Emptied, out, vrOf(e), nil)
	case dummy:
		p.dummy(src, out, e)
	case mapUID:
		p.uids(src, out, e)
	case shift:
		p.shift(src, out, e)
	case content:
		return p.content(src, out, e)
	case graphic:
		return p.graphic(src, out, e)
	case keep, clean:
		if e.Tag == tag.SpecificCharacterSet && !isCharset(e) {
			p.note(src, e, Removed, out, nil) // nobody could read by it
			return nil
		}
		return p.keep(src, out, e, what)
	default:
		p.note(src, e, Removed, out, nil)
	}
	return nil
}

// isCharset reports whether a Specific Character Set names sets of the standard.
func isCharset(e *dicom.Element) bool {
	_, err := dicom.ParseCharset(strings.Split(string(trim(e.Value)), `\`)...)
	return err == nil
}

// set puts an element with a new value in e's place and notes the change, if it is one.
func (p *pass) set(src *dicom.Dataset, e *dicom.Element, a Action, out *dicom.Dataset, v vr.VR, value []byte) {
	if e.VR == v && string(e.Value) == string(value) && e.Section == nil && len(e.Items) == 0 {
		out.Set(e)
		return
	}
	after := p.newElement(e.Tag, v, value)
	out.Set(after)
	p.note(src, e, a, out, after)
}

// vrOf is the VR that a new value of e should have: the one it has, unless the dictionary knows better.
func vrOf(e *dicom.Element) vr.VR {
	entry, ok := e.Tag.Lookup()
	if !ok || entry.Allows(e.VR) {
		return e.VR
	}
	return entry.VR()
}

// dummy puts a value that fits the VR and says nothing.
func (p *pass) dummy(src, out *dicom.Dataset, e *dicom.Element) {
	v := vrOf(e)
	switch {
	case v == vr.UI:
		p.uids(src, out, e)
	case v != vr.SQ:
		p.set(src, e, Replaced, out, v, dummyValue(v, vmOf(e.Tag)))
	default:
		after := dicom.Sequence(e.Tag, dummyItem(e.Tag))
		after.Undefined = e.Undefined
		out.Set(after)
		p.note(src, e, Replaced, out, after)
	}
}

// uids maps each value of a UI element.
func (p *pass) uids(src, out *dicom.Dataset, e *dicom.Element) {
	if e.VR == vr.SQ || e.Section != nil {
		p.note(src, e, Removed, out, nil)
		return
	}
	mapped := p.bytes()
	changed := false
	eachValue(e.Value, func(v []byte) {
		if len(mapped) > 0 || changed {
			mapped = append(mapped, '\\')
		}
		n := len(mapped)
		mapped = p.appendUID(mapped, v)
		changed = changed || string(mapped[n:]) != string(v)
	})
	if !changed {
		out.Set(e)
		return
	}
	p.set(src, e, Remapped, out, vr.UI, padded(mapped, vr.UI))
}

// appendUID adds the UID that stands for old.
func (p *pass) appendUID(b, old []byte) []byte {
	if len(old) == 0 || isWellKnown(old) {
		return append(b, old...)
	}
	return appendUID(b, p.mac, old)
}

// keep leaves an element where it is, without what identifies: a sequence item by item, text searched.
func (p *pass) keep(src, out *dicom.Dataset, e *dicom.Element, what treatment) error {
	switch {
	case e.VR == vr.SQ:
		return p.sequence(out, e, p.dataset)
	case e.VR == vr.UI:
		p.classUID(src, out, e)
	case e.VR.IsString():
		p.keepText(src, out, e, what == clean)
	case isPixelData(e.Tag) || e.Fragments != nil:
		p.note(src, e, Removed, out, nil) // pixels within a sequence: an icon by another name
	default:
		return p.keepBinary(src, out, e)
	}
	return nil
}

// sequence rewrites each item.
func (p *pass) sequence(out *dicom.Dataset, e *dicom.Element, rewrite func(src, out *dicom.Dataset) error) error {
	items := make([]*dicom.Dataset, len(e.Items))
	block := make([]dicom.Dataset, len(e.Items))
	last := len(p.path) - 1
	for i, item := range e.Items {
		p.path[last].Item = i + 1
		items[i] = &block[i]
		items[i].Undefined = item.Undefined
		if err := rewrite(item, items[i]); err != nil {
			return err
		}
	}
	p.path[last].Item = 0
	after := p.newElement(e.Tag, vr.SQ, nil)
	after.Items, after.Undefined = items, e.Undefined
	out.Set(after)
	return nil
}

// classUID keeps UIDs that name a class; what is no UID at all gets a new one, and so does one that has a
// number of the patient's among its components, unless UIDs were to stay whatever they say.
func (p *pass) classUID(src, out *dicom.Dataset, e *dicom.Element) {
	sound := e.Section == nil
	asked := p.plan.options.RetainUIDs && !classUIDs[e.Tag]
	eachValue(e.Value, func(v []byte) {
		sound = sound && (len(v) == 0 || looksLikeUID(v) && (asked || !p.search.numbers(vr.UI, v)))
	})
	switch {
	case sound:
		out.Set(e)
	default:
		p.uids(src, out, e)
	}
}
