package preview

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// native is a frame in native form (PS3.5 section 8.1), little endian.
type native struct {
	d     *description
	src   io.ReaderAt
	at    int64  // where the frame begins
	buf   []byte // one row, or one row of one color
	shift int
	mask  uint32
	sign  uint32 // the sign bit of a stored value, 0 where there is none
}

// native makes a raster of a frame that begins at at and must end within size.
func (d *description) native(src io.ReaderAt, size, at int64) (raster, error) {
	if at+d.frameBytes() > size {
		return nil, fmt.Errorf("%w: %d bytes of pixels, the frame ends at byte %d", ErrDamaged, size, at+d.frameBytes())
	}
	n := &native{d: d, src: src, at: at, shift: d.high - d.stored + 1}
	n.mask = uint32(1<<d.stored - 1)
	if d.signed {
		n.sign = 1 << (d.stored - 1)
	}
	cells := d.cells()
	if d.planar {
		cells = 1
	}
	n.buf = make([]byte, (d.columns*cells*d.allocated+7)/8+1)
	return n, nil
}

func (n *native) row(y int, dst []float32) error {
	d := n.d
	switch {
	case d.allocated == 1:
		return n.bitRow(y, dst)
	case d.subsampled():
		return n.sharedRow(y, dst)
	case !d.planar || d.samples == 1:
		return n.cellRow(int64(y)*int64(d.columns*d.samples), dst, d.columns*d.samples, 1)
	}
	for s := range d.samples {
		from := (int64(s)*int64(d.rows) + int64(y)) * int64(d.columns)
		if err := n.cellRow(from, dst[s:], d.columns, d.samples); err != nil {
			return err
		}
	}
	return nil
}

// read fills the row buffer with n bytes from byte at of the frame.
func (n *native) read(at int64, count int) ([]byte, error) {
	b := n.buf[:count]
	if _, err := n.src.ReadAt(b, n.at+at); err != nil && err != io.EOF {
		return nil, err
	}
	return b, nil
}

// cellRow reads count cells from cell number from on, into every step-th place of dst.
func (n *native) cellRow(from int64, dst []float32, count, step int) error {
	size := n.d.allocated / 8
	b, err := n.read(from*int64(size), count*size)
	if err != nil {
		return err
	}
	for i := range count {
		dst[i*step] = n.value(b[i*size:])
	}
	return nil
}

// value is the number that a cell holds.
func (n *native) value(b []byte) float32 {
	var v uint32
	switch n.d.allocated {
	case 8:
		v = uint32(b[0])
	case 16:
		v = uint32(binary.LittleEndian.Uint16(b))
	case 32:
		v = binary.LittleEndian.Uint32(b)
	default:
		return float32(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	if n.d.float {
		return math.Float32frombits(v)
	}
	v = v >> n.shift & n.mask
	if v&n.sign != 0 {
		return float32(int64(v) - int64(n.mask) - 1)
	}
	return float32(v)
}

// bitRow reads a row of single bits, packed from the lowest bit of each byte (PS3.5 section 8.1.1). Rows
// do not begin at whole bytes.
func (n *native) bitRow(y int, dst []float32) error {
	first := int64(y) * int64(n.d.columns)
	b, err := n.read(first/8, int((first%8+int64(n.d.columns)+7)/8))
	if err != nil {
		return err
	}
	for i := range n.d.columns {
		bit := int(first%8) + i
		dst[i] = float32(b[bit/8] >> (bit % 8) & 1)
	}
	return nil
}

// sharedRow reads a row of YBR_FULL_422: two brightnesses, then the color of both (PS3.3 section
// C.7.6.3.1.2).
func (n *native) sharedRow(y int, dst []float32) error {
	d := n.d
	size := d.allocated / 8
	b, err := n.read(int64(y)*int64(d.columns*2*size), d.columns*2*size)
	if err != nil {
		return err
	}
	for i := range d.columns {
		pair := b[i/2*4*size:]
		if len(pair) < 4*size {
			break
		}
		dst[i*3] = n.value(pair[i%2*size:])
		dst[i*3+1] = n.value(pair[2*size:])
		dst[i*3+2] = n.value(pair[3*size:])
	}
	return nil
}
