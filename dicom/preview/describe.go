package preview

import (
	"fmt"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
)

// description is what the Image Pixel module says of the pixels (PS3.3 section C.7.6.3).
type description struct {
	pixels        *dicom.Element
	rows, columns int
	frames        int
	samples       int // of each pixel: 1 or 3
	allocated     int // bits of a sample's cell
	stored, high  int
	signed        bool
	planar        bool // all of one color, then all of the next
	float         bool
	photometric   string
}

// describe reads the module and refuses what cannot be an image.
func describe(f *dicom.File) (*description, error) {
	ds := f.Dataset
	d := &description{}
	for _, t := range []dicom.Tag{tag.PixelData, tag.FloatPixelData, tag.DoubleFloatPixelData} {
		if e, ok := ds.Get(t); ok && !e.IsEmpty() {
			d.pixels = e
			break
		}
	}
	if d.pixels == nil {
		return nil, fmt.Errorf("%w: the file has no pixel data", ErrNoImage)
	}
	d.rows, d.columns = number(ds, tag.Rows, 0), number(ds, tag.Columns, 0)
	if d.rows < 1 || d.columns < 1 || d.rows > 1<<16 || d.columns > 1<<16 {
		return nil, fmt.Errorf("%w: the file does not say how many rows and columns it has", ErrNoImage)
	}
	d.frames = max(1, number(ds, tag.NumberOfFrames, 1))
	d.samples = number(ds, tag.SamplesPerPixel, 1)
	d.allocated = number(ds, tag.BitsAllocated, 8)
	d.stored = number(ds, tag.BitsStored, d.allocated)
	d.high = number(ds, tag.HighBit, d.stored-1)
	d.signed = number(ds, tag.PixelRepresentation, 0) == 1
	d.planar = number(ds, tag.PlanarConfiguration, 0) == 1
	d.photometric, _ = ds.String(tag.PhotometricInterpretation)
	switch d.pixels.Tag {
	case tag.FloatPixelData:
		d.float, d.allocated, d.stored, d.high = true, 32, 32, 31
	case tag.DoubleFloatPixelData:
		d.float, d.allocated, d.stored, d.high = true, 64, 64, 63
	}
	return d, d.check()
}

// check refuses kinds of images that are not decoded here.
func (d *description) check() error {
	switch {
	case d.float && d.samples == 1:
	case d.allocated != 1 && d.allocated != 8 && d.allocated != 16 && d.allocated != 32,
		d.stored < 1 || d.stored > d.allocated || d.high >= d.allocated || d.high < d.stored-1:
		return fmt.Errorf("%w: %d bits of %d, the highest at %d", ErrUnsupported, d.stored, d.allocated, d.high)
	}
	if d.samples != 1 && d.samples != 3 || d.samples == 3 && d.allocated != 8 && d.allocated != 16 {
		return fmt.Errorf("%w: %d samples a pixel of %d bits", ErrUnsupported, d.samples, d.allocated)
	}
	switch d.photometric {
	case "MONOCHROME1", "MONOCHROME2", "PALETTE COLOR", "":
		if d.samples == 1 {
			return nil
		}
	case "RGB", "YBR_FULL", "YBR_FULL_422", "YBR_PARTIAL_422", "YBR_PARTIAL_420":
		if d.samples == 3 {
			return nil
		}
	}
	return fmt.Errorf("%w: this photometric interpretation with %d samples a pixel", ErrUnsupported, d.samples)
}

// choose turns Middle into a frame's number.
func (d *description) choose(frame int) (int, error) {
	if frame == Middle {
		return d.frames / 2, nil
	}
	if frame < 0 || frame >= d.frames {
		return 0, fmt.Errorf("%w: frame %d of %d", ErrNoImage, frame, d.frames)
	}
	return frame, nil
}

// gray reports whether a pixel is a brightness rather than a color.
func (d *description) gray() bool { return d.samples == 1 && d.photometric != "PALETTE COLOR" }

// frameBytes is the size of a frame in native form.
func (d *description) frameBytes() int64 {
	return (int64(d.rows)*int64(d.columns)*int64(d.cells())*int64(d.allocated) + 7) / 8
}

// cells is how many cells a pixel takes: two pixels share their color in YBR_FULL_422.
func (d *description) cells() int {
	if d.subsampled() {
		return 2
	}
	return d.samples
}

func (d *description) subsampled() bool {
	return d.photometric == "YBR_FULL_422" && d.pixels.Fragments == nil
}

// number is the first value of an integer element, or what to take where there is none.
func number(ds *dicom.Dataset, t dicom.Tag, otherwise int) int {
	n, err := ds.Int(t)
	if err != nil || n != int64(int32(n)) {
		return otherwise
	}
	return int(n)
}

// unsupported names a transfer syntax.
func unsupported(syntax string) error {
	return fmt.Errorf("%w for the transfer syntax %s", ErrUnsupported, uid.Name(syntax))
}
