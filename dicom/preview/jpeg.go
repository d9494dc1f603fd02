package preview

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
)

// jpeg decodes JPEG baseline, and extended as far as it has 8 bits (PS3.5 section A.4.1).
func (d *description) jpeg(b []byte, syntax string) (raster, error) {
	head, ok := jpegHead(b)
	if !ok {
		return nil, fmt.Errorf("%w: a JPEG frame without a frame header", ErrDamaged)
	}
	if head.marker > 0xC1 || head.precision != 8 {
		return nil, unsupported(syntax)
	}
	if head.width != d.columns || head.height != d.rows {
		return nil, fmt.Errorf("%w: a JPEG frame of %d by %d, the file says %d by %d", ErrDamaged, head.width, head.height, d.columns, d.rows)
	}
	switch pixels := int64(head.width) * int64(head.height); {
	case pixels*3 > maxFrame:
		return nil, ErrTooLarge
	case pixels > mostJPEG*int64(len(b)):
		return nil, fmt.Errorf("%w: a JPEG frame of %d bytes cannot hold %d pixels", ErrDamaged, len(b), pixels)
	}
	img, err := jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%w: a JPEG frame that cannot be decoded", ErrDamaged)
	}
	switch img := img.(type) {
	case *image.Gray:
		if d.samples == 1 {
			return grayImage{img}, nil
		}
	case *image.YCbCr:
		if d.samples == 3 {
			return d.colorImage(img, head.jfif), nil
		}
	case *image.RGBA:
		if d.samples == 3 {
			d.photometric = "RGB" // its own header says so
			return rgbaImage{img}, nil
		}
	}
	return nil, fmt.Errorf("%w: a JPEG frame with another number of colors than the file says", ErrDamaged)
}

// colorImage: the three components are RGB if the file says so and the JPEG stream does not say that it
// is JFIF, whose components are always YCbCr.
func (d *description) colorImage(img *image.YCbCr, jfif bool) raster {
	if d.photometric == "RGB" && jfif {
		d.photometric = "YBR_FULL"
	}
	return ycbcrImage{img}
}

// mostJPEG is how many pixels one compressed byte can stand for: a block of 64 takes two bits at least.
const mostJPEG = 256

type jpegHeader struct {
	marker        byte // SOF0 to SOF15: how it is coded
	precision     byte
	width, height int
	jfif          bool
}

// jpegHead walks a stream's marker segments to its frame header (ITU-T T.81 section B.2).
func jpegHead(b []byte) (h jpegHeader, ok bool) {
	if len(b) < 4 || b[0] != 0xFF || b[1] != 0xD8 {
		return h, false
	}
	for b = b[2:]; len(b) >= 4 && b[0] == 0xFF; {
		if b[1] == 0xFF { // fill byte
			b = b[1:]
			continue
		}
		marker, length := b[1], int(b[2])<<8|int(b[3])
		if length < 2 || length+2 > len(b) {
			return h, false
		}
		body := b[4 : length+2]
		switch {
		case marker == 0xE0 && bytes.HasPrefix(body, []byte("JFIF\x00")):
			h.jfif = true
		case marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC && len(body) >= 6:
			h.marker, h.precision = marker, body[0]
			h.height, h.width = int(body[1])<<8|int(body[2]), int(body[3])<<8|int(body[4])
			return h, true
		}
		b = b[length+2:]
	}
	return h, false
}

type grayImage struct{ img *image.Gray }

func (g grayImage) row(y int, dst []float32) error {
	for x, v := range g.img.Pix[y*g.img.Stride:][:len(dst)] {
		dst[x] = float32(v)
	}
	return nil
}

// ycbcrImage gives the three components as they are, which need not be YCbCr.
type ycbcrImage struct{ img *image.YCbCr }

func (c ycbcrImage) row(y int, dst []float32) error {
	for x := range len(dst) / 3 {
		i, j := c.img.YOffset(x, y), c.img.COffset(x, y)
		dst[3*x], dst[3*x+1], dst[3*x+2] = float32(c.img.Y[i]), float32(c.img.Cb[j]), float32(c.img.Cr[j])
	}
	return nil
}

type rgbaImage struct{ img *image.RGBA }

func (c rgbaImage) row(y int, dst []float32) error {
	for x := range len(dst) / 3 {
		p := c.img.Pix[y*c.img.Stride+4*x:]
		dst[3*x], dst[3*x+1], dst[3*x+2] = float32(p[0]), float32(p[1]), float32(p[2])
	}
	return nil
}
