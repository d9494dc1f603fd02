package deid

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"

	"filmroom/dicom"
	"filmroom/dicom/frame"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
)

// Paintable reports whether rectangles can be blacked out in pixels of a transfer syntax: native ones, RLE Lossless and
// JPEG Baseline. Of the latter two native ones are made.
func Paintable(syntax string) bool {
	return !dicom.IsEncapsulated(syntax) || syntax == uid.RLELossless || syntax == uid.JPEGBaseline
}

// decoding reads compressed pixels as native ones (PS3.5 section 8.1), little endian, the samples of a pixel beside each
// other. It holds one frame, the last that was asked for, so that memory is bounded by a frame and each is decoded once
// by who reads in order.
type decoding struct {
	form
	fragments *dicom.Fragments
	starts    []int // the number of each frame's first fragment

	compressed, native []byte
	held               int // the number of the frame in native, -1 for none
}

// newDecoding refuses pixels that are not what the file says of them. The first frame is decoded at once, to find out
// before anything is written.
func newDecoding(syntax string, d *dicom.Dataset, e *dicom.Element) (*decoding, error) {
	if syntax != uid.RLELossless && syntax != uid.JPEGBaseline || e.Tag != tag.PixelData {
		return nil, fmt.Errorf("%w: rectangles cannot be blacked out in pixels compressed as %s, only in native ones, RLE Lossless and JPEG Baseline", ErrRefused, nameOf(syntax))
	}
	form, err := formOf(d, syntax)
	if err != nil {
		return nil, err
	}
	starts, err := startsOf(d, e.Fragments, form.jpeg)
	if err != nil {
		return nil, err
	}
	if int64(len(starts)) != form.frames {
		return nil, fmt.Errorf("%w: its compressed pixels are %d frames, and it says that there are %d", ErrRefused, len(starts), form.frames)
	}
	k := &decoding{form: form, fragments: e.Fragments, starts: starts, held: -1}
	return k, k.hold(0)
}

// nameOf names a transfer syntax of the standard. Any other is what somebody wrote.
func nameOf(syntax string) string {
	if _, ok := uid.Lookup(syntax); !ok {
		return "an unknown transfer syntax"
	}
	return uid.Name(syntax)
}

func (k *decoding) ReadAt(b []byte, off int64) (n int, err error) {
	size := k.frameBytes()
	for n < len(b) {
		at := off + int64(n)
		if at/size >= k.frames {
			return n, io.EOF
		}
		if err := k.hold(int(at / size)); err != nil {
			return n, err
		}
		n += copy(b[n:], k.native[at%size:])
	}
	return n, nil
}

// hold decodes a frame, unless it is the one that is held.
func (k *decoding) hold(number int) (err error) {
	if number == k.held {
		return nil
	}
	k.held = -1
	end := k.fragments.Len()
	if number+1 < len(k.starts) {
		end = k.starts[number+1]
	}
	if k.compressed, err = frame.Join(k.compressed, k.fragments, k.starts[number], end); err == nil {
		err = k.decode()
	}
	switch {
	case errors.Is(err, frame.ErrDamaged), errors.Is(err, frame.ErrTooLarge), errors.Is(err, frame.ErrUnsupported):
		return fmt.Errorf("%w: frame %d of %d: %w", ErrRefused, number+1, k.frames, err)
	case err != nil:
		return err
	}
	k.held = number
	return nil
}

func (k *decoding) decode() error {
	if k.jpeg {
		return k.decodeJPEG()
	}
	if err := frame.RLEFits(k.frameBytes(), len(k.compressed)); err != nil {
		return err
	}
	return frame.RLE(k.room(), k.compressed, int(k.samples), int(k.cell))
}

// room is where a frame is decoded to. There is none before a frame has shown that it can be as large as it says.
func (k *decoding) room() []byte {
	if k.native == nil {
		k.native = make([]byte, k.frameBytes())
	}
	return k.native
}

func (k *decoding) decodeJPEG() error {
	img, ycc, err := frame.JPEG(k.compressed, int(k.columns), int(k.rows))
	if err != nil {
		return err
	}
	switch img := img.(type) {
	case *image.Gray:
		if k.samples == 1 {
			k.copyGray(img)
			return nil
		}
	case *image.YCbCr:
		if k.samples == 3 {
			k.copyYCbCr(img, k.photometric == "RGB" && !ycc)
			return nil
		}
	case *image.RGBA:
		if k.samples == 3 {
			k.copyRGBA(img)
			return nil
		}
	}
	return fmt.Errorf("%w: a JPEG frame with another number of colors than the file says", frame.ErrDamaged)
}

func (k *decoding) copyGray(img *image.Gray) {
	out := k.room()
	for y := range int(k.rows) {
		n := copy(out, img.Pix[y*img.Stride:][:k.columns])
		out = out[n:]
	}
}

// copyYCbCr makes RGB (PS3.3 section C.7.6.3.1.2), unless the three components are that already.
func (k *decoding) copyYCbCr(img *image.YCbCr, asItIs bool) {
	out := k.room()
	for y := range int(k.rows) {
		for x := range int(k.columns) {
			i, j := img.YOffset(x, y), img.COffset(x, y)
			r, g, b := img.Y[i], img.Cb[j], img.Cr[j]
			if !asItIs {
				r, g, b = color.YCbCrToRGB(r, g, b)
			}
			out[0], out[1], out[2] = r, g, b
			out = out[3:]
		}
	}
}

func (k *decoding) copyRGBA(img *image.RGBA) {
	out := k.room()
	for y := range int(k.rows) {
		line := img.Pix[y*img.Stride:][:4*k.columns]
		for ; len(line) > 0; line, out = line[4:], out[3:] {
			copy(out, line[:3])
		}
	}
}

// ratio is how much longer the pixels are than they were, in hundredths.
func (k *decoding) ratio() float64 {
	size := int64(0)
	for _, part := range k.fragments.All() {
		size += part.Size()
	}
	return math.Round(100*float64(k.frames*k.frameBytes())/float64(max(size, 1))) / 100
}
