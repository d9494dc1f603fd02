package dicom

import (
	"fmt"
	"slices"

	"filmroom/dicom/tag"
)

// undefinedLength marks a value that ends with a delimiter instead (PS3.5 section 7.1.1).
const undefinedLength = 0xFFFFFFFF

// decoder is the element layer: it turns an input into data sets. Its position only moves forward.
type decoder struct {
	in     *input
	cfg    *config
	layout layout
	pos    int64
	path   Path  // to what is being read; its last step is the current element
	budget int64 // bytes that may still be allocated
	warns  *[]*Error

	stack  []*Element // elements of the data sets under way
	room   room
	signed bool  // the Pixel Representation in force: "US or SS" is SS
	stop   bool  // StopAtPixels was obeyed
	looked int64 // padding has found a byte other than zero just before here
}

// maxWarnings bounds how many warnings a file may cause; the rest only repeat.
const maxWarnings = 100

// fail is an error at the current element.
func (d *decoder) fail(err error, at int64, format string, args ...any) error {
	path := slices.Clone(d.path)
	if n := len(path); n > 0 && path[n-1].Tag == 0 {
		path = path[:n-1] // before the tag was read
	}
	return &Error{Err: err, Path: path, Offset: at, Reason: fmt.Sprintf(format, args...)}
}

// warn notes what breaks the standard and can be read nevertheless; in strict mode it is an error.
func (d *decoder) warn(at int64, format string, args ...any) error {
	err := d.fail(ErrStrict, at, format, args...)
	if d.cfg.strict {
		return err
	}
	if len(*d.warns) < maxWarnings {
		*d.warns = append(*d.warns, err.(*Error))
	}
	return nil
}

// spend takes n bytes from the budget before they are allocated.
func (d *decoder) spend(n int) error {
	if d.budget -= int64(n); d.budget < 0 {
		return d.fail(ErrTooLarge, d.pos, "the header takes more than %s bytes of memory", thousands(d.cfg.maxMemory))
	}
	return nil
}

// dataset reads elements up to end, or up to the item delimiter where the length is undefined.
func (d *decoder) dataset(parent *Dataset, end int64, undefined bool) (*Dataset, error) {
	ds := &Dataset{Undefined: undefined, Offset: d.pos, parent: parent}
	mark, signed := len(d.stack), d.signed
	d.path = append(d.path, Step{})
	closed := !undefined
	for d.pos < end && !d.stop {
		d.path[len(d.path)-1] = Step{}
		if parent == nil && d.padding(end) {
			if err := d.warn(d.pos, "zeros behind the last element; left out"); err != nil {
				return nil, err
			}
			break
		}
		h, err := d.header(end)
		if err != nil {
			return nil, err
		}
		if h.tag == tag.ItemDelimitationItem && undefined {
			closed = true
			break
		}
		if h.tag.Group() == 0xFFFE {
			err = d.stray(h)
		} else {
			err = d.element(ds, h, end)
		}
		if err != nil {
			return nil, err
		}
	}
	if !closed {
		d.path[len(d.path)-1] = Step{}
		return nil, d.fail(ErrTruncated, d.pos, "an item of undefined length has no delimiter at its end")
	}
	d.path = d.path[:len(d.path)-1]
	d.signed = signed
	return ds, d.collect(ds, mark)
}

// padding reports whether nothing but zeros follows, which some writers fill their last block with.
func (d *decoder) padding(end int64) bool {
	b, _ := d.in.bytes(d.pos, int(min(end-d.pos, 8)))
	if d.pos < d.looked || lastNonZero(b) >= 0 {
		return false
	}
	for at := d.pos; at < end; at += nextRead {
		b, err := d.in.bytes(at, int(min(end-at, nextRead)))
		if i := lastNonZero(b); i >= 0 || err != nil {
			d.looked = at + int64(i) + 1 // do not look again for each element before
			return false
		}
	}
	return true
}

// lastNonZero is the index of the last byte that is not zero, or -1.
func lastNonZero(b []byte) int {
	i := len(b) - 1
	for i >= 0 && b[i] == 0 {
		i--
	}
	return i
}

// stray passes over a delimiter where an element should be.
func (d *decoder) stray(h header) error {
	if h.length != 0 {
		return d.fail(ErrMalformed, h.at, "a delimiter or item where an element should be")
	}
	return d.warn(h.at, "a delimiter that delimits nothing; left out")
}

// element reads the value that belongs to h and puts the element on the stack.
func (d *decoder) element(ds *Dataset, h header, end int64) error {
	if err := d.spend(elementSize); err != nil {
		return err
	}
	e := d.room.element()
	e.Tag, e.VR, e.Offset = h.tag, d.resolve(h), h.at
	if err := d.value(ds, e, h, end); err != nil {
		return err
	}
	d.stack = append(d.stack, e)
	switch {
	case e.Tag == tag.PixelRepresentation && len(e.Value) == 2:
		d.signed = e.Value[0] == 1
	case e.Tag == tag.SpecificCharacterSet:
		if _, err := parseTerms(e.Value); err != nil {
			return d.warn(e.Offset, "%v", err.Reason)
		}
	}
	return nil
}

// collect makes the elements on the stack those of the data set, in order and each tag once.
func (d *decoder) collect(ds *Dataset, mark int) error {
	read := d.stack[mark:]
	if !slices.IsSortedFunc(read, byTag) {
		if err := d.warn(ds.Offset, "elements are not in ascending order of their tags; put in order"); err != nil {
			return err
		}
		slices.SortStableFunc(read, byTag)
	}
	unique := slices.CompactFunc(read, func(a, b *Element) bool { return a.Tag == b.Tag })
	if len(unique) < len(read) {
		if err := d.warn(ds.Offset, "an element stands twice in a data set; the first one counts"); err != nil {
			return err
		}
	}
	ds.elements = d.room.list(len(unique))
	copy(ds.elements, unique)
	clear(d.stack[mark:])
	d.stack = d.stack[:mark]
	return nil
}

func byTag(a, b *Element) int {
	switch {
	case a.Tag < b.Tag:
		return -1
	case a.Tag > b.Tag:
		return 1
	}
	return 0
}
