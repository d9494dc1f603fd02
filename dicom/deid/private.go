package deid

import (
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

// safeRow is what Table E.3.10-1 says of a private element.
type safeRow struct {
	vrs  [2]vr.VR // that it is safe with
	most int      // values at most, 0 without a bound
}

// safeTable is Table E.3.10-1 by key.
var safeTable = func() map[privateKey]safeRow {
	m := make(map[privateKey]safeRow, len(safePrivate))
	for _, a := range safePrivate {
		m[privateKey{a.group, a.element, a.creator}] = safeRow{a.vrs, mostVM(a.vm)}
	}
	return m
}()

// treatPrivate is what becomes of a private element: it goes, unless it is known to be safe and that was
// asked for. Creators follow their blocks, see keepCreator.
func (p *Plan) treatPrivate(d *dicom.Dataset, e *dicom.Element, declared *declarations) treatment {
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
	row, listed := safeTable[key]
	vrs := row.vrs
	switch {
	case listed && (vrs[0] == e.VR || vrs[1] == e.VR):
	case listed && e.VR == vr.UN && vrs[0] != vr.SQ: // in implicit VR nothing says what it is
	case !listed && e.VR != vr.UN && declared.safe(key):
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

// mostDeclared is how many blocks, and elements of each, a file can declare to be safe.
const mostDeclared = 256

// declarations are the private elements that a file itself declares to be free of identity, in Private
// Data Element Characteristics Sequence of its outermost data set (PS3.3 section C.12.1.1.7): whole blocks
// by keys of element 0, or single elements.
type declarations struct {
	blocks   map[privateKey]bool
	elements map[privateKey]bool
}

// declarationsOf reads what a file declares, once for all its private elements.
func declarationsOf(d *dicom.Dataset) (all declarations) {
	items := d.Items(tag.PrivateDataElementCharacteristicsSequence)
	if len(items) == 0 {
		return all
	}
	all = declarations{map[privateKey]bool{}, map[privateKey]bool{}}
	for _, item := range items[:min(len(items), mostDeclared)] {
		group, err := item.Int(tag.PrivateGroupReference)
		creator, _ := item.String(tag.PrivateCreatorReference)
		if err != nil || group < 0 || group > 0xFFFF {
			continue
		}
		key := privateKey{group: uint16(group), creator: creator}
		switch status, _ := item.String(tag.BlockIdentifyingInformationStatus); status {
		case "SAFE":
			all.blocks[key] = true
		case "MIXED":
			elements, _ := item.Ints(tag.NonidentifyingPrivateElements)
			for _, n := range elements[:min(len(elements), mostDeclared)] {
				key.element = uint8(n)
				all.elements[key] = all.elements[key] || n >= 0 && n <= 0xFF
			}
		}
	}
	return all
}

// safe reports whether a private element is declared to be free of identity.
func (d *declarations) safe(key privateKey) bool {
	if d.elements[key] {
		return true
	}
	key.element = 0
	return d.blocks[key]
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

// rowOf is what Table E.3.10-1 says of a private element, with no VR where it does not list it.
func rowOf(d *dicom.Dataset, t tag.Tag) safeRow {
	creator, _ := d.Creator(t)
	return safeTable[privateKey{t.Group(), uint8(t.Element()), creator}]
}

// wellFormed gives a private element of unknown VR the one that Table E.3.10-1 has for it.
func wellFormed(d *dicom.Dataset, e *dicom.Element) *dicom.Element {
	if e.VR != vr.UN || !e.Tag.IsPrivate() {
		return e
	}
	listed := rowOf(d, e.Tag).vrs[0]
	if listed == 0 || listed.Unit() > 1 && e.Len()%int64(listed.Unit()) != 0 {
		return e
	}
	known := *e
	known.VR = listed
	return &known
}
