package imaging

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zip"
)

const (
	reasonCutZIP    = "the ZIP is cut off or damaged: its directory cannot be read"
	reasonEncrypted = "encrypted: send it without a password"
)

// zip yields the entries of a ZIP in the order of its directory; false: nobody wants more.
func (a *archive) zip(left *budget, yield func(entry) bool) bool {
	records, err := zipRecords(a.bytes)
	if err == nil && records > uint64(max(left.files, 0)) {
		return yield(a.verdict(Refused, reasonTooMany))
	}
	var z *zip.Reader
	if err == nil {
		z, err = zip.NewReader(a.bytes, a.size)
	}
	if err != nil {
		return yield(a.verdict(Unreadable, reasonCutZIP))
	}
	z.RegisterDecompressor(zip.Deflate, inflate)
	for _, f := range z.File {
		if isFolder(f) {
			continue
		}
		if !yield(a.zipEntry(f, left)) {
			return false
		}
	}
	return true
}

func (a *archive) zipEntry(f *zip.File, left *budget) entry {
	const encrypted, strong = 0x1, 0x40 // APPNOTE 4.4.4
	e := a.inside(f.Name, int64(min(f.UncompressedSize64, 1<<62)))
	e.open = f.Open
	left.files--
	left.bytes -= e.size
	switch {
	case f.Flags&(encrypted|strong) != 0:
		e.outcome, e.reason = Unreadable, reasonEncrypted
	case left.bytes < 0:
		// What follows breaks the budget as well; it must not wrap round.
		left.bytes = max(left.bytes, -1<<61)
		e.outcome, e.reason = Refused, reasonTooMuch
	}
	return e
}

func isFolder(f *zip.File) bool { return strings.HasSuffix(f.Name, "/") && f.UncompressedSize64 == 0 }

// zipRecords reads how many records a ZIP announces in its directory, before anything is allocated for
// them (APPNOTE 4.3.14 to 4.3.16).
func zipRecords(r *io.SectionReader) (uint64, error) {
	const end, locator, longest = 22, 20, 22 + 65535
	tail := make([]byte, min(r.Size(), longest+locator))
	if _, err := r.ReadAt(tail, r.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	i := strings.LastIndex(string(tail), "PK\x05\x06")
	if i < 0 || len(tail)-i < end {
		return 0, zip.ErrFormat
	}
	n := uint64(binary.LittleEndian.Uint16(tail[i+10:]))
	if i < locator || string(tail[i-locator:i-locator+4]) != "PK\x06\x07" {
		return n, nil
	}
	var long [56]byte
	at := binary.LittleEndian.Uint64(tail[i-locator+8:])
	if _, err := r.ReadAt(long[:], int64(min(at, 1<<62))); err != nil || string(long[:4]) != "PK\x06\x06" {
		return 0, zip.ErrFormat
	}
	return binary.LittleEndian.Uint64(long[32:]), nil
}

// inflater is a deflate reader with a buffer, made for reading in larger pieces than zip does by itself.
type inflater struct {
	buffer *bufio.Reader
	stream io.ReadCloser
}

var inflaters = sync.Pool{New: func() any {
	b := bufio.NewReaderSize(nil, 64<<10)
	return &inflater{b, flate.NewReader(b)}
}}

func inflate(r io.Reader) io.ReadCloser {
	i := inflaters.Get().(*inflater)
	i.buffer.Reset(r)
	_ = i.stream.(flate.Resetter).Reset(i.buffer, nil) // answers nil always
	return i
}

func (i *inflater) Read(p []byte) (int, error) {
	if i.stream == nil {
		return 0, errors.New("read after close")
	}
	return i.stream.Read(p)
}

// Close gives the reader back. It is called once, as zip does.
func (i *inflater) Close() error {
	err := i.stream.Close()
	i.buffer.Reset(nil)
	inflaters.Put(i)
	return err
}
