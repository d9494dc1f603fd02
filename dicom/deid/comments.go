package deid

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"filmroom/dicom"
	"filmroom/dicom/uid"
)

// Compressed streams have room for text beside the image: comments, the application segments in which cameras
// tell their owner and place, bytes behind the end of an image and between its parts. Decoders need none of
// it, so it is blanked where it stands; no length changes, and offset tables stay right.

// stretch is a range of bytes of a source.
type stretch struct{ from, to int64 }

// mostStretches bounds what is remembered of one image's pixels: a megabyte.
const mostStretches = 1 << 16

// stretches are in order and do not overlap.
type stretches []stretch

func (s *stretches) add(from, to int64) {
	if n := len(*s); n > 0 && (*s)[n-1].to == from {
		(*s)[n-1].to = to
		return
	}
	*s = append(*s, stretch{from, to})
}

// withoutText gives fragments whose text reads as zeros, the same ones if there is none.
func withoutText(syntax string, d *dicom.Dataset, f *dicom.Fragments) (*dicom.Fragments, error) {
	var found stretches
	var err error
	switch {
	case syntax == uid.RLELossless:
		found, err = textInRLE(d, f)
	case hasSegments(syntax):
		found, err = textInSegments(f)
	case isBoxed(syntax, f):
		err = fmt.Errorf("%w: its JPEG XL streams stand in boxes, whose text cannot be searched", ErrRefused)
	}
	if err != nil || len(found) == 0 {
		return f, err
	}
	return f.In(&blanked{source(f), found}), nil
}

// hasSegments reports whether a transfer syntax consists of marker segments (ITU-T T.81 annex B, T.87,
// T.800): all of JPEG, JPEG-LS and JPEG 2000, the retired ones too.
func hasSegments(syntax string) bool {
	n, ok := strings.CutPrefix(syntax, "1.2.840.10008.1.2.4.")
	return ok && (len(n) == 2 && n >= "50" && n <= "93" || len(n) == 3 && n >= "201" && n <= "203")
}

// isBoxed reports whether the first image is JPEG XL within a file format (ISO/IEC 18181-2).
func isBoxed(syntax string, f *dicom.Fragments) bool {
	n, ok := strings.CutPrefix(syntax, "1.2.840.10008.1.2.4.")
	if !ok || n < "110" || n > "112" || f.Len() == 0 {
		return false
	}
	var b [8]byte
	_, _ = f.At(0).ReadAt(b[:], 0) // what cannot be read here cannot be written later
	return string(b[4:]) == "JXL "
}

// blanked reads a source with stretches of it as zeros. They are in order.
type blanked struct {
	src       io.ReaderAt
	stretches stretches
}

func (z *blanked) ReadAt(b []byte, off int64) (int, error) {
	n, err := z.src.ReadAt(b, off)
	i, _ := slices.BinarySearchFunc(z.stretches, off, func(s stretch, off int64) int {
		if s.to <= off {
			return -1
		}
		return 1
	})
	for ; i < len(z.stretches) && z.stretches[i].from < off+int64(n); i++ {
		from, to := max(z.stretches[i].from-off, 0), min(z.stretches[i].to-off, int64(n))
		clear(b[from:to])
	}
	return n, err
}

// soundTable reports whether each entry of a Basic Offset Table points at a fragment. Any other would be
// bytes that nobody has looked at.
func soundTable(f *dicom.Fragments) bool {
	offsets := f.Offsets()
	if len(f.Table)%4 != 0 {
		return false
	}
	at, next := uint64(0), 0
	for _, part := range f.All() {
		for next < len(offsets) && uint64(offsets[next]) == at {
			next++
		}
		at += 8 + uint64(part.Size())
	}
	return next == len(offsets)
}
