package deid

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"

	"filmroom/dicom"
	"filmroom/dicom/uid"
)

// JPEG and JPEG 2000 streams have room for text beside the image: comments, and the application segments
// in which cameras tell their owner and place. Decoders need none of it, so it is blanked where it stands;
// no length changes, and offset tables stay right.

// stretch is a range of bytes of a source.
type stretch struct{ from, to int64 }

// commented reports whether a transfer syntax consists of marker segments (ITU-T T.81 annex B, T.87, T.800).
func commented(syntax string) bool {
	switch syntax {
	case uid.JPEGBaseline, uid.JPEGExtended, uid.JPEGLossless, uid.JPEGLosslessSV1, uid.JPEGLSLossless, uid.JPEGLSNearLossless,
		uid.JPEG2000Lossless, uid.JPEG2000, "1.2.840.10008.1.2.4.92", "1.2.840.10008.1.2.4.93",
		"1.2.840.10008.1.2.4.201", "1.2.840.10008.1.2.4.202", "1.2.840.10008.1.2.4.203":
		return true
	}
	return false
}

// withoutComments gives fragments whose comments read as zeros, the same ones if there is no comment.
func withoutComments(f *dicom.Fragments) (*dicom.Fragments, error) {
	var comments []stretch
	w := &segments{f: f}
	for i := range f.Len() {
		if err := w.walk(i, &comments); err != nil {
			return nil, err
		}
	}
	if len(comments) == 0 {
		return f, nil
	}
	return f.In(&blanked{source(f), comments}), nil
}

// segments walks the marker segments at the start of each frame. They and their headers may go on from
// one fragment to the next.
type segments struct {
	f    *dicom.Fragments
	open bool  // a frame's segments go on
	skip int64 // bytes that stay, before the next comment or header
	rest int64 // bytes of a comment behind those
}

// walk adds the comments in fragment i.
func (w *segments) walk(i int, comments *[]stretch) error {
	_, base, size := w.f.At(i).Outer()
	var head [24]byte
	n, err := w.peek(i, 0, head[:2])
	if err != nil {
		return err
	}
	if n == 2 && begins(head[:]) {
		w.open, w.skip, w.rest = true, 2, 0
	}
	for pos := int64(0); w.open && pos < size; {
		switch {
		case w.skip > 0:
			step := min(w.skip, size-pos)
			w.skip, pos = w.skip-step, pos+step
		case w.rest > 0:
			step := min(w.rest, size-pos)
			*comments = append(*comments, stretch{base + pos, base + pos + step})
			w.rest, pos = w.rest-step, pos+step
		default:
			if n, err = w.peek(i, pos, head[:]); err != nil {
				return err
			}
			length, keep := segment(head[:n])
			w.open, w.skip, w.rest = length > 0, keep, length-keep
		}
	}
	return nil
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

// begins reports whether a stream starts here: SOI of JPEG, SOC of JPEG 2000.
func begins(b []byte) bool { return b[0] == 0xFF && (b[1] == 0xD8 || b[1] == 0x4F) }

// segment says how long the marker segment at the start of b is, 0 if the image's data begins, and how
// much of it stays: all, or its marker and length.
func segment(b []byte) (length, keep int64) {
	if len(b) < 4 {
		return 0, 0
	}
	marker := b[1]
	if b[0] != 0xFF || marker == 0xDA || marker == 0x90 || marker == 0xD9 { // SOS, SOT, EOI
		return 0, 0
	}
	if marker == 0xFF { // fill byte
		return 1, 1
	}
	if length = 2 + int64(binary.BigEndian.Uint16(b[2:])); length < 4 {
		return 0, 0
	}
	body := b[4:min(int64(len(b)), length)]
	switch {
	case marker == 0xFE: // COM of JPEG
		return length, 4
	case marker == 0x64: // COM of JPEG 2000: what kind of text it is stays
		return length, min(6, length)
	case marker < 0xE0 || marker > 0xEF:
		return length, length
	case marker == 0xE0 && bytes.HasPrefix(body, []byte("JFIF\x00")):
		return length, min(18, length) // without the thumbnail behind it
	case marker == 0xEE && bytes.HasPrefix(body, []byte("Adobe")), marker == 0xE8 && bytes.HasPrefix(body, []byte("mrfx")):
		return length, length // how the colors are meant
	}
	return length, 4
}

// blanked reads a source with stretches of it as zeros. They are in order.
type blanked struct {
	src       io.ReaderAt
	stretches []stretch
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
