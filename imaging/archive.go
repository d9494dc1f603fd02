package imaging

import (
	"bytes"
	"context"
	"io"
	"iter"
	"os"

	"github.com/klauspost/compress/zip"
)

// An entry is one file of an import, where it was found. Names are for the receipt; nothing else is done
// with them.
type entry struct {
	name  string
	size  int64 // as announced
	depth int   // 0: was sent itself; 1: in an archive; 2: in an archive in an archive
	left  budget

	open   func() (io.ReadCloser, error)
	at     *io.SectionReader // its bytes at any place, where they can be had without unpacking
	stream bool              // its bytes pass by: they must be read before the next entry is asked for

	unannounced bool // nobody says how large it is: size is what it may have at most

	outcome Outcome // decided before it was opened, with the reason; "" if not
	reason  string
}

// maxDepth is how deep archives are opened: what was sent, and what stands in it.
const maxDepth = 1

// A budget is what archives may still unpack to. It is taken in the order of entries and by the sizes they
// announce, so that the same entry breaks it each time, whichever worker is faster.
type budget struct{ bytes, files int64 }

func (b budget) minus(o budget) budget { return budget{b.bytes - o.bytes, b.files - o.files} }

func (b budget) plus(o budget) budget { return budget{b.bytes + o.bytes, b.files + o.files} }

// fairSize is what an import may unpack to whatever its ratio: a small archive of blank images is no bomb.
const fairSize = 64 << 20

// budgetOf is what an import of that many bytes may unpack to.
func budgetOf(l Limits, sent int64) budget {
	bytes := l.MaxUnpacked
	if sent < bytes/l.MaxRatio { // never overflows
		bytes = min(bytes, max(sent*l.MaxRatio, fairSize))
	}
	return budget{bytes, l.MaxEntries}
}

const (
	reasonTooMuch = "this would unpack to more than this desk takes from one transfer"
	reasonTooMany = "this archive holds more files than this desk takes in one transfer"
)

// format is what a file is by its first bytes.
type format int

const (
	formatOther format = iota
	formatZIP
	formatGzip
	formatTar
)

// sniffed is how many first bytes are looked at: a header of tar, more than a DICOM file's mark needs.
const sniffed = 512

// formatOf tells archives by their first bytes (APPNOTE 4.3.7, 4.3.16; RFC 1952; POSIX ustar).
func formatOf(head []byte) format {
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")), bytes.HasPrefix(head, []byte("PK\x07\x08")):
		return formatZIP
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return formatGzip
	case len(head) >= 262 && string(head[257:262]) == "ustar":
		return formatTar
	}
	return formatOther
}

// An archive is one that will be opened, with its bytes at any place.
type archive struct {
	ctx    context.Context
	format format
	name   string
	size   int64
	bytes  *io.SectionReader
	depth  int
	tmp    *os.File // it was spooled here; nil when it lies in staging
}

// drop forgets the archive, its temporary file included.
func (a *archive) drop() {
	if a != nil && a.tmp != nil {
		_ = a.tmp.Close()
		_ = os.Remove(a.tmp.Name())
	}
}

// entries yields what is in the archive, in its own order, and takes it from left. What cannot be opened
// comes as entries that are decided already, so that every archive has at least one.
func (a *archive) entries(left *budget) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		any := false
		each := func(e entry) bool {
			any = true
			e.left = *left
			return yield(e)
		}
		proceed := true
		switch a.format {
		case formatZIP:
			proceed = a.zip(left, each)
		case formatGzip:
			proceed = a.gzip(left, each)
		case formatTar:
			proceed = a.tar(stopping{a.ctx, a.bytes}, left, each)
		}
		if proceed && !any {
			yield(a.verdict(NotDICOM, "the archive is empty"))
		}
	}
}

// verdict is an entry for the archive itself, decided.
func (a *archive) verdict(o Outcome, reason string) entry {
	return entry{name: a.name, size: a.size, depth: a.depth, outcome: o, reason: reason}
}

// inside is an entry of the archive: its own name, behind that of the archive if that one was in another.
func (a *archive) inside(name string, size int64) entry {
	name = displayable(name)
	if a.depth > 0 {
		name = cut(a.name+"/"+name, maxName)
	}
	return entry{name: name, size: size, depth: a.depth + 1}
}

// countedBelow is from how many records on a ZIP's own word is taken for the number of its files, folders
// included, to spare reading its directory once more.
const countedBelow = 20_000

// files counts the files in the archive as far as that is cheap; ok is false where they must be unpacked
// for it.
func (a *archive) files(most int64) (n int64, ok bool) {
	if a.format != formatZIP {
		return 0, false
	}
	announced, err := zipRecords(a.bytes)
	switch {
	case err != nil || announced > uint64(max(most, 0)):
		return 1, true // it will be one row
	case announced >= countedBelow:
		return int64(announced), true
	}
	z, err := zip.NewReader(a.bytes, a.size)
	if err != nil {
		return 1, true
	}
	for _, f := range z.File {
		if !isFolder(f) {
			n++
		}
	}
	return max(n, 1), true
}
