// Package preview makes small pictures of DICOM images, for people who look for a series in a list. It
// is no viewer: nothing may be diagnosed from what it makes.
//
// # What it reads
//
// Grayscale of 1 to 32 bits, signed or not, and floating point; RGB, YBR and palette color; one frame or
// many. Native pixel data of any transfer syntax, RLE, deflated frames, and JPEG of 8 bits in sequential
// Huffman coding. Everything else is ErrUnsupported, with the syntax named.
//
// # Bounds
//
// A picture has at most MaxLimit pixels a side. Native pixel data is read row by row; a frame that must
// be decompressed first may take 64 MiB, else it is ErrTooLarge. A huge image is sampled, so that the
// time depends on the size of the picture.
package preview

import (
	"bytes"
	"errors"
	"image"
	"image/png"

	"filmroom/dicom"
	"filmroom/dicom/frame"
)

// What keeps a picture from being made.
var (
	// ErrNoImage: the file has no pixels, or does not say how large the image is.
	ErrNoImage = errors.New("no image")
	// ErrUnsupported: a transfer syntax or a kind of image that is not decoded here.
	ErrUnsupported = errors.New("no preview")
	// ErrTooLarge: a frame that would take more than 64 MiB to decompress.
	ErrTooLarge = frame.ErrTooLarge
	// ErrDamaged: the pixels are not what the file says they are.
	ErrDamaged = frame.ErrDamaged
)

const (
	// DefaultSide is the longer side of a picture, in pixels, unless Options say otherwise.
	DefaultSide = 512
	// MaxLimit is the longest side that can be asked for.
	MaxLimit = 2048
	// Middle stands for the frame in the middle.
	Middle = -1
)

// Options choose what is shown. The zero value is the first frame at DefaultSide.
type Options struct {
	Frame   int // from 0, or Middle
	MaxSide int // pixels; 0 is DefaultSide; a smaller image is not enlarged
}

// Render makes a picture of one frame: an *image.Gray, or an *image.RGBA for color. The error wraps one
// of this package's and holds no value of the file.
func Render(f *dicom.File, o Options) (image.Image, error) {
	d, err := describe(f)
	if err != nil {
		return nil, err
	}
	frame, err := d.choose(o.Frame)
	if err != nil {
		return nil, err
	}
	rows, err := d.open(f, frame)
	if err != nil {
		return nil, err
	}
	side := o.MaxSide
	if side <= 0 {
		side = DefaultSide
	}
	width, height := fit(d.columns, d.rows, min(side, MaxLimit))
	if d.gray() {
		return d.renderGray(f.Dataset, rows, frame, width, height)
	}
	return d.renderColor(f.Dataset, rows, width, height)
}

// PNG is Render as the bytes of a PNG file.
func PNG(f *dicom.File, o Options) ([]byte, error) {
	img, err := Render(f, o)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&b, img); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// fit is the size of the picture: the longer side at most limit, the other in proportion.
func fit(width, height, limit int) (w, h int) {
	if width <= limit && height <= limit {
		return width, height
	}
	if width >= height {
		return limit, max(1, height*limit/width)
	}
	return max(1, width*limit/height), limit
}
