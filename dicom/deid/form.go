package deid

import (
	"fmt"
	"math"

	"filmroom/dicom"
	"filmroom/dicom/frame"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// form is how the pixels of a decoded image lie (PS3.3 section C.7.6.3).
type form struct {
	jpeg          bool
	rows, columns int64
	frames        int64
	samples       int64 // of a pixel: 1 or 3
	cell          int64 // bytes of a sample
	photometric   string
}

func (f *form) frameBytes() int64 { return f.rows * f.columns * f.samples * f.cell }

// formOf reads what the file says and refuses what cannot be decoded, or written down as native pixels.
func formOf(d *dicom.Dataset, syntax string) (form, error) {
	f := form{jpeg: syntax == uid.JPEGBaseline, samples: positive(d, tag.SamplesPerPixel), frames: 1, cell: 1}
	rows, columns, ok := sizeOf(d)
	if !ok {
		return f, fmt.Errorf("%w: it does not say how many pixels it has: want Rows and Columns", ErrRefused)
	}
	f.rows, f.columns = rows, columns
	if d.Has(tag.NumberOfFrames) {
		n, err := only(d, tag.NumberOfFrames)
		if err != nil || n < 1 || n > math.MaxInt32 {
			return f, fmt.Errorf("%w: it does not say how many frames it has: want Number of Frames from 1", ErrRefused)
		}
		f.frames = n
	}
	f.photometric, _ = d.String(tag.PhotometricInterpretation)
	if !f.known() {
		return f, fmt.Errorf("%w: rectangles cannot be blacked out in compressed pixels of this Photometric Interpretation and Samples per Pixel", ErrRefused)
	}
	return f, f.measure(d)
}

// known reports whether it is certain what the samples of a pixel are.
func (f *form) known() bool {
	switch f.photometric {
	case "MONOCHROME1", "MONOCHROME2", "PALETTE COLOR":
		return f.samples == 1
	case "RGB", "YBR_FULL":
		return f.samples == 3
	case "YBR_FULL_422":
		return f.samples == 3 && f.jpeg
	}
	return false
}

// measure sets how large cells are, and holds all frames against what an element can hold (PS3.5 section 7.1.1).
func (f *form) measure(d *dicom.Dataset) error {
	if !f.jpeg {
		allocated, err1 := only(d, tag.BitsAllocated)
		stored, err2 := only(d, tag.BitsStored)
		high, err3 := only(d, tag.HighBit)
		sound := err1 == nil && err2 == nil && err3 == nil && stored >= 1 && stored <= allocated && high < allocated && high >= stored-1
		if !sound || allocated != 8 && allocated != 16 && allocated != 32 || f.samples == 3 && allocated == 32 {
			return fmt.Errorf("%w: rectangles cannot be blacked out in compressed pixels of these Bits Allocated, Bits Stored and High Bit", ErrRefused)
		}
		f.cell = allocated / 8
	}
	if f.frameBytes() > frame.MaxBytes {
		return fmt.Errorf("%w: to black out rectangles it must be decompressed, and it has %w", ErrRefused, frame.ErrTooLarge)
	}
	if f.frames > (math.MaxUint32-1)/f.frameBytes() {
		return fmt.Errorf("%w: to black out rectangles it must be decompressed, and takes more than 4 GiB then", ErrRefused)
	}
	return nil
}

// elements are those that describe the decoded pixels where the compressed ones may have been described otherwise.
func (f *form) elements() []*dicom.Element {
	var all []*dicom.Element
	if f.samples == 3 {
		all = append(all, dicom.Ints(tag.PlanarConfiguration, 0))
	}
	if !f.jpeg {
		return all
	}
	if f.samples == 3 {
		all = append(all, dicom.Text(tag.PhotometricInterpretation, "RGB"))
	}
	return append(all, dicom.Ints(tag.BitsAllocated, 8), dicom.Ints(tag.BitsStored, 8), dicom.Ints(tag.HighBit, 7))
}

// like describes the decoded pixels alone.
func (f *form) like(d *dicom.Dataset) *dicom.Dataset {
	like := dicom.NewDataset()
	for _, t := range []tag.Tag{tag.SamplesPerPixel, tag.PhotometricInterpretation, tag.Rows, tag.Columns, tag.BitsAllocated, tag.BitsStored, tag.PixelRepresentation} {
		if e, ok := d.Get(t); ok {
			like.Set(e)
		}
	}
	for _, e := range f.elements() {
		like.Set(e)
	}
	return like
}

// vr of native pixels (PS3.5 section A.2).
func (f *form) vr() vr.VR {
	if f.cell == 1 {
		return vr.OB
	}
	return vr.OW
}

// asNative describes an image whose pixels were decoded: the transfer syntax, how they lie, that there was loss, no
// offset tables.
func (p *pass) asNative(src *dicom.Dataset, out *dicom.File) {
	out.TransferSyntax = uid.ExplicitLE
	p.path = append(p.path[:0], dicom.Step{})
	for _, e := range p.decoded.elements() {
		p.describe(src, out.Dataset, e)
	}
	for _, t := range offsetTables {
		if e, ok := src.Get(t); ok && out.Dataset.Remove(t) {
			p.path[0] = dicom.Step{Tag: t}
			p.note(src, e, Removed, out.Dataset, nil)
		}
	}
	if p.decoded.jpeg {
		p.lossy(src, out.Dataset)
	}
	p.path = p.path[:0]
}

var offsetTables = []tag.Tag{tag.ExtendedOffsetTable, tag.ExtendedOffsetTableLengths}

// describe sets an element of the decoded pixels.
func (p *pass) describe(src, out *dicom.Dataset, e *dicom.Element) {
	before, ok := out.Get(e.Tag)
	if ok && before.VR == e.VR && string(trim(before.Value)) == string(trim(e.Value)) {
		return
	}
	out.Set(e)
	p.path[0] = dicom.Step{Tag: e.Tag}
	action := Replaced
	if !ok {
		action = Added
	}
	p.note(src, before, action, out, e)
}

// lossy marks what came out of JPEG (PS3.3 section C.7.6.1.1.5). What the file says of method and ratio stays.
func (p *pass) lossy(src, out *dicom.Dataset) {
	p.describe(src, out, dicom.Text(tag.LossyImageCompression, "01"))
	if out.Has(tag.LossyImageCompressionMethod) {
		return
	}
	p.describe(src, out, dicom.Text(tag.LossyImageCompressionMethod, "ISO_10918_1"))
	if !out.Has(tag.LossyImageCompressionRatio) {
		p.describe(src, out, dicom.Floats(tag.LossyImageCompressionRatio, p.decoded.ratio()))
	}
}
