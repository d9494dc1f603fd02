package imaging

import (
	"fmt"
	"time"

	"filmroom/tasks"
)

// How much is committed together: few syncs and transactions, and little to do again after a crash.
const (
	batchRows  = 256
	batchBytes = 64 << 20
)

// A batch is what an import commits together.
type batch struct {
	now      func() time.Time
	next     int64 // index of the next row of the receipt
	arrivals []Arrival
	others   []Receipt
	files    []stored
	bytes    int64
}

// add gives a file the next index.
func (b *batch) add(t taken, taskID string) {
	row := Receipt{
		TaskID: taskID, Index: b.next, Name: t.entry.name, Size: t.size, Outcome: t.outcome, Reason: t.reason,
		SOPInstanceUID: t.sop, SeriesUID: t.series, StudyUID: t.study,
	}
	b.next++
	if t.arrival == nil {
		b.others = append(b.others, row)
		return
	}
	t.arrival.Receipt = row
	b.arrivals = append(b.arrivals, *t.arrival)
	b.files = append(b.files, t.stored)
	b.bytes += t.size
}

func (b *batch) isFull() bool {
	return len(b.arrivals)+len(b.others) >= batchRows || b.bytes >= batchBytes
}

func (b *batch) clear() {
	b.arrivals, b.others, b.files, b.bytes = b.arrivals[:0], b.others[:0], b.files[:0], 0
}

// drop removes the files of a batch that is not committed.
func (b *batch) drop(f *files) { f.drop(b.files) }

// progress tells how far an import is: rows of the receipt, of as many as are known to come.
type progress struct {
	run   *tasks.Run
	value int64
	bytes int64 // of files so far
	total int64
	known bool // total is all; else archives must be unpacked to know
}

// grow notes that an archive, counted as one file, has n files.
func (p *progress) grow(n int64, known bool) {
	p.total += n - 1
	p.known = p.known && known
}

// one counts a file of so many bytes.
func (p *progress) one(bytes int64) {
	p.value++
	p.bytes += max(bytes, 0)
	p.tell()
}

func (p *progress) tell() {
	total := p.total
	if !p.known {
		total = 0
	}
	p.run.Progress(fmt.Sprintf("Importing, %.1f MB so far", float64(p.bytes)/1e6), p.value, total)
}

// summary says in one line what came of an import.
func summary(outcomes map[Outcome]int) string {
	text, rows := "", 0
	for _, o := range []struct {
		outcome Outcome
		words   string
	}{
		{Imported, "imported"}, {Duplicate, "already here"}, {Conflict, "in conflict with others"}, {NotDICOM, "not DICOM"},
		{DICOMDIR, "DICOMDIR"}, {NestedArchive, "in archives too deep"}, {Incomplete, "without their UIDs"},
		{Unreadable, "unreadable"}, {Refused, "refused"},
	} {
		n := outcomes[o.outcome]
		rows += n
		if n == 0 && o.outcome != Imported {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += thousands(int64(n)) + " " + o.words
	}
	if rows > outcomes[Imported] {
		return text
	}
	return fmt.Sprintf("%s images imported", thousands(int64(rows)))
}

// thousands writes 1204 as "1,204".
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
