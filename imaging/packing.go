package imaging

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zip"

	"filmroom/dicom/deid"
)

// heldPacked is the largest packed image that waits in memory for its turn; a larger one waits on the disk.
const heldPacked = 4 << 20

// packed is an image that was de-identified and compressed, or the reason why not.
type packed struct {
	item   item
	reason string // it may not leave
	err    error  // the desk could not go on
	report deid.Report

	buffer *bytes.Buffer
	tmp    *os.File // instead of the buffer
	header zip.FileHeader
	sum    string // SHA-256 of the image, hex
}

// A packer compresses, hashes and counts what is written to it, in memory or beyond heldPacked on disk.
type packer struct {
	ctx     context.Context
	deflate *flate.Writer
	crc     hash.Hash32
	sum     hash.Hash
	size    int64
	spill   spill
}

var packers = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // fails for unknown levels alone
	return &packer{deflate: w, crc: crc32.NewIEEE(), sum: sha256.New()}
}}

var packedBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// fill runs write into a packer and keeps what came out of it, which the caller drops on an error.
func (p *packed) fill(ctx context.Context, f *files, write func(*packer) (deid.Report, error)) (deid.Report, error) {
	w := newPacker(ctx, f)
	defer p.take(w)
	report, err := write(w)
	if err == nil {
		err = w.deflate.Close()
	}
	if err != nil {
		return report, err
	}
	p.seal(w)
	return report, nil
}

// seal notes what came out of a packer.
func (p *packed) seal(w *packer) {
	p.sum = hex.EncodeToString(w.sum.Sum(nil))
	p.header = zip.FileHeader{
		Name: p.item.path, Method: zip.Deflate, CRC32: w.crc.Sum32(),
		UncompressedSize64: uint64(w.size), CompressedSize64: uint64(w.spill.size),
	}
}

func newPacker(ctx context.Context, f *files) *packer {
	w := packers.Get().(*packer)
	w.ctx, w.size, w.spill = ctx, 0, spill{files: f, buffer: packedBuffers.Get().(*bytes.Buffer)}
	w.crc.Reset()
	w.sum.Reset()
	w.deflate.Reset(&w.spill)
	return w
}

// take moves what a packer holds to p, and the packer to whoever needs one next.
func (p *packed) take(w *packer) {
	p.buffer, p.tmp = w.spill.buffer, w.spill.tmp
	w.ctx, w.spill = nil, spill{}
	packers.Put(w)
}

func (w *packer) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	w.crc.Write(b)
	w.sum.Write(b)
	w.size += int64(len(b))
	return w.deflate.Write(b)
}

// A spill is a buffer that moves to a temporary file when it grows too large.
type spill struct {
	files  *files
	buffer *bytes.Buffer
	tmp    *os.File
	size   int64
}

func (s *spill) Write(b []byte) (n int, err error) {
	s.size += int64(len(b))
	if s.tmp == nil && s.size <= heldPacked {
		return s.buffer.Write(b)
	}
	if s.tmp == nil {
		if s.tmp, err = s.files.create(); err != nil {
			return 0, err
		}
		if _, err := s.buffer.WriteTo(s.tmp); err != nil {
			return 0, err
		}
	}
	if err := s.files.room.take(int64(len(b))); err != nil {
		return 0, err
	}
	return s.tmp.Write(b)
}

// drop gives up what was packed.
func (p *packed) drop() {
	if p.buffer != nil {
		p.buffer.Reset()
		packedBuffers.Put(p.buffer)
		p.buffer = nil
	}
	if p.tmp != nil {
		_ = p.tmp.Close()
		_ = os.Remove(p.tmp.Name())
		p.tmp = nil
	}
}

// packing is the archive being written: images one after another, then manifest and report.
type packing struct {
	room     *room
	out      *bufio.Writer
	zip      *zip.Writer
	at       time.Time // of everything in it
	manifest *os.File
	lines    *bufio.Writer
	changes  *changes
}

const (
	manifestName = "manifest.sha256"
	reportName   = "report.json"
	changesName  = "changes.jsonl"
)

func newPacking(ctx context.Context, w io.Writer, f *files, at time.Time) (*packing, error) {
	manifest, err := f.create()
	if err != nil {
		return nil, err
	}
	p := &packing{room: f.room, out: bufio.NewWriterSize(w, 256<<10), at: at.UTC(), manifest: manifest, lines: bufio.NewWriter(manifest)}
	p.zip, p.changes = zip.NewWriter(p.out), newChanges(ctx, f)
	return p, nil
}

// add writes an image and what was changed in it.
func (p *packing) add(image packed) error {
	if err := p.write(image); err != nil {
		return err
	}
	if err := p.changes.add(image.header.Name, image.report); err != nil {
		return full(err)
	}
	_, err := fmt.Fprintf(p.lines, "%s  %s\n", image.sum, image.header.Name)
	return full(err)
}

// write puts what was packed into the archive.
func (p *packing) write(image packed) error {
	if err := p.room.take(int64(image.header.CompressedSize64)); err != nil {
		return err
	}
	//lint:ignore SA1019 CreateRaw writes the header as it is, so Modified would have no effect
	image.header.SetModTime(p.at)
	w, err := p.zip.CreateRaw(&image.header)
	if err != nil {
		return err
	}
	from := io.Reader(image.buffer)
	if image.tmp != nil {
		from = io.NewSectionReader(image.tmp, 0, int64(image.header.CompressedSize64))
	}
	_, err = io.Copy(w, from)
	return err
}

// finish writes manifest, report and changes, and ends the archive. The manifest is what sha256sum -c reads.
func (p *packing) finish(r *report) error {
	if err := p.lines.Flush(); err != nil {
		return full(err)
	}
	if _, err := p.manifest.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r.rows(), "", "  ")
	if err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		from io.Reader
	}{{manifestName, p.manifest}, {reportName, bytes.NewReader(text)}} {
		w, err := p.zip.CreateHeader(&zip.FileHeader{Name: part.name, Method: zip.Deflate, Modified: p.at})
		if err != nil {
			return err
		}
		if _, err := io.Copy(w, part.from); err != nil {
			return err
		}
	}
	rows, err := p.changes.end()
	if err == nil {
		err = p.write(rows)
	}
	return errors.Join(err, p.zip.Close(), p.out.Flush())
}

func (p *packing) close() {
	p.changes.drop()
	_ = p.manifest.Close()
	_ = os.Remove(p.manifest.Name())
}
