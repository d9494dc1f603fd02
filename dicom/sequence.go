package dicom

import (
	"encoding/binary"

	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// undefined reads a value that ends with a delimiter: a sequence, encapsulated pixel data, or UN, which
// then is a sequence in implicit VR little endian whatever the file's syntax is (PS3.5 section 6.2.2).
func (d *decoder) undefined(ds *Dataset, e *Element, end int64) error {
	e.Undefined = true
	switch {
	case e.VR == vr.SQ:
		return d.sequence(ds, e, end)
	case e.VR == vr.OB || e.VR == vr.OW || isPixelData(e.Tag):
		if d.cfg.stopAtPixels && ds.parent == nil {
			d.stop = true
			return nil
		}
		return d.fragments(e, end)
	case e.VR == vr.UN:
		e.VR = vr.SQ
		return d.implicitly(func() error { return d.sequence(ds, e, end) })
	}
	return d.fail(ErrMalformed, e.Offset, "undefined length with VR %v: want SQ, UN, OB or OW", e.VR)
}

// implicitly reads something in implicit VR little endian within whatever there is around.
func (d *decoder) implicitly(read func() error) error {
	around := d.layout
	d.layout = implicitLE
	err := read()
	d.layout = around
	return err
}

// sequence reads items up to end, or up to the sequence delimiter where the length is undefined.
func (d *decoder) sequence(ds *Dataset, e *Element, end int64) error {
	if len(d.path) > d.cfg.maxDepth {
		return d.fail(ErrTooDeep, e.Offset, "sequences nest deeper than %d", d.cfg.maxDepth)
	}
	step := len(d.path) - 1
	for d.pos < end {
		h, err := d.itemHeader(end)
		if err != nil {
			return err
		}
		switch h.tag {
		case tag.Item:
		case tag.SequenceDelimitationItem:
			if e.Undefined {
				d.path[step].Item = 0
				return nil
			}
			if err := d.warn(h.at, "a delimiter in a sequence of defined length; left out"); err != nil {
				return err
			}
			continue
		default:
			return d.fail(ErrMalformed, h.at, "%v where an item should be: want (FFFE,E000)", h.tag)
		}
		if err := d.item(ds, e, h, end); err != nil {
			return err
		}
	}
	d.path[step].Item = 0
	if e.Undefined {
		return d.fail(ErrTruncated, d.pos, "a sequence of undefined length has no delimiter at its end")
	}
	return nil
}

// itemHeader reads the tag and length of an item or delimiter (PS3.5 section 7.5).
func (d *decoder) itemHeader(end int64) (header, error) {
	b, err := d.peek(8, end)
	if err != nil {
		return header{}, err
	}
	h := header{tag: d.layout.tag(b), length: d.layout.uint32(b[4:]), at: d.pos}
	d.pos += 8
	return h, nil
}

// item reads one data set of a sequence.
func (d *decoder) item(ds *Dataset, e *Element, h header, end int64) error {
	d.path[len(d.path)-1].Item = len(e.Items) + 1
	if err := d.spend(datasetSize); err != nil {
		return err
	}
	undefined := h.length == undefinedLength
	if !undefined {
		if left := end - d.pos; int64(h.length) > left {
			kind, what := ErrTruncated, "the file ends within an item"
			if end < d.in.size {
				kind, what = ErrMalformed, "item runs past its sequence"
			}
			return d.fail(kind, h.at, "%s: %s bytes, %s are left", what, thousands(int64(h.length)), thousands(left))
		}
		end = d.pos + int64(h.length)
	}
	item, err := d.dataset(ds, end, undefined)
	if err != nil {
		return err
	}
	e.Items = append(e.Items, item)
	return nil
}

// resolve is the VR of an element: the file's, or the dictionary's where the file has none or says UN.
// A sequence stays UN until items are found in it.
func (d *decoder) resolve(h header) VR {
	if h.vr.Known() && (h.vr != vr.UN || d.cfg.keepUN || h.length == undefinedLength) {
		return h.vr
	}
	entry, ok := h.tag.Lookup()
	switch {
	case !ok || entry.VR() == 0 || entry.VR() == vr.SQ && h.vr != 0:
		return vr.UN
	case entry.Allows(vr.OW):
		return vr.OW // PS3.5 section A.1: implicit VR has pixels and the like as OW
	case entry.Allows(vr.SS) && d.signed:
		return vr.SS
	case entry.Allows(vr.US):
		return vr.US
	}
	return entry.VR()
}

// unknown looks into a value of VR UN: where items stand in it, it is a sequence, of a private element
// or of a writer that did not know better (PS3.5 section 6.2.2). Where reading them fails, the value is
// bytes; what the attempt took from the budget stays taken, so that a file cannot make it for free. No byte is read twice from the source: up to Held bytes the whole
// value is in the window, and a longer one is not read again when it turns out to be bytes.
func (d *decoder) unknown(ds *Dataset, e *Element, end int64) bool {
	start, around := d.pos, d.layout
	b, err := d.in.bytes(start, int(min(end-start, Held)))
	if err != nil || !looksLikeItems(b, end-start) {
		return false
	}
	depth, mark, warned := len(d.path), len(d.stack), len(*d.warns)
	d.layout = itemLayout(b)
	err = d.sequence(ds, e, end)
	d.layout = around
	if err == nil {
		e.VR = vr.SQ
		return true
	}
	d.pos, d.path, d.stack = start, d.path[:depth], d.stack[:mark]
	*d.warns = (*d.warns)[:warned]
	d.path[depth-1].Item, e.Items = 0, nil
	return false
}

// itemsFollow reports whether a value of defined length that ends at end is empty or begins with an
// item. In implicit VR only this tells a sequence from another kind of value under the same tag.
func (d *decoder) itemsFollow(end int64) bool {
	if d.pos == end {
		return true
	}
	b, err := d.in.bytes(d.pos, int(min(end-d.pos, 4)))
	if err != nil || len(b) < 4 {
		return false
	}
	t := d.layout.tag(b)
	return t == tag.Item || t == tag.SequenceDelimitationItem
}

// looksLikeItems reports whether a value of n bytes that begins with b begins with an item that can be
// in it.
func looksLikeItems(b []byte, n int64) bool {
	if len(b) < 8 || implicitLE.tag(b) != tag.Item {
		return false
	}
	length := binary.LittleEndian.Uint32(b[4:])
	return length == undefinedLength || int64(length) <= n-8
}

// itemLayout is the layout of the items in a value of VR UN. It should be implicit; writers that put
// explicit VR there are recognised by the VR of the first element.
func itemLayout(b []byte) layout {
	return layout{explicit: len(b) >= 16 && vr.Of(b[12], b[13]).Known()}
}
