// Package frame decompresses single frames of encapsulated pixel data (PS3.5 section A.4): RLE, and JPEG of 8 bits in
// sequential Huffman coding, which is JPEG Baseline.
//
// A frame is held whole, compressed and not, MaxBytes of each at most. What is allocated is bounded by the bytes there
// are: a short frame that claims to be a large picture is damaged before it costs anything. Errors wrap one of this
// package's, or come from the source, and hold no value of the file but sizes.
package frame

import (
	"errors"
	"fmt"
	"io"

	"filmroom/dicom"
)

// MaxBytes bounds a frame, before and after decompression.
const MaxBytes = 64 << 20

var (
	// ErrUnsupported: it is coded in a way that is not decoded here.
	ErrUnsupported = errors.New("a coding that is not decoded here")
	// ErrTooLarge: a frame of more than MaxBytes.
	ErrTooLarge = errors.New("a frame of more than 64 MiB")
	// ErrDamaged: a frame that is not what it should be.
	ErrDamaged = errors.New("damaged pixel data")
)

// Join reads fragments from number first to before number end as one piece, into b where its room suffices.
func Join(b []byte, f *dicom.Fragments, first, end int) ([]byte, error) {
	size := int64(0)
	for i := first; i < end; i++ {
		size += f.At(i).Size()
	}
	if size > MaxBytes {
		return nil, ErrTooLarge
	}
	if int64(cap(b)) < size {
		b = make([]byte, size)
	}
	b = b[:size]
	n := int64(0)
	for i := first; i < end; i++ {
		part := f.At(i)
		got, err := part.ReadAt(b[n:n+part.Size()], 0)
		if err != nil && err != io.EOF {
			return nil, err
		}
		if int64(got) < part.Size() {
			return nil, fmt.Errorf("%w: a fragment that its source does not hold to its end", ErrDamaged)
		}
		n += part.Size()
	}
	return b, nil
}
