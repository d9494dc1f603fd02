package dicom

import (
	"io"

	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
)

// File is a DICOM file (PS3.10 chapter 7): a header, and a data set in one of many transfer syntaxes.
type File struct {
	// TransferSyntax is the UID of the syntax that the data set was found to be in: what (0002,0010)
	// says, or a guess, with a warning, where that is missing or wrong. One that PS3.6 does not know
	// stays here: the elements could be read, but what the pixel data is cannot be told, and Write
	// refuses it.
	TransferSyntax string
	// Meta is the file meta information, group 0002; empty where the file has none.
	Meta *Dataset
	// Dataset is the data set itself.
	Dataset *Dataset
	// Warnings are the ways in which the file breaks the standard and could be read nevertheless, at
	// most 100.
	Warnings []*Error
	// Partial says that reading ended at the pixel data, by StopAtPixels.
	Partial bool
}

// NewFile makes a file of a data set, for Write.
func NewFile(d *Dataset, transferSyntax string) *File {
	return &File{TransferSyntax: transferSyntax, Meta: NewDataset(), Dataset: d}
}

// SOPClass is the UID of what kind of object this is, from the data set or else the header; "" if
// neither says. uid.MediaStorageDirectory is a DICOMDIR, which is no image.
func (f *File) SOPClass() string {
	if class, ok := f.Dataset.UID(tag.SOPClassUID); ok {
		return class
	}
	class, _ := f.Meta.UID(tag.MediaStorageSOPClassUID)
	return class
}

// Parse reads a DICOM file of size bytes, or a data set without a header. r must stay readable as long
// as large values and pixel data are wanted; it is never read beyond size. Errors of the file are of type
// *Error, errors of r come as they are; see the package's documentation for what is refused and what only
// warned of.
func Parse(r io.ReaderAt, size int64, opts ...Option) (*File, error) {
	cfg := configure(opts)
	f := &File{}
	in := &input{src: r, size: max(size, 0)}
	defer func() { in.release() }()
	d := &decoder{in: in, cfg: &cfg, budget: cfg.maxMemory, warns: &f.Warnings}
	if err := d.start(f); err != nil {
		return nil, err
	}
	if isDeflated(f.TransferSyntax) {
		stream, err := d.inflate()
		if err != nil {
			return nil, err
		}
		in.release()
		in = &input{src: stream, size: stream.size}
		d.in, d.pos = in, 0
	}
	if err := d.settle(f); err != nil {
		return nil, err
	}
	var err error
	f.Dataset, err = d.dataset(nil, d.in.size, false)
	if err != nil {
		return nil, err
	}
	f.Partial = d.stop
	return f, nil
}

// start reads preamble and meta information, and moves to the data set.
func (d *decoder) start(f *File) error {
	head, err := d.in.bytes(0, int(min(d.in.size, preambleSize+12)))
	if err != nil {
		return err
	}
	_, bare, _ := guessLayout(head, d.in.size)
	switch marked := hasMark(head); {
	case marked && (isMeta(head[preambleSize:]) || !bare):
		d.pos = preambleSize
		if d.in.size == preambleSize {
			return d.fail(ErrTruncated, d.pos, "nothing follows the preamble")
		}
	case bare:
		err = d.warn(0, "no preamble: want 128 bytes and the letters DICM")
	case hasUnmarkedMeta(head):
		d.pos = preambleSize
		err = d.warn(128, "the letters DICM are missing at byte 128")
	default:
		return d.fail(ErrNotDICOM, 0, "not a DICOM file: neither the letters DICM at byte 128 nor a data element at its start")
	}
	if err != nil {
		return err
	}
	if f.Meta, err = d.meta(); err != nil {
		return err
	}
	if syntax, ok := f.Meta.UID(tag.TransferSyntaxUID); ok {
		f.TransferSyntax = syntax
	}
	return nil
}

// settle decides on the layout of the data set: what the transfer syntax says, unless the first
// element shows that it is another.
func (d *decoder) settle(f *File) error {
	left := d.in.size - d.pos
	if left == 0 {
		return d.fail(ErrTruncated, d.pos, "no data set follows the file meta information")
	}
	head, err := d.in.bytes(d.pos, int(min(left, 12)))
	if err != nil {
		return err
	}
	stated, known := layoutOf(f.TransferSyntax)
	l, ok := layoutAt(head, left, stated, known)
	d.layout = l
	switch {
	case known && l == stated:
		return nil
	case known && l.big == stated.big:
		// A compressed file stays one: only the elements are not as the syntax has them.
		return d.warn(d.pos, "the data set is not in the transfer syntax that the file states: read as %s", uid.Name(syntaxOf(l)))
	case !ok && f.TransferSyntax != "":
		return d.fail(ErrSyntax, d.pos, "the file's transfer syntax is not in PS3.6, and its data set begins with no element")
	case !ok:
		return d.fail(ErrMalformed, d.pos, "the data set begins with no element, and no transfer syntax is stated")
	}
	found := syntaxOf(l)
	problem := "no transfer syntax is stated"
	switch {
	case known:
		problem = "the data set is not in the transfer syntax that the file states"
		f.TransferSyntax = found
	case f.TransferSyntax != "":
		problem = "the file's transfer syntax is not in PS3.6, so what its pixel data is nobody knows"
	default:
		f.TransferSyntax = found
	}
	return d.warn(d.pos, "%s: read as %s", problem, uid.Name(found))
}
