package dicom

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/flate"

	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// How this package names itself in the files it writes (PS3.10 section 7.1, PS3.7 section D.3.3.2).
const (
	ImplementationClassUID    = "2.25.271340958112095367228930218432971065211"
	ImplementationVersionName = "FILMROOM"
)

// WriteOption changes how Write writes.
type WriteOption func(*writing)

type writing struct{ syntax string }

// As writes in another transfer syntax. The native ones (implicit, explicit, big endian, deflated) can
// be had from each other; compressed pixel data is never touched, so it can only be written as what it is.
func As(transferSyntax string) WriteOption {
	return func(w *writing) { w.syntax = transferSyntax }
}

// Write streams a file: 128 zeros, a new file meta header, the data set. Native pixel data is written
// in explicit VR little endian unless As says otherwise, compressed in its own syntax. Values of odd
// length are padded, group lengths computed anew, sequences keep their defined or undefined length.
// Elements of groups 0000 and 0002, which may not stand in a data set, are left out. The error wraps
// ErrSyntax, ErrIncomplete, ErrAbsent (nothing to write), ErrTruncated (a source is shorter than it was)
// or comes from w.
func Write(w io.Writer, f *File, opts ...WriteOption) error {
	if f.Partial {
		return &Error{Err: ErrIncomplete, Offset: -1, Reason: "read with StopAtPixels, so what follows the pixel data would be lost: read the whole file to write it"}
	}
	if !slices.ContainsFunc(f.Dataset.elements, mayStand) {
		return &Error{Err: ErrAbsent, Offset: -1, Reason: "the data set has no element to write, and a file without a data set is none"}
	}
	syntax, err := chooseSyntax(f, opts)
	if err != nil {
		return err
	}
	e := newEncoder(w)
	defer e.release()
	e.buf = append(e.buf, make([]byte, 128)...)
	e.buf = append(e.buf, "DICM"...)
	e.file(f.newMeta(syntax), explicitLE, true)
	l, _ := layoutOf(syntax)
	if !isDeflated(syntax) {
		e.file(f.Dataset, l, false)
		return e.flush()
	}
	if err := e.flush(); err != nil {
		return err
	}
	return writeDeflated(w, f.Dataset)
}

// chooseSyntax is the syntax to write in, if the file can be written in it.
func chooseSyntax(f *File, opts []WriteOption) (string, error) {
	var o writing
	for _, opt := range opts {
		opt(&o)
	}
	compressed := f.Dataset.compressed()
	source := f.TransferSyntax
	if o.syntax == "" {
		o.syntax = uid.ExplicitLE
		if IsEncapsulated(source) {
			o.syntax = source
		}
	}
	reason := ""
	_, sourceKnown := layoutOf(source)
	switch l, known := layoutOf(o.syntax); {
	case l.big && f.Dataset.beginsLikeMeta():
		reason = "a big-endian data set that begins with group 0200, which no standard has, reads like more of the header"
	case !sourceKnown && source != "" && f.Dataset.hasPixels():
		reason = "the file's transfer syntax is not in PS3.6: its pixel data cannot be written as anything else"
	case !known:
		reason = "not a transfer syntax of PS3.6"
	case compressed && o.syntax != source && !(IsEncapsulated(o.syntax) && !IsEncapsulated(source)):
		reason = "compressed pixel data can only be written in the syntax it is in: " + uid.Name(source)
	case compressed && !IsEncapsulated(o.syntax):
		reason = "compressed pixel data under a transfer syntax for native pixel data: nothing says how to read it"
	case !compressed && IsEncapsulated(o.syntax) && o.syntax != source:
		reason = "native pixel data cannot be written in a compressed syntax"
	default:
		return o.syntax, nil
	}
	return "", &Error{Err: ErrSyntax, Offset: -1, Reason: reason}
}

// beginsLikeMeta reports whether the first element to be written has group 0200: its bytes in big endian are those
// of group 0002 in the header's little endian.
func (d *Dataset) beginsLikeMeta() bool {
	i := slices.IndexFunc(d.elements, mayStand)
	return i >= 0 && d.elements[i].Tag.Group() == 0x0200
}

func (d *Dataset) hasPixels() bool {
	return d.Has(tag.PixelData) || d.Has(tag.FloatPixelData) || d.Has(tag.DoubleFloatPixelData)
}

// compressed reports whether there is encapsulated pixel data.
func (d *Dataset) compressed() bool {
	e, ok := d.Get(tag.PixelData)
	return ok && e.Fragments != nil
}

// sameMeta is what each file's meta information has. The group's length is computed while it is written.
var sameMeta = [...]*Element{
	Ints(tag.FileMetaInformationGroupLength, 0),
	New(tag.FileMetaInformationVersion, vr.OB, []byte{0, 1}),
	Text(tag.ImplementationClassUID, ImplementationClassUID),
	Text(tag.ImplementationVersionName, ImplementationVersionName),
}

// newMeta is the file meta information for a file that this package writes (PS3.10 section 7.1). Of the
// source's it keeps nothing but what the data set lacks: its application entities and private
// information would tell where the file came from.
func (f *File) newMeta(syntax string) *Dataset {
	meta := NewDataset()
	meta.Grow(len(sameMeta) + 3)
	for _, e := range sameMeta {
		meta.Set(e)
	}
	meta.Set(Text(tag.TransferSyntaxUID, syntax))
	copyUID := func(to, from Tag) {
		value, ok := f.Dataset.String(from)
		if !ok {
			value, ok = f.Meta.String(to)
		}
		if ok {
			meta.Set(Text(to, value))
		}
	}
	copyUID(tag.MediaStorageSOPClassUID, tag.SOPClassUID)
	copyUID(tag.MediaStorageSOPInstanceUID, tag.SOPInstanceUID)
	return meta
}

// writeDeflated writes a data set as a deflate stream of even length (PS3.5 section A.5).
func writeDeflated(w io.Writer, ds *Dataset) error {
	count := &counter{w: w}
	z, err := flate.NewWriter(count, flate.DefaultCompression)
	if err != nil {
		return err
	}
	e := newEncoder(z)
	defer e.release()
	e.file(ds, explicitLE, false)
	if err := e.flush(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if count.n%2 == 1 {
		_, err = w.Write([]byte{0})
	}
	return err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

var encoders = sync.Pool{New: func() any { return &encoder{buf: make([]byte, 0, nextRead)} }}

func newEncoder(w io.Writer) *encoder {
	e := encoders.Get().(*encoder)
	*e = encoder{w: w, buf: e.buf[:0], lengths: e.lengths[:0]}
	return e
}

func (e *encoder) release() {
	e.w = nil
	if cap(e.buf) <= 4*nextRead {
		encoders.Put(e)
	}
}

// overflow is what to say of a part that is too long for its length field.
func overflow(t Tag, n int64) error {
	return &Error{Err: ErrTooLarge, Path: Path{{Tag: t}}, Offset: -1,
		Reason: fmt.Sprintf("%s bytes do not fit a 32-bit length: give it undefined length", thousands(n))}
}
