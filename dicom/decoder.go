package dicom

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// undefinedLength marks a value that ends with a delimiter instead (PS3.5 section 7.1.1).
const undefinedLength = 0xFFFFFFFF

// layout is how elements are laid out.
type layout struct {
	explicit bool // the VR stands in the file (PS3.5 section 7.1.2)
	big      bool // numbers are big endian
}

var littleImplicit = layout{}

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
	looked int64 // padding has found something other than zeros before here
}

// header is what stands before a value.
type header struct {
	tag    Tag
	vr     VR
	length uint32
	at     int64 // where the element begins
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

// peek is n bytes at the current position, which must end before end: that of the sequence or item
// around, or that of the file.
func (d *decoder) peek(n int, end int64) ([]byte, error) {
	if d.pos+int64(n) > end && end < d.in.size {
		return nil, d.fail(ErrMalformed, d.pos, "element runs past its sequence: want %d bytes, %d are left", n, end-d.pos)
	}
	b, err := d.in.bytes(d.pos, n)
	if errors.Is(err, ErrTruncated) {
		return nil, d.fail(ErrTruncated, d.pos, "the file ends within an element: want %d bytes, %d are left", n, len(b))
	}
	return b, err
}

// header reads tag, VR and length, and moves to the value.
func (d *decoder) header(end int64) (header, error) {
	b, err := d.peek(8, end)
	if err != nil {
		return header{}, err
	}
	h := header{tag: d.layout.tag(b), at: d.pos}
	d.path[len(d.path)-1].Tag = h.tag
	if !d.layout.explicit || h.tag.Group() == 0xFFFE {
		h.length = d.layout.uint32(b[4:])
		d.pos += 8
		return h, nil
	}
	h.vr = vr.Of(b[4], b[5])
	long := h.vr.Long()
	if !h.vr.Known() {
		form, err := d.unknownVR(h, b, end)
		if err != nil {
			return h, err
		}
		if form == implicitForm {
			h.vr, h.length = 0, d.layout.uint32(b[4:])
			d.pos += 8
			return h, nil
		}
		long = form == longForm
	}
	if !long {
		h.length = uint32(d.layout.uint16(b[6:]))
		d.pos += 8
		return h, nil
	}
	if b, err = d.peek(12, end); err != nil {
		return h, err
	}
	h.length = d.layout.uint32(b[8:])
	d.pos += 12
	return h, nil
}

// form is where the length stands in a header.
type form uint8

const (
	shortForm    form = iota // behind the VR, 16 bits
	longForm                 // behind the VR and two zero bytes, 32 bits
	implicitForm             // in place of the VR, 32 bits
)

// unknownVR decides what two bytes mean that are no known VR. Letters are a VR of a later edition,
// with a 32-bit length behind two zero bytes (PS3.5 section 6.2); where those bytes are not zero they
// must be a 16-bit length. Anything else is an element without a VR among others that have one, or one
// whose VR was never filled in: whichever length there is room for.
func (d *decoder) unknownVR(h header, b []byte, end int64) (form, error) {
	if h.vr.Letters() {
		err := d.warn(h.at, "unknown value representation: want one of PS3.5 section 6.2; taken as UN")
		if b[6] == 0 && b[7] == 0 {
			return longForm, err
		}
		return shortForm, err
	}
	left := end - d.pos - 8
	implicit, short := int64(d.layout.uint32(b[4:])), int64(d.layout.uint16(b[6:]))
	if implicit > left && implicit != undefinedLength && short <= left {
		return shortForm, d.warn(h.at, "no value representation before the length: want one of PS3.5 section 6.2; the dictionary's is taken")
	}
	return implicitForm, d.warn(h.at, "no value representation in an explicit-VR file; read as implicit VR")
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
	if !allZero(b) || d.pos < d.looked {
		return false
	}
	for at := d.pos; at < end; at += nextRead {
		if b, err := d.in.bytes(at, int(min(end-at, nextRead))); err != nil || !allZero(b) {
			d.looked = at + nextRead // something comes before here: do not look again for each element
			return false
		}
	}
	return true
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
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
