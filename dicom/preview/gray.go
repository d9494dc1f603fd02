package preview

import (
	"image"
	"math"
	"slices"

	"filmroom/dicom"
	"filmroom/dicom/tag"
)

// renderGray makes brightnesses of stored values: rescaled, windowed, inverted where low means bright.
func (d *description) renderGray(ds *dicom.Dataset, rows raster, frame, width, height int) (image.Image, error) {
	s, err := d.shrink(rows, width, height, 1, nil, d.padding(ds))
	if err != nil {
		return nil, err
	}
	groups := functionalGroups(ds, frame)
	slope, intercept := rescale(groups)
	for i := range s.values {
		s.values[i] = s.values[i]*float32(slope) + float32(intercept)
	}
	w := d.chooseWindow(groups, s)
	inverse := d.photometric == "MONOCHROME1"
	if shape, _ := ds.String(tag.PresentationLUTShape); shape == "INVERSE" {
		inverse = true
	}
	img := image.NewGray(image.Rect(0, 0, width, height))
	for i, v := range s.values {
		if !s.seen[i] {
			continue // padding is black either way
		}
		b := w.apply(float64(v))
		if inverse {
			b = 255 - b
		}
		img.Pix[i] = b
	}
	return img, nil
}

// padding tells the values that are none: those that Pixel Padding Value and Range Limit state (PS3.3
// section C.7.5.1.1.2), and what is no number.
func (d *description) padding(ds *dicom.Dataset) func(float32) bool {
	from, err := ds.Float(tag.PixelPaddingValue)
	if err != nil || d.float {
		return func(v float32) bool { return v-v != 0 }
	}
	to, err := ds.Float(tag.PixelPaddingRangeLimit)
	if err != nil {
		to = from
	}
	low, high := d.stored16(min(from, to)), d.stored16(max(from, to))
	return func(v float32) bool { return v >= low && v <= high }
}

// stored16 reads a padding value as the pixels are: some writers store a negative one as unsigned.
func (d *description) stored16(v float64) float32 {
	if d.signed && v > float64(int64(1)<<(d.stored-1)-1) {
		v -= float64(int64(1) << d.allocated)
	}
	return float32(v)
}

// functionalGroups are the data sets that may speak for a frame, the nearest first: its own functional
// groups, the shared ones, the image's data set (PS3.3 section C.7.6.16).
func functionalGroups(ds *dicom.Dataset, frame int) []*dicom.Dataset {
	var groups []*dicom.Dataset
	if items := ds.Items(tag.PerFrameFunctionalGroupsSequence); frame < len(items) {
		groups = append(groups, items[frame])
	}
	if items := ds.Items(tag.SharedFunctionalGroupsSequence); len(items) > 0 {
		groups = append(groups, items[0])
	}
	return append(groups, ds)
}

// inGroups is the first data set that holds t: a group's macro, or the image itself; nil if none does.
func inGroups(groups []*dicom.Dataset, macro, t dicom.Tag) *dicom.Dataset {
	for _, g := range groups {
		if items := g.Items(macro); len(items) > 0 && items[0].Has(t) {
			return items[0]
		}
		if g.Has(t) {
			return g
		}
	}
	return nil
}

// rescale is the Modality LUT's line (PS3.3 section C.11.1): 1 and 0 where there is none.
func rescale(groups []*dicom.Dataset) (slope, intercept float64) {
	ds := inGroups(groups, tag.PixelValueTransformationSequence, tag.RescaleSlope)
	if ds == nil {
		return 1, 0
	}
	slope, err1 := ds.Float(tag.RescaleSlope)
	intercept, err2 := ds.Float(tag.RescaleIntercept)
	if err1 != nil || err2 != nil || slope == 0 || !finite(slope) || !finite(intercept) {
		return 1, 0
	}
	return slope, intercept
}

// window maps values to brightness (PS3.3 section C.11.2.1.2).
type window struct {
	center, width float64
	function      string
}

// chooseWindow is the file's first window if it shows anything of the image, else one that leaves out
// the darkest and the brightest hundredth.
func (d *description) chooseWindow(groups []*dicom.Dataset, s *shrunk) window {
	var values []float32
	for i, v := range s.values {
		if s.seen[i] {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return window{center: 0, width: 1}
	}
	slices.Sort(values)
	low, high := float64(values[len(values)/100]), float64(values[len(values)-1-len(values)/100])
	if w, ok := statedWindow(groups); ok && !groups[len(groups)-1].Has(tag.ModalityLUTSequence) {
		first, last := w.apply(float64(values[0])), w.apply(float64(values[len(values)-1]))
		if first != last || low == high {
			return w
		}
	}
	if low == high {
		low, high = float64(values[0]), float64(values[len(values)-1])
	}
	return window{center: (low + high) / 2, width: max(high-low, math.SmallestNonzeroFloat32), function: "LINEAR_EXACT"}
}

// statedWindow is the first window that the file states.
func statedWindow(groups []*dicom.Dataset) (w window, ok bool) {
	ds := inGroups(groups, tag.FrameVOILUTSequence, tag.WindowCenter)
	if ds == nil {
		return w, false
	}
	center, err1 := ds.Float(tag.WindowCenter)
	width, err2 := ds.Float(tag.WindowWidth)
	w = window{center: center, width: width}
	w.function, _ = ds.String(tag.VOILUTFunction)
	return w, err1 == nil && err2 == nil && finite(center) && finite(width) && width > 0 && width < 1e12
}

// apply is the brightness of a value.
func (w window) apply(v float64) uint8 {
	center, width := w.center, w.width
	switch w.function {
	case "SIGMOID":
		return brightness(1 / (1 + math.Exp(-4*(v-center)/width)))
	case "LINEAR_EXACT":
	default: // LINEAR counts both ends
		center, width = center-0.5, max(width-1, 1e-6)
	}
	return brightness((v-center)/width + 0.5)
}

// brightness rounds a share of full brightness.
func brightness(share float64) uint8 {
	return uint8(min(max(share, 0), 1)*255 + 0.5)
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
