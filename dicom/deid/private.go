package deid

import (
	"slices"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// privateKey names a private element wherever its block lies.
type privateKey struct {
	group   uint16
	element uint8
	creator string
}

// safeTable is Table E.3.10-1 by key: the VRs that an element is safe with.
var safeTable = func() map[privateKey][2]vr.VR {
	m := make(map[privateKey][2]vr.VR, len(safePrivate))
	for _, a := range safePrivate {
		m[privateKey{a.group, a.element, a.creator}] = a.vrs
	}
	return m
}()

// treatPrivate is what becomes of a private element: it goes, unless it is known to be safe and that was
// asked for. Creators follow their blocks, see keepCreator.
func (p *Plan) treatPrivate(d *dicom.Dataset, e *dicom.Element) treatment {
	if !p.options.RetainSafePrivate {
		return remove
	}
	if e.Tag.IsPrivateCreator() {
		return keep
	}
	creator, ok := d.Creator(e.Tag)
	if !ok {
		return remove
	}
	key := privateKey{e.Tag.Group(), uint8(e.Tag.Element()), creator}
	vrs, listed := safeTable[key]
	switch {
	case listed && (vrs[0] == e.VR || vrs[1] == e.VR):
	case listed && e.VR == vr.UN && vrs[0] != vr.SQ: // in implicit VR nothing says what it is
	case !listed && e.VR != vr.UN && declaredSafe(d, key):
	default:
		return remove
	}
	return p.treatSafe(privateVR(e, vrs[0]))
}

// privateVR is the VR of a safe private element: the table's where the file does not say.
func privateVR(e *dicom.Element, listed vr.VR) vr.VR {
	if e.VR == vr.UN {
		return listed
	}
	return e.VR
}

// treatSafe is the treatment of a safe private element by its VR: dates and UIDs follow the options as
// they do elsewhere, and no name is ever safe.
func (p *Plan) treatSafe(v vr.VR) treatment {
	switch v {
	case vr.PN, vr.UN:
		return remove
	case vr.DA, vr.DT, vr.TM:
		switch {
		case p.options.ShiftDates:
			return shift
		case !p.options.RetainFullDates:
			return remove
		}
	case vr.UI:
		if !p.options.RetainUIDs {
			return mapUID
		}
	}
	return clean
}

// mostDeclared is how many blocks, and elements of each, a file can declare: they are looked through for
// every private element.
const mostDeclared = 256

// declaredSafe reports whether the file itself declares a private element to be free of identity, in
// Private Data Element Characteristics Sequence of its outermost data set (PS3.3 section C.12.1.1.7).
func declaredSafe(d *dicom.Dataset, key privateKey) bool {
	for d.Parent() != nil {
		d = d.Parent()
	}
	items := d.Items(tag.PrivateDataElementCharacteristicsSequence)
	for _, item := range items[:min(len(items), mostDeclared)] {
		group, err := item.Int(tag.PrivateGroupReference)
		creator, _ := item.String(tag.PrivateCreatorReference)
		if err != nil || group != int64(key.group) || creator != key.creator {
			continue
		}
		switch status, _ := item.String(tag.BlockIdentifyingInformationStatus); status {
		case "SAFE":
			return true
		case "MIXED":
			elements, _ := item.Ints(tag.NonidentifyingPrivateElements)
			return slices.Contains(elements[:min(len(elements), mostDeclared)], int64(key.element))
		}
	}
	return false
}

// keepCreator lets the creator follow an element of its block that stays.
func (p *pass) keepCreator(src, out *dicom.Dataset, t tag.Tag) error {
	creator := t.Creator()
	if creator == 0 || !out.Has(t) || out.Has(creator) {
		return nil
	}
	e, ok := src.Get(creator)
	if !ok {
		return nil
	}
	p.path[len(p.path)-1] = dicom.Step{Tag: creator}
	return p.keep(src, out, e, keep)
}

// noteCreators notes the creators of whose block nothing stays.
func (p *pass) noteCreators(src, out *dicom.Dataset) {
	for t, e := range src.All() {
		if t.IsPrivateCreator() && !out.Has(t) {
			p.path[len(p.path)-1] = dicom.Step{Tag: t}
			p.note(src, e, Removed, out, nil)
		}
	}
}

// wellFormed gives a private element of unknown VR the one that Table E.3.10-1 has for it.
func wellFormed(d *dicom.Dataset, e *dicom.Element) *dicom.Element {
	if e.VR != vr.UN || !e.Tag.IsPrivate() {
		return e
	}
	creator, _ := d.Creator(e.Tag)
	vrs := safeTable[privateKey{e.Tag.Group(), uint8(e.Tag.Element()), creator}]
	if vrs[0] == 0 || vrs[0].Unit() > 1 && e.Len()%int64(vrs[0].Unit()) != 0 {
		return e
	}
	known := *e
	known.VR = vrs[0]
	return &known
}
