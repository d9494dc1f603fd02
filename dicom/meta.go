package dicom

import (
	"encoding/binary"
	"errors"

	"filmroom/dicom/tag"
)

// meta reads group 0002, which is in explicit VR little endian in every file (PS3.10 section 7.1).
func (d *decoder) meta() (*Dataset, error) {
	ds := &Dataset{Offset: d.pos}
	d.layout = explicitLE
	d.path = append(d.path[:0], Step{})
	start, end, last := d.pos, int64(-1), Tag(0)
	for {
		d.path[0] = Step{}
		more, err := d.inMeta(end, last)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		h, err := d.header(d.in.size)
		if err == nil {
			err = d.element(ds, h, d.in.size)
		}
		if err != nil {
			return nil, err
		}
		last = h.tag
		if e := d.stack[len(d.stack)-1]; e.Tag == tag.FileMetaInformationGroupLength && len(e.Value) == 4 {
			start, end = d.pos, d.pos+int64(binary.LittleEndian.Uint32(e.Value))
		}
	}
	d.path = d.path[:0]
	if err := d.collect(ds, 0); err != nil {
		return nil, err
	}
	return ds, d.checkMeta(ds, d.pos-start)
}

// inMeta reports whether another element of group 0002 follows. The group's stated end is not believed,
// for it is often wrong; but there a lower tag is the data set's: (0200,0000) in big endian looks alike.
func (d *decoder) inMeta(end int64, last Tag) (bool, error) {
	b, err := d.in.bytes(d.pos, 8)
	if err != nil && !errors.Is(err, ErrTruncated) {
		return false, err
	}
	return isMeta(b) && (d.pos != end || explicitLE.tag(b) > last), nil
}

// checkMeta holds the group length against the bytes that follow it.
func (d *decoder) checkMeta(meta *Dataset, length int64) error {
	if meta.Len() == 0 {
		return d.warn(d.pos, "no file meta information")
	}
	stated, err := meta.Int(tag.FileMetaInformationGroupLength)
	switch {
	case err != nil:
		return d.warn(meta.Offset, "no group length in the file meta information")
	case stated != length:
		return d.warn(meta.Offset, "wrong group length in the file meta information: %s, the group has %s bytes", thousands(stated), thousands(length))
	}
	return nil
}
