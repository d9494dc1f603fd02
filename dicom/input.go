package dicom

import (
	"errors"
	"io"
	"sync"
)

// How much input reads at once: enough for most headers at first, more when reading on, and little
// after a jump, for then it may jump again.
const (
	firstRead = 16 << 10
	jumpRead  = 4 << 10
	nextRead  = 64 << 10
)

// input is the lowest layer: a window onto a source of known size. It never asks for bytes beyond that
// size, and never holds more than nextRead of them.
type input struct {
	src  io.ReaderAt
	size int64
	buf  []byte // the window: bytes at to at+len(buf) of src
	at   int64
	read int64 // bytes read so far, for tests
}

var windows = sync.Pool{New: func() any { return new([nextRead]byte) }}

// bytes are n bytes at off, valid until the next call; n is at most nextRead. Fewer come back, with
// ErrTruncated, where the source ends.
func (in *input) bytes(off int64, n int) ([]byte, error) {
	if off < in.at || off+int64(n) > in.at+int64(len(in.buf)) {
		if err := in.fill(off, n); err != nil {
			return nil, err
		}
	}
	rest := in.buf[min(off-in.at, int64(len(in.buf))):]
	if len(rest) < n {
		return rest, ErrTruncated
	}
	return rest[:n], nil
}

// fill moves the window so that it begins at off and holds n bytes, or all there are.
func (in *input) fill(off int64, n int) error {
	want := jumpRead
	if in.buf == nil {
		want = firstRead
	} else if off <= in.at+int64(len(in.buf)) {
		want = nextRead
	}
	want = int(min(int64(max(want, n)), in.size-off))
	if want <= 0 {
		return nil
	}
	if cap(in.buf) < nextRead {
		in.buf = windows.Get().(*[nextRead]byte)[:]
	}
	got, err := in.src.ReadAt(in.buf[:want], off)
	in.at, in.buf = off, in.buf[:got]
	in.read += int64(got)
	if got < want && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// release gives the window back. Bytes taken from it must not be used any more.
func (in *input) release() {
	if cap(in.buf) == nextRead {
		windows.Put((*[nextRead]byte)(in.buf[:nextRead]))
	}
	in.buf = nil
}
