package dicom

import (
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// deflated is the data set of a deflated file as a source (PS3.5 section A.5). It inflates while it is
// read and keeps nothing but the inflater: reading on costs what it yields, going back starts anew.
type deflated struct {
	packed *io.SectionReader
	size   int64 // inflated

	mu     sync.Mutex
	stream io.ReadCloser // at byte pos of the data set; nil before the first read
	pos    int64
}

// inflate makes a source of everything from the current position on. It inflates once to learn the
// size, so that a stream that is broken or too large is refused before anything is believed.
func (d *decoder) inflate() (*deflated, error) {
	s := &deflated{packed: io.NewSectionReader(d.in.src, d.pos, d.in.size-d.pos)}
	stream := flate.NewReader(io.NewSectionReader(s.packed, 0, s.packed.Size()))
	n, err := io.Copy(io.Discard, io.LimitReader(stream, d.cfg.maxInflated+1))
	switch {
	case n > d.cfg.maxInflated:
		return nil, d.fail(ErrTooLarge, d.pos, "the data set inflates to more than %s bytes", thousands(d.cfg.maxInflated))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, d.fail(ErrTruncated, d.pos, "the file ends within the deflated data set")
	case err != nil:
		return nil, d.fail(ErrMalformed, d.pos, "the data set is no deflate stream")
	}
	s.size = n
	return s, nil
}

// ReadAt implements io.ReaderAt.
func (s *deflated) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == nil || off < s.pos {
		s.stream = flate.NewReader(io.NewSectionReader(s.packed, 0, s.packed.Size()))
		s.pos = 0
	}
	skipped, err := io.CopyN(io.Discard, s.stream, off-s.pos)
	s.pos += skipped
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(s.stream, p)
	s.pos += int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}
