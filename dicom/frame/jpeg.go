package frame

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
)

// JPEG decodes a frame of 8 bits in sequential Huffman coding (PS3.5 section A.4.1) that is as large as the file says:
// an *image.Gray, an *image.YCbCr whose three components may be another color space's, or an *image.RGBA where the
// stream itself says RGB. ycc says that the stream itself says YCbCr, whatever the file does.
func JPEG(b []byte, columns, rows int) (img image.Image, ycc bool, err error) {
	head, ok := jpegHead(b)
	switch pixels := int64(head.width) * int64(head.height); {
	case !ok:
		return nil, false, fmt.Errorf("%w: a JPEG frame without a frame header", ErrDamaged)
	case head.marker > 0xC1 || head.precision != 8:
		return nil, false, fmt.Errorf("%w: JPEG that is not sequential or has not 8 bits", ErrUnsupported)
	case head.width != columns || head.height != rows:
		return nil, false, fmt.Errorf("%w: a JPEG frame of %d by %d, the file says %d by %d", ErrDamaged, head.width, head.height, columns, rows)
	case pixels*3 > MaxBytes:
		return nil, false, ErrTooLarge
	case pixels > mostJPEG*int64(len(b)):
		return nil, false, fmt.Errorf("%w: a JPEG frame of %d bytes cannot hold %d pixels", ErrDamaged, len(b), pixels)
	}
	img, err = jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, false, fmt.Errorf("%w: a JPEG frame that cannot be decoded", ErrDamaged)
	}
	if img.Bounds() != image.Rect(0, 0, columns, rows) {
		return nil, false, fmt.Errorf("%w: a JPEG frame that is not as large as its header says", ErrDamaged)
	}
	return img, head.ycc, nil
}

// mostJPEG is how many pixels one compressed byte can stand for: a block of 64 takes two bits at least.
const mostJPEG = 256

type jpegHeader struct {
	marker        byte // SOF0 to SOF15: how it is coded
	precision     byte
	width, height int
	ycc           bool // it is JFIF, or an Adobe segment says so
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
		case marker == 0xE0 && bytes.HasPrefix(body, []byte("JFIF\x00")),
			marker == 0xEE && bytes.HasPrefix(body, []byte("Adobe")) && len(body) >= 12 && body[11] == 1:
			h.ycc = true
		case marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC && len(body) >= 6:
			h.marker, h.precision = marker, body[0]
			h.height, h.width = int(body[1])<<8|int(body[2]), int(body[3])<<8|int(body[4])
			return h, true
		}
		b = b[length+2:]
	}
	return h, false
}
