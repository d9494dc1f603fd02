package deid

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"filmroom/dicom"
)

// segments walks the marker segments of each image from its start to its end. Segments and their headers may
// go on from one fragment to the next.
type segments struct {
	f     *dicom.Fragments
	found stretches
	at    region
	skip  int64 // bytes that stay, before anything else
	rest  int64 // bytes behind those that go
	wave  bool  // the image is JPEG 2000
	buf   [16 << 10]byte
}

// region is where in a stream a walk is.
type region uint8

const (
	outside region = iota // behind an image's end, or before any
	between               // where a marker must stand
	within                // in the image's coded data
)

// textInSegments is what is not the image's own in streams of JPEG, JPEG-LS and JPEG 2000.
func textInSegments(f *dicom.Fragments) (stretches, error) {
	w := &segments{f: f}
	for i := range f.Len() {
		if err := w.walk(i); err != nil {
			return nil, err
		}
		if len(w.found) > mostStretches {
			return nil, fmt.Errorf("%w: its compressed pixels hold more comments than can be blanked", ErrRefused)
		}
	}
	return w.found, nil
}

// walk looks through fragment i.
func (w *segments) walk(i int) error {
	_, base, size := w.f.At(i).Outer()
	var head [24]byte
	n, err := w.peek(i, 0, head[:3])
	if err != nil {
		return err
	}
	switch {
	case begins(head[:n]):
		w.begin(head[1])
	case i == 0 && size > 0:
		return fmt.Errorf("%w: its compressed pixels do not begin as its transfer syntax says", ErrRefused)
	}
	for pos := int64(0); pos < size; {
		step := size - pos
		switch {
		case w.skip > 0:
			step = min(w.skip, step)
			w.skip -= step
		case w.rest > 0:
			step = min(w.rest, step)
			w.rest -= step
			w.found.add(base+pos, base+pos+step)
		case w.at == between:
			if n, err = w.peek(i, pos, head[:]); err != nil {
				return err
			}
			if n == 0 {
				return dicom.ErrTruncated
			}
			w.marker(head[:n])
			step = 0
		default:
			if step, err = w.pass(i, pos, base); err != nil {
				return err
			}
		}
		pos += step
		if len(w.found) > mostStretches {
			return nil
		}
	}
	return nil
}

// begins reports whether a stream starts here: SOI of JPEG, SOC of JPEG 2000, and another marker.
func begins(b []byte) bool {
	return len(b) >= 3 && b[0] == 0xFF && (b[1] == 0xD8 || b[1] == 0x4F) && b[2] == 0xFF
}

func (w *segments) begin(marker byte) {
	w.at, w.skip, w.rest, w.wave = between, 2, 0, marker == 0x4F
}

// pass goes over a stretch of coded data, or of what is no image's, and says how many bytes it was.
func (w *segments) pass(i int, pos, base int64) (int64, error) {
	n, err := w.f.At(i).ReadAt(w.buf[:], pos)
	if n == 0 {
		if err == io.EOF {
			err = dicom.ErrTruncated
		}
		return 0, err
	}
	b := w.buf[:n]
	if w.at == outside {
		if len(bytes.Trim(b, "\x00")) > 0 {
			w.found.add(base+pos, base+pos+int64(n))
		}
		return int64(n), nil
	}
	for at := 0; ; at++ {
		next := bytes.IndexByte(b[at:], 0xFF)
		if next < 0 {
			return int64(n), nil
		}
		var pair [2]byte
		at += next
		if got, err := w.peek(i, pos+int64(at), pair[:]); got < 2 {
			return int64(n), err
		}
		if w.ends(pair[1]) {
			w.at = between
			return int64(at), nil
		}
	}
}

// ends reports whether FF and this byte are a marker in coded data: below are stuffed bits (T.81 section
// B.1.1.5, T.87 annex A, T.800 annex B.10.1), FF is a fill byte, and restarts belong to the data.
func (w *segments) ends(next byte) bool {
	if w.wave {
		return next >= 0x90 && next != 0xFF
	}
	return next >= 0x80 && next != 0xFF && (next < 0xD0 || next > 0xD7)
}

// peek reads from a place in fragment i on, into the ones behind it if need be.
func (w *segments) peek(i int, pos int64, b []byte) (n int, err error) {
	for ; i < w.f.Len() && n < len(b); i, pos = i+1, 0 {
		got, err := w.f.At(i).ReadAt(b[n:], pos)
		if n += got; err != nil && err != io.EOF {
			return n, err
		}
	}
	return n, nil
}

// marker says what becomes of what stands at the start of b, where a marker should be.
func (w *segments) marker(b []byte) {
	if len(b) < 2 || b[0] != 0xFF {
		junk := bytes.IndexByte(b[1:], 0xFF) + 1 // up to what may be a marker
		if junk == 0 {
			junk = len(b)
		}
		w.rest = int64(junk)
		return
	}
	switch marker := b[1]; {
	case marker == 0xFF:
		w.skip = 1 // a fill byte
	case marker == 0xD9: // EOI, EOC
		w.at, w.skip = outside, 2
		if begins(b[2:]) {
			w.begin(b[3])
			w.skip = 4
		}
	case w.wave && (marker == 0x93 || marker == 0x92), !w.wave && marker >= 0xD0 && marker <= 0xD7: // SOD, EPH, RST
		w.at, w.skip = within, 2
	case w.wave && marker >= 0x30 && marker <= 0x3F, !w.wave && (marker == 0xD8 || marker == 0x01):
		w.skip = 2
	default:
		w.segment(b)
	}
}

// segment says how much of the marker segment at the start of b stays: all, or its marker and length and
// what decoders need.
func (w *segments) segment(b []byte) {
	length := int64(0)
	if len(b) >= 4 {
		length = 2 + int64(binary.BigEndian.Uint16(b[2:]))
	}
	if length < 4 {
		w.rest = min(2, int64(len(b))) // no segment at all
		return
	}
	marker, body := b[1], b[4:min(int64(len(b)), length)]
	keep := keptOfJPEG(marker, body, length)
	if w.wave {
		keep = keptOfJPEG2000(marker, length)
	}
	w.skip, w.rest = keep, length-keep
	if w.wave && marker == 0x91 || !w.wave && marker == 0xDA { // SOP, SOS
		w.at = within
	}
}

// keptOfJPEG is how many bytes of a segment of JPEG or JPEG-LS stay.
func keptOfJPEG(marker byte, body []byte, length int64) int64 {
	switch {
	case marker == 0xE0 && bytes.HasPrefix(body, []byte("JFIF\x00")):
		return min(18, length) // without the thumbnail behind it
	case marker == 0xEE && bytes.HasPrefix(body, []byte("Adobe")), marker == 0xE8 && bytes.HasPrefix(body, []byte("mrfx")):
		return min(16, length) // how the colors are meant
	case marker >= 0xC0 && marker <= 0xDF, marker == 0xF7, marker == 0xF8: // frames, scans and tables; those of JPEG-LS
		return length
	}
	return 4
}

// keptOfJPEG2000 is how many bytes of a segment of JPEG 2000 stay.
func keptOfJPEG2000(marker byte, length int64) int64 {
	switch {
	case marker == 0x64: // COM: what kind of text it is stays
		return min(6, length)
	case marker >= 0x50 && marker <= 0x7F, marker == 0x90, marker == 0x91: // sizes, codings, tables; SOT, SOP
		return length
	}
	return 4
}
