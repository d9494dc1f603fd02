package dicom

import (
	"errors"
	"strconv"
	"strings"
)

// What can be wrong. Every error of this package wraps one of these.
var (
	// ErrNotDICOM: neither a DICOM file nor a data set without a header.
	ErrNotDICOM = errors.New("not a DICOM file")
	// ErrTruncated: the file ends before what it announces.
	ErrTruncated = errors.New("the file ends too soon")
	// ErrMalformed: the bytes break the structure of PS3.5 chapter 7 beyond repair.
	ErrMalformed = errors.New("malformed")
	// ErrTooDeep: sequences are nested deeper than MaxDepth.
	ErrTooDeep = errors.New("sequences nested too deep")
	// ErrTooLarge: the header or what it inflates to exceeds MaxMemory or MaxInflated.
	ErrTooLarge = errors.New("too large")
	// ErrSyntax: a transfer syntax that cannot be read or written.
	ErrSyntax = errors.New("transfer syntax not supported")
	// ErrStrict: what the lenient mode would have warned of.
	ErrStrict = errors.New("breaks the standard")
	// ErrAbsent: the element is not there, or has no value.
	ErrAbsent = errors.New("no value")
	// ErrValue: the value is not what its value representation demands.
	ErrValue = errors.New("invalid value")
	// ErrCharset: text that the data set's character set cannot express.
	ErrCharset = errors.New("not in the character set")
	// ErrIncomplete: the file was read with StopAtPixels, so writing it would lose what follows.
	ErrIncomplete = errors.New("read only up to the pixel data")
)

// Error says what is wrong, in which element and where. It holds no value of the file.
type Error struct {
	Err    error  // one of the sentinels above
	Path   Path   // the element, from the outermost sequence inwards; nil for the file as a whole
	Offset int64  // bytes from the start of the file (of the inflated data set, in a deflated file); -1 when built in memory
	Reason string // what is wrong and what would be right
}

// Error is the path, the offset and the reason: "(0008,1140)[2] > (0008,1155) at 1,204: value runs past its sequence".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Path.String())
	if e.Offset >= 0 {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("at " + thousands(e.Offset))
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if e.Reason == "" {
		b.WriteString(e.Err.Error())
	}
	b.WriteString(e.Reason)
	return b.String()
}

// Unwrap gives the sentinel to errors.Is.
func (e *Error) Unwrap() error { return e.Err }

// thousands writes 1204 as "1,204".
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Step is one element on the way to another. Item counts from 1, as the standard does; it is 0 in the
// last step of a path that leads to the element itself.
type Step struct {
	Tag  Tag
	Item int
}

// Path leads from the outermost data set to an element or an item.
type Path []Step

// String is the path as "(0008,1140)[2] > (0008,1155)".
func (p Path) String() string {
	var b []byte
	for i, s := range p {
		if i > 0 {
			b = append(b, " > "...)
		}
		b = s.Tag.Append(b)
		if s.Item > 0 {
			b = append(b, '[')
			b = strconv.AppendInt(b, int64(s.Item), 10)
			b = append(b, ']')
		}
	}
	return string(b)
}
