package imaging

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"

	"github.com/klauspost/compress/zip"

	"filmroom/dicom"
	"filmroom/dicom/uid"
)

// heldBytes is the largest file that is read into memory; a larger one goes through the disk. It is what
// each worker may hold.
const heldBytes = 4 << 20

var buffers = sync.Pool{New: func() any { return new([heldBytes]byte) }}

// intake reads one file of an import after the other: what it is, whether it is whole, what it says of
// itself. It is used by many goroutines at once.
type intake struct {
	ctx   context.Context
	files *files
	log   *slog.Logger
}

// reading bounds what a deflated file may inflate to: it is inflated once to see that it is whole.
var reading = dicom.MaxInflated(1 << 30)

// A taken file is what intake made of an entry: one of a decided outcome, an arrival with its bytes, or an
// archive to be opened. err is set when it is the desk that could not go on.
type taken struct {
	entry   entry
	outcome Outcome // "" for an arrival and an archive
	reason  string
	size    int64 // of the file, as found

	sop, series, study string // UIDs, as far as the file has them

	arrival *Arrival
	stored  stored
	archive *archive
	err     error
}

// drop removes what was written for a file that is not taken in after all.
func (t *taken) drop(f *files) {
	f.drop([]stored{t.stored})
	t.archive.drop()
}

// content is a file's bytes: in a buffer, or in a temporary file.
type content struct {
	buffer *[heldBytes]byte
	size   int64
	tmp    *os.File
	sum    string // hex; set with tmp
}

func (c *content) reader() io.ReaderAt {
	if c.tmp != nil {
		return c.tmp
	}
	return bytes.NewReader(c.buffer[:c.size])
}

// release gives up the bytes.
func (c *content) release() {
	if c.buffer != nil {
		buffers.Put(c.buffer)
	}
	if c.tmp != nil {
		_ = c.tmp.Close()
		_ = os.Remove(c.tmp.Name())
	}
}

// decide gives the entry an outcome.
func (e entry) decide(o Outcome, reason string) taken {
	return taken{entry: e, outcome: o, reason: reason, size: e.size}
}

// take does all that is to be done with an entry.
func (in *intake) take(e entry) taken {
	c, t, done := in.fetch(e)
	if !done {
		t = in.understand(e, c)
	}
	return t
}

// survive makes a file unreadable whose reading panics; it must not take the desk down with it. It is to be
// deferred itself.
func (in *intake) survive(e entry, t *taken) {
	if recover() != nil {
		// Not the value, which may hold what was read.
		in.log.Error("a file made its reader panic", "stack", string(debug.Stack()))
		*t = e.decide(Unreadable, "this file could not be understood")
	}
}

// fetch reads an entry's bytes, if they are worth reading; done: there is nothing more to do with it.
func (in *intake) fetch(e entry) (c content, t taken, done bool) {
	done = true // what a panic leaves behind
	defer in.survive(e, &t)
	if err := in.ctx.Err(); err != nil {
		return c, taken{entry: e, err: err}, true
	}
	if e.outcome != "" {
		return c, e.decide(e.outcome, e.reason), true
	}
	r, err := e.open()
	if err != nil {
		return c, damaged(e, err), true
	}
	defer r.Close()
	c.buffer = buffers.Get().(*[heldBytes]byte)
	n, err := fill(r, c.buffer[:sniffed])
	c.size = int64(n)
	if err == nil || errors.Is(err, io.EOF) {
		if t, done = in.sniff(e, c.buffer[:n], r); done {
			c.release()
			return c, t, true
		}
	}
	if err == nil {
		n, err = fill(r, c.buffer[n:])
		c.size += int64(n)
	}
	if err == nil {
		err = in.spool(&c, e, r)
	}
	if c.size > e.size {
		err = errTooMuch
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.release()
		return c, damaged(e, err), true
	}
	return c, t, false
}

// fill reads until b is full or r ends. Unlike io.ReadFull it keeps apart that r has ended (io.EOF) and that
// what r reads from was cut off (io.ErrUnexpectedEOF).
func fill(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = r.Read(b[n:])
		n += m
	}
	return n, err
}

// sniff decides by the first bytes; done: the entry is no image, or an archive to be opened.
func (in *intake) sniff(e entry, head []byte, r io.Reader) (t taken, done bool) {
	f := formatOf(head)
	switch {
	case len(head) == 0:
		return e.decide(NotDICOM, "the file is empty"), true
	case f != formatOther && e.depth > maxDepth:
		return e.decide(NestedArchive, "an archive in an archive in an archive is not opened"), true
	case f != formatOther:
		return in.archive(e, f, head, r), true
	case !dicom.LooksLike(head):
		return e.decide(NotDICOM, reasonNotDICOM), true
	}
	return t, false
}

const reasonNotDICOM = "not a DICOM file"

// archive makes an archive of an entry, spooled to the disk if its bytes are not there already.
func (in *intake) archive(e entry, f format, head []byte, r io.Reader) taken {
	a := &archive{ctx: in.ctx, format: f, name: e.name, size: e.size, bytes: e.at, depth: e.depth}
	if a.bytes == nil {
		c := content{}
		err := in.spool(&c, e, io.MultiReader(bytes.NewReader(head), r))
		if err != nil {
			c.release()
			return damaged(e, err)
		}
		a.tmp, a.size, a.bytes = c.tmp, c.size, io.NewSectionReader(c.tmp, 0, c.size)
	}
	return taken{entry: e, size: a.size, archive: a}
}

// spool writes what is in the buffer and the rest of r to a temporary file, and hashes it on the way.
func (in *intake) spool(c *content, e entry, r io.Reader) error {
	var err error
	if c.tmp, err = in.files.create(); err != nil {
		return err
	}
	sum := sha256.New()
	w := io.MultiWriter(&roomyWriter{in.ctx, in.files.room, c.tmp}, sum)
	if c.buffer != nil {
		if _, err := w.Write(c.buffer[:c.size]); err != nil {
			return err
		}
		buffers.Put(c.buffer)
		c.buffer = nil
	}
	n, err := io.Copy(w, io.LimitReader(r, e.size-c.size+1))
	if c.size += n; err == nil && c.size > e.size {
		err = errTooMuch
	}
	c.sum = hex.EncodeToString(sum.Sum(nil))
	return err
}

// errTooMuch: a file has more bytes than it may.
var errTooMuch = errors.New(reasonTooMuch)

// A roomyWriter writes to a temporary file while there is room and the work goes on.
type roomyWriter struct {
	ctx  context.Context
	room *room
	file *os.File
}

func (w *roomyWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	if err := w.room.take(int64(len(p))); err != nil {
		return 0, err
	}
	return w.file.Write(p)
}

// understand reads what a file says of itself, and keeps its bytes if it is a whole image.
func (in *intake) understand(e entry, c content) (t taken) {
	defer func() { c.release() }()
	defer in.survive(e, &t)
	e.size = c.size
	f, err := dicom.Parse(c.reader(), c.size, reading)
	if err != nil {
		o, reason, ok := refusal(err)
		if !ok {
			return damaged(e, err)
		}
		return e.decide(o, reason)
	}
	if f.SOPClass() == uid.MediaStorageDirectory {
		return e.decide(DICOMDIR, "a table of contents, not an image")
	}
	series, instance, missing := factsOf(f)
	if missing != "" {
		t = e.decide(Incomplete, missing)
	} else {
		t = in.keep(e, &c, &Arrival{Series: series, Instance: instance})
	}
	t.sop, t.series, t.study = instance.SOPInstanceUID, series.SeriesUID, series.StudyUID
	return t
}

// keep writes the bytes of an arrival.
func (in *intake) keep(e entry, c *content, a *Arrival) taken {
	t := taken{entry: e, size: c.size, arrival: a}
	if c.tmp == nil {
		sum := sha256.Sum256(c.buffer[:c.size])
		c.sum = hex.EncodeToString(sum[:])
		t.stored, t.err = in.files.write(c.sum, c.buffer[:c.size])
	} else {
		t.stored, t.err = in.files.take(c)
	}
	a.Instance.SHA256, a.Instance.Size = c.sum, c.size
	return t
}

// damaged is an entry whose bytes cannot be had. It is the desk's own failure when its disk is the reason.
func damaged(e entry, err error) taken {
	_, disk := errors.AsType[*fs.PathError](err)
	switch {
	case disk, errors.Is(err, ErrNoRoom), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return taken{entry: e, err: fmt.Errorf("read what was sent: %w", full(err))}
	case errors.Is(err, errTooMuch):
		return e.decide(Refused, reasonTooMuch)
	case errors.Is(err, zip.ErrAlgorithm):
		return e.decide(Unreadable, "compressed in a way that is not read here: use deflate")
	case errors.Is(err, zip.ErrChecksum):
		return e.decide(Unreadable, "damaged: its checksum does not match")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return e.decide(Unreadable, "cut off: it ends before its announced size")
	}
	return e.decide(Unreadable, "damaged: it cannot be unpacked")
}
