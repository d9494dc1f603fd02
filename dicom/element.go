package dicom

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"filmroom/dicom/vr"
)

// Held is the most bytes of one value that are kept in memory; a longer value is a Section.
const Held = 64 << 10

// Element is one data element. Its value stands in one of Value, Section, Items and Fragments; all
// are empty for an element of length zero.
type Element struct {
	Tag Tag
	VR  VR
	// Undefined says that a sequence or pixel data had no length in its file but a delimiter at its
	// end. Write keeps it so.
	Undefined bool
	// Offset is where the element began in its file, see Error.Offset; -1 for one made in memory.
	Offset int64
	// Value holds up to 64 KiB, padding included, with binary numbers in little-endian order.
	Value []byte
	// Section is a value too long for Value, in its source, with binary numbers in little-endian
	// order. It is readable as long as what was given to Parse.
	Section *io.SectionReader
	// Items are the data sets of a sequence. Use Dataset.Set or SetItems to add or change a sequence,
	// so that its items know their place.
	Items []*Dataset
	// Fragments are the parts of encapsulated pixel data (PS3.5 section A.4).
	Fragments *Fragments
}

// Len is the length of the value in bytes, padding included; 0 for a sequence and for fragments.
func (e *Element) Len() int64 {
	if e.Section != nil {
		return e.Section.Size()
	}
	return int64(len(e.Value))
}

// IsEmpty reports whether there is no value at all: zero length, no item, no fragment, no offset table.
func (e *Element) IsEmpty() bool {
	return e.Len() == 0 && len(e.Items) == 0 && (e.Fragments == nil || e.Fragments.Len() == 0 && len(e.Fragments.Table) == 0)
}

// IsSequence reports whether the element holds items.
func (e *Element) IsSequence() bool { return e.VR == vr.SQ || len(e.Items) > 0 }

// Open reads the value from its start, wherever it is: Len bytes, or fewer where the source has become
// shorter. Sequences and fragments read as empty.
func (e *Element) Open() io.Reader {
	if e.Section != nil {
		return io.NewSectionReader(e.Section, 0, e.Section.Size())
	}
	return bytes.NewReader(e.Value)
}

// Bytes is the value wherever it is, padding included, read into memory if it has no more than limit
// bytes; else ErrTooLarge.
func (e *Element) Bytes(limit int64) ([]byte, error) {
	if e.Section == nil {
		return e.Value, nil
	}
	n := e.Section.Size()
	if n > limit {
		return nil, e.fail(ErrTooLarge, fmt.Sprintf("the value has %s bytes, at most %s can be taken here", thousands(n), thousands(limit)))
	}
	b := make([]byte, n)
	if got, err := e.Section.ReadAt(b, 0); got < len(b) {
		if errors.Is(err, io.EOF) {
			err = e.fail(ErrTruncated, shorter)
		}
		return nil, err
	}
	return b, nil
}

// shorter is what to say when a value's source has not the bytes that it had when it was read.
const shorter = "the source of a large value is shorter than it was when it was read"

func (e *Element) fail(err error, reason string) error {
	return &Error{Err: err, Path: Path{{Tag: e.Tag}}, Offset: e.Offset, Reason: reason}
}
