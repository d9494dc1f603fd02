package phantom

import (
	"math"
	"math/rand/v2"
)

const air = -1000

// ellipse is an organ in a slice: coordinates from -1 to 1, density in Hounsfield units.
type ellipse struct {
	x, y, width, height float64
	density             int
}

// anatomy are the organs at a place along the body, 0 at the shoulders and 1 at the diaphragm, each
// painted over those before it. Products are rounded explicitly: where they are not, some processors
// fuse them with the sum around them, and the bytes would differ between machines.
func anatomy(along float64) []ellipse {
	lung := 0.28 + float64(0.1*math.Sin(math.Pi*along))
	heart := 0.24 * math.Max(0, math.Sin(math.Pi*(along-0.2)))
	return []ellipse{
		{0, 0.86, 0.9, 0.05, -200},          // table
		{0, 0, 0.86, 0.66, -90},             // fat
		{0, 0, 0.82, 0.62, 50},              // muscle
		{-0.4, -0.02, lung, 0.46, -850},     // lungs
		{0.4, -0.02, lung, 0.46, -850},      //
		{-0.38, 0.1, 0.03, 0.03, 40},        // vessels
		{0.42, -0.12, 0.02, 0.03, 40},       //
		{0.08, -0.1, heart, heart, 45},      // heart
		{-0.05, 0.28, 0.08, 0.08, 140},      // aorta, with contrast
		{0, 0.46, 0.11, 0.12, 350},          // vertebra
		{0, 0.46, 0.05, 0.05, 20},           // spinal canal
		{0, 0.6, 0.04, 0.08, 500},           // spinous process
		{0, -0.56, 0.1, 0.03, 450},          // sternum
		{-0.7, 0.1 * along, 0.03, 0.1, 600}, // ribs
		{0.7, -0.1 * along, 0.03, 0.1, 600}, //
	}
}

// span is where a row crosses an organ: columns from, included, to to, excluded.
type span struct{ from, to, density int }

// scan crosses the organs with a row, the topmost first.
func scan(organs []ellipse, y float64, size int) []span {
	var spans []span
	for i := len(organs) - 1; i >= 0; i-- {
		o := organs[i]
		dy := (y - o.y) / o.height
		if dy*dy >= 1 || o.width <= 0 || o.height <= 0 {
			continue
		}
		half := float64(o.width * math.Sqrt(1-float64(dy*dy)))
		column := func(x float64) int { return int((x + 1) / 2 * float64(size)) }
		spans = append(spans, span{column(o.x - half), column(o.x + half), o.density})
	}
	return spans
}

// paint is the density at a column.
func paint(spans []span, col int) int {
	for _, s := range spans {
		if col >= s.from && col < s.to {
			return s.density
		}
	}
	return air
}

// noise is a stream of grain, near enough to a normal distribution: the sum of four bytes.
type noise struct {
	src  *rand.PCG
	bits uint64
	left int
}

func newNoise(seed, file uint64) *noise { return &noise{src: rand.NewPCG(seed, file)} }

// next is the grain of one pixel, with a standard deviation of about 12 HU in tissue and 6 in air.
func (n *noise) next(density int) int {
	if n.left == 0 {
		n.bits, n.left = n.src.Uint64(), 2
	}
	b := uint32(n.bits)
	n.bits, n.left = n.bits>>32, n.left-1
	sum := int(b&0xFF+b>>8&0xFF+b>>16&0xFF+b>>24) - 510
	if density == air {
		return sum / 24
	}
	return sum / 12
}
