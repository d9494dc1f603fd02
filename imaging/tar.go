package imaging

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

const (
	reasonCutGzip = "the gzip file is cut off or damaged"
	reasonCutTar  = "the archive is cut off or damaged from here on; what stood before it was read"
	reasonRest    = "this and what follows it in its archive was not read: it would unpack to more than this desk takes from one transfer"
)

// gzip yields the entries of a tar.gz, or the one file of any other gzip; false: nobody wants more.
func (a *archive) gzip(left *budget, yield func(entry) bool) bool {
	z, err := gzip.NewReader(bufio.NewReaderSize(stopping{a.ctx, a.bytes}, 64<<10))
	if err != nil {
		return yield(a.verdict(Unreadable, reasonCutGzip))
	}
	defer z.Close()
	unpacked := bufio.NewReaderSize(z, 64<<10)
	head, err := unpacked.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return yield(a.verdict(Unreadable, reasonCutGzip))
	}
	if formatOf(head) == formatTar {
		return a.tar(unpacked, left, yield)
	}
	e := a.verdict("", "")
	e.depth = a.depth + 1
	e.size, e.unannounced = left.bytes, true
	body := &counter{r: unpacked}
	e.stream, e.open = true, func() (io.ReadCloser, error) { return io.NopCloser(body), nil }
	left.files--
	proceed := yield(e)
	left.bytes -= body.n
	return proceed
}

// A counter counts what was read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// tar yields the files of a tar as they pass by. Folders are no files; links are, and not images.
func (a *archive) tar(r io.Reader, left *budget, yield func(entry) bool) bool {
	t := tar.NewReader(r)
	body := &tarBody{r: t}
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) || body.broken {
			return true
		}
		if err != nil {
			return yield(a.verdict(Unreadable, reasonCutTar))
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		e := a.inside(h.Name, h.Size)
		left.files--
		left.bytes -= h.Size
		if left.files < 0 || left.bytes < 0 {
			// Skipping a bomb's content costs as much as reading it.
			e.outcome, e.reason = Refused, reasonRest
			yield(e)
			return false
		}
		if h.Typeflag != tar.TypeReg {
			e.outcome, e.reason = NotDICOM, "a link or device, not a file"
		}
		e.stream, e.open = true, func() (io.ReadCloser, error) { return body, nil }
		if !yield(e) {
			return false
		}
	}
}

// A tarBody is the content of the present file. It remembers that it was cut off, which then is that
// file's own fault to tell.
type tarBody struct {
	r      *tar.Reader
	broken bool
}

func (b *tarBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.broken = true
	}
	return n, err
}

func (b *tarBody) Close() error { return nil }

// stopping reads until the work is to stop: what an archive skips may be long.
type stopping struct {
	ctx context.Context
	r   io.Reader
}

func (s stopping) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}
