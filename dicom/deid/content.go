package deid

import (
	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// concept names a kind of content item in Table E.3.4-1.
type concept struct{ code, scheme, valueType string }

// resolveItems is the table under the options that are on.
func resolveItems(on [10]bool) map[concept]treatment {
	items := make(map[concept]treatment, len(contentItems))
	for _, c := range contentItems {
		items[concept{c.code, c.scheme, c.valueType}] = resolve(c.basic, c.options, on)
	}
	return items
}

// content rewrites a sequence of content items, or one that holds such a sequence further down (PS3.15
// section E.3.4). The attributes of each item are treated as everywhere; the table decides on top of
// that which items go and which values are kept.
func (p *pass) content(src, out *dicom.Dataset, e *dicom.Element) error {
	if e.VR != vr.SQ {
		p.dummy(src, out, e)
		return nil
	}
	return p.sequence(out, e, p.contentItem)
}

// contentItem rewrites one item and, by way of its own Content Sequence, those below it. An item that
// goes leaves an empty text behind: others may refer to their fellows by position (PS3.3 section
// C.17.3.2.5), and a gap would turn their references to the wrong ones.
func (p *pass) contentItem(src, out *dicom.Dataset) error {
	switch what := p.plan.items[conceptOf(src)]; what {
	case remove, empty:
		p.placeholder(src, out)
		return nil
	case dummy, keep:
		return p.items(src, out, what)
	}
	return p.items(src, out, clean)
}

// items rewrites an item's attributes, and sequences within it as content. value is the treatment of the
// attribute that holds the item's value.
func (p *pass) items(src, out *dicom.Dataset, value treatment) error {
	depth := len(p.path)
	p.path = append(p.path, dicom.Step{})
	defer func() { p.path = p.path[:depth] }()
	for t, e := range src.All() {
		p.path[depth] = dicom.Step{Tag: t}
		what := p.plan.treat(src, e, &p.declared)
		var err error
		switch {
		case e.IsEmpty():
			err = p.element(src, out, e)
		case contentValues[t] && value == dummy:
			p.dummy(src, out, e)
		case contentValues[t] && value == keep && what == mapUID:
			p.classUID(src, out, e) // a device's, say, which the attribute's own row would not keep
		case contentValues[t] && value == keep && what == dummy && e.VR == dictionaryVR(t):
			out.Set(e)
		case t == tag.TextValue && e.VR.IsString():
			p.keepText(src, out, e, value == clean)
		case e.VR == vr.SQ && what == keep && !isCode(t):
			err = p.sequence(out, e, p.contentItem)
		default:
			err = p.element(src, out, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isCode reports whether a sequence holds a code rather than content.
func isCode(t tag.Tag) bool {
	return t == tag.ConceptNameCodeSequence || t == tag.ConceptCodeSequence || t == tag.MeasurementUnitsCodeSequence
}

// conceptOf is what an item's Concept Name and Value Type say; empty for what is no content item.
func conceptOf(item *dicom.Dataset) concept {
	names := item.Items(tag.ConceptNameCodeSequence)
	if len(names) == 0 {
		return concept{}
	}
	var c concept
	c.code, _ = names[0].String(tag.CodeValue)
	c.scheme, _ = names[0].String(tag.CodingSchemeDesignator)
	c.valueType, _ = item.String(tag.ValueType)
	return c
}

// placeholder is what stands where an item was.
func (p *pass) placeholder(src, out *dicom.Dataset) {
	p.note(src, nil, Removed, out, nil)
	if e, ok := src.Get(tag.RelationshipType); ok {
		out.Set(e)
	}
	out.Set(dicom.Text(tag.ValueType, "TEXT"))
	out.Set(dicom.Sequence(tag.ConceptNameCodeSequence, code("121106", "DCM", "Comment")))
	out.Set(dummyOf(tag.TextValue))
}

// contentValues are the attributes that hold a content item's value.
var contentValues = map[tag.Tag]bool{
	tag.TextValue: true, tag.PersonName: true, tag.Date: true, tag.Time: true, tag.DateTime: true,
	tag.UID: true, tag.ConceptCodeSequence: true, tag.MeasuredValueSequence: true,
}
