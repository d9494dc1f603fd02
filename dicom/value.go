package dicom

import (
	"io"

	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// value reads what follows a header.
func (d *decoder) value(ds *Dataset, e *Element, h header, end int64) error {
	if h.length == undefinedLength {
		return d.undefined(ds, e, end)
	}
	if left := end - d.pos; int64(h.length) > left {
		if end < d.in.size {
			return d.fail(ErrMalformed, h.at, "value runs past its sequence: %s bytes, %s are left", thousands(int64(h.length)), thousands(left))
		}
		return d.fail(ErrTruncated, h.at, "the file ends within a value: %s bytes, %s are left", thousands(int64(h.length)), thousands(left))
	}
	if h.length%2 == 1 {
		if err := d.warn(h.at, "value of odd length: want a padding byte"); err != nil {
			return err
		}
	}
	valueEnd := d.pos + int64(h.length)
	if e.VR == vr.SQ && h.vr == 0 && !d.itemsFollow(valueEnd) {
		e.VR = vr.UN
		if err := d.warn(h.at, "no item in what the dictionary says is a sequence; taken as UN"); err != nil {
			return err
		}
	}
	switch {
	case e.VR == vr.SQ:
		return d.sequence(ds, e, valueEnd)
	case e.VR == vr.UN && !d.cfg.keepUN && d.unknown(ds, e, valueEnd):
		return nil
	case h.length > Held:
		e.Section = d.section(e, int64(h.length))
		d.pos = valueEnd
	default:
		if err := d.held(e, int(h.length)); err != nil {
			return err
		}
	}
	d.stop = d.cfg.stopAtPixels && isPixelData(e.Tag) && ds.parent == nil
	return nil
}

// held copies a short value out of the window.
func (d *decoder) held(e *Element, n int) error {
	if n == 0 {
		return nil
	}
	if err := d.spend(n); err != nil {
		return err
	}
	b, err := d.in.bytes(d.pos, n)
	if err != nil {
		return d.fail(err, d.pos, "the source is shorter than it was said to be")
	}
	e.Value = d.room.bytes(n)
	copy(e.Value, b)
	if d.layout.big {
		swap(e.Value, swapUnit(e.VR))
	}
	d.pos += int64(n)
	return nil
}

// section is a large value, left where it is.
func (d *decoder) section(e *Element, n int64) *io.SectionReader {
	src := d.in.src
	if unit := swapUnit(e.VR); d.layout.big && unit > 1 {
		return io.NewSectionReader(&swapped{io.NewSectionReader(src, d.pos, n), unit}, 0, n)
	}
	return io.NewSectionReader(src, d.pos, n)
}

// isPixelData reports whether the tag is one of the three that hold an image's pixels.
func isPixelData(t Tag) bool {
	return t == tag.PixelData || t == tag.FloatPixelData || t == tag.DoubleFloatPixelData
}
