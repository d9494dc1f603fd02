package preview

// shrunk is a frame at the size of the picture: the mean of each pixel's share of the image.
type shrunk struct {
	width, height, channels int
	values                  []float32
	seen                    []bool // false where nothing but padding was there
}

// most is how many rows and columns of an image at most are looked at for one of the picture's: more
// cost time and change nothing that can be seen.
const most = 8

// shrink averages a frame. convert, which may be nil, turns a row's samples into as many pixels of
// channels values. padding, which may be nil, tells single-channel values to leave out.
func (d *description) shrink(rows raster, width, height, channels int, convert func([]float32) []float32, padding func(float32) bool) (*shrunk, error) {
	s := &shrunk{width: width, height: height, channels: channels}
	s.values = make([]float32, width*height*channels)
	s.seen = make([]bool, width*height)
	line := make([]float32, d.columns*d.samples)
	sums, counts := make([]float64, width*channels), make([]int, width)
	for y := range height {
		clear(sums)
		clear(counts)
		from, to := y*d.rows/height, (y+1)*d.rows/height
		for r := from; r < to; r += max(1, (to-from)/most) {
			if err := rows.row(r, line); err != nil {
				return nil, err
			}
			pixels := line
			if convert != nil {
				pixels = convert(line)
			}
			addRow(sums, counts, pixels, channels, d.columns, padding)
		}
		s.put(y, sums, counts)
	}
	return s, nil
}

// addRow adds a row of the image to the sums of a row of the picture.
func addRow(sums []float64, counts []int, pixels []float32, channels, columns int, padding func(float32) bool) {
	width := len(counts)
	for x := range width {
		from, to := x*columns/width, (x+1)*columns/width
		for c := from; c < to; c += max(1, (to-from)/most) {
			p := pixels[c*channels : (c+1)*channels]
			if padding != nil && padding(p[0]) {
				continue
			}
			counts[x]++
			for i, v := range p {
				sums[x*channels+i] += float64(v)
			}
		}
	}
}

// put stores a row of means.
func (s *shrunk) put(y int, sums []float64, counts []int) {
	for x, n := range counts {
		if n == 0 {
			continue
		}
		at := y*s.width + x
		s.seen[at] = true
		for i := range s.channels {
			s.values[at*s.channels+i] = float32(sums[x*s.channels+i] / float64(n))
		}
	}
}
