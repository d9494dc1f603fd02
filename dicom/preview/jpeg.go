package preview

import (
	"errors"
	"fmt"
	"image"

	"filmroom/dicom/frame"
)

// jpeg decodes JPEG baseline, and extended as far as it has 8 bits (PS3.5 section A.4.1).
func (d *description) jpeg(b []byte, syntax string) (raster, error) {
	img, ycc, err := frame.JPEG(b, d.columns, d.rows)
	switch {
	case errors.Is(err, frame.ErrUnsupported):
		return nil, unsupported(syntax)
	case err != nil:
		return nil, err
	}
	switch img := img.(type) {
	case *image.Gray:
		if d.samples == 1 {
			return grayImage{img}, nil
		}
	case *image.YCbCr:
		if d.samples == 3 {
			return d.colorImage(img, ycc), nil
		}
	case *image.RGBA:
		if d.samples == 3 {
			d.photometric = "RGB" // its own header says so
			return rgbaImage{img}, nil
		}
	}
	return nil, fmt.Errorf("%w: a JPEG frame with another number of colors than the file says", ErrDamaged)
}

// colorImage: the three components are RGB if the file says so and the JPEG stream does not say that they are
// YCbCr.
func (d *description) colorImage(img *image.YCbCr, ycc bool) raster {
	if d.photometric == "RGB" && ycc {
		d.photometric = "YBR_FULL"
	}
	return ycbcrImage{img}
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
