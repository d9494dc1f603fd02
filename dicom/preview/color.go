package preview

import (
	"encoding/binary"
	"fmt"
	"image"

	"filmroom/dicom"
	"filmroom/dicom/tag"
)

// renderColor makes a picture of an RGB, YBR or palette image.
func (d *description) renderColor(ds *dicom.Dataset, rows raster, width, height int) (image.Image, error) {
	var convert func([]float32) []float32
	scale := float32(1)
	if d.samples == 1 {
		p, err := d.palette(ds)
		if err != nil {
			return nil, err
		}
		convert = p.look
	} else if d.stored != 8 {
		scale = 255 / float32(uint32(1)<<d.stored-1)
	}
	s, err := d.shrink(rows, width, height, 3, convert, nil)
	if err != nil {
		return nil, err
	}
	toRGB := conversion(d.photometric)
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		v := s.values[3*i : 3*i+3]
		r, g, b := toRGB(v[0]*scale, v[1]*scale, v[2]*scale)
		img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], img.Pix[4*i+3] = clamp(r), clamp(g), clamp(b), 255
	}
	return img, nil
}

func clamp(v float32) uint8 { return uint8(min(max(v, 0), 255) + 0.5) }

// conversion makes RGB of a photometric interpretation's three values (PS3.3 section C.7.6.3.1.2).
func conversion(photometric string) func(a, b, c float32) (float32, float32, float32) {
	switch photometric {
	case "YBR_FULL", "YBR_FULL_422":
		return func(y, cb, cr float32) (float32, float32, float32) {
			cb, cr = cb-128, cr-128
			return y + 1.402*cr, y - 0.344136*cb - 0.714136*cr, y + 1.772*cb
		}
	case "YBR_PARTIAL_422", "YBR_PARTIAL_420": // black at 16, white at 235
		return func(y, cb, cr float32) (float32, float32, float32) {
			y, cb, cr = 1.164384*(y-16), cb-128, cr-128
			return y + 1.596027*cr, y - 0.391762*cb - 0.812968*cr, y + 2.017232*cb
		}
	}
	return func(r, g, b float32) (float32, float32, float32) { return r, g, b }
}

// palette maps a stored value to a color (PS3.3 section C.7.6.3.1.5 and C.7.6.3.1.6).
type palette struct {
	first  int // the stored value of the first entry
	colors [][3]float32
	line   []float32
}

// palette reads the three tables.
func (d *description) palette(ds *dicom.Dataset) (*palette, error) {
	p := &palette{line: make([]float32, 3*d.columns)}
	for channel := range 3 {
		next := dicom.Tag(channel)
		if !ds.Has(tag.RedPaletteColorLookupTableData + next) {
			return nil, fmt.Errorf("%w: a palette that is segmented or absent", ErrUnsupported)
		}
		values, first, err := table(ds, tag.RedPaletteColorLookupTableDescriptor+next, tag.RedPaletteColorLookupTableData+next)
		if err != nil {
			return nil, err
		}
		if channel == 0 {
			p.colors, p.first = make([][3]float32, len(values)), first
		}
		for i := range min(len(values), len(p.colors)) {
			p.colors[i][channel] = values[i]
		}
	}
	return p, nil
}

// table reads one color's table as values from 0 to 255.
func table(ds *dicom.Dataset, descriptor, data dicom.Tag) (values []float32, first int, err error) {
	damaged := fmt.Errorf("%w: a palette that does not fit its description", ErrDamaged)
	n, err := ds.Ints(descriptor)
	if err != nil || len(n) != 3 {
		return nil, 0, damaged
	}
	count := int(uint16(n[0]))
	if count == 0 {
		count = 1 << 16
	}
	e, _ := ds.Get(data)
	b, err := e.Bytes(1 << 18)
	if err != nil {
		return nil, 0, damaged
	}
	values = make([]float32, count)
	switch {
	case len(b) >= 2*count:
		wordTable(values, b)
	case len(b) >= count && n[2] <= 8:
		for i := range values {
			values[i] = float32(b[i])
		}
	default:
		return nil, 0, damaged
	}
	return values, int(n[1]), nil
}

// wordTable reads entries of 16 bits. Some writers say 16 bits and use the lower 8 only: then no entry
// has a higher one.
func wordTable(values []float32, b []byte) {
	largest := uint16(0)
	for i := range values {
		largest = max(largest, binary.LittleEndian.Uint16(b[2*i:]))
	}
	for i := range values {
		v := binary.LittleEndian.Uint16(b[2*i:])
		if largest > 255 {
			v >>= 8
		}
		values[i] = float32(v)
	}
}

// look turns a row of stored values into colors. Values outside the table take its first or last entry.
func (p *palette) look(row []float32) []float32 {
	for i, v := range row {
		entry := min(max(int(v)-p.first, 0), len(p.colors)-1)
		copy(p.line[3*i:], p.colors[entry][:])
	}
	return p.line
}
