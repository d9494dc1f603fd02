package imaging

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
)

const (
	// checkpointEvery is how many rows are committed between two checkpoints, and so what a rescued import reads
	// again at most, a batch more or less.
	checkpointEvery = 8 * batchRows
	// maxArchives is how many archives a checkpoint can hold; from then on no newer one is saved.
	maxArchives = 1500
	// checkpointFormat rises when another version of this code would number entries in another way.
	checkpointFormat = 1
)

// A checkpoint is how far an import has come for good: all rows below Rows are stored. To pass them by without
// reading them, a rerun must know which entries were archives, for those are no rows but have some.
type checkpoint struct {
	Format   int        `json:"format"`
	Rules    rules      `json:"rules"`
	Rows     int64      `json:"rows"`
	Bytes    int64      `json:"bytes"` // of their files
	Archives [][3]int64 `json:"archives,omitempty"`
}

// rules are the limits that decide how archives are opened.
type rules struct{ MaxEntries, MaxUnpacked, MaxRatio int64 }

func rulesOf(l Limits) rules { return rules{l.MaxEntries, l.MaxUnpacked, l.MaxRatio} }

// A place is where an archive stands: the first of its rows, and its depth. No two stand in one, for every
// archive has a row at least.
type place struct {
	row   int64
	depth int
}

// passed is what a checkpoint says, for many goroutines to read.
type passed struct {
	rows, bytes int64
	archives    map[place]int64 // how many rows they have; 0: it was not finished
}

// passedBy reads what the attempt before left. A checkpoint that was made under other rules is as good as none.
func passedBy(data []byte, l Limits) (p passed, err error) {
	p.archives = map[place]int64{}
	if data == nil {
		return p, nil
	}
	var c checkpoint
	if err := json.Unmarshal(data, &c); err != nil {
		return p, fmt.Errorf("read checkpoint: %w", err)
	}
	if c.Format != checkpointFormat || c.Rules != rulesOf(l) {
		return p, nil
	}
	p.rows, p.bytes = c.Rows, c.Bytes
	for _, a := range c.Archives {
		p.archives[place{a[0], int(a[1])}] = a[2]
	}
	return p, nil
}

// after is the row that follows an entry which begins at row, and whether it is an archive: that must be read
// again, for what it takes of the budget and adds to the progress is found by opening it.
func (p *passed) after(row int64, e entry) (next int64, archive bool) {
	rows, archive := p.archives[place{row, e.depth}]
	switch {
	case !archive, e.outcome != "": // or it stands for an archive that could not be opened
		return row + 1, false
	case rows == 0:
		return p.rows, true // it was being read, so what follows it was not
	}
	return row + rows, true
}

// goOn begins where the attempt before had saved that it was.
func (im *importer) goOn(l Limits) (err error) {
	im.rules = rulesOf(l)
	if im.passed, err = passedBy(im.task.Checkpoint(), l); err != nil {
		return err
	}
	im.archives, im.saved, im.rows.bytes = maps.Clone(im.passed.archives), im.passed.rows, im.passed.bytes
	if im.saved > 0 {
		im.task.Log(slog.LevelInfo, "going on after %d files that are stored already", im.saved)
	}
	return nil
}

// overtake lets an entry whose row is stored pass by, and returns the row of the next. One that streams had to
// be read even so, for what follows it depends on how it was.
func (im *importer) overtake(f *future, row int64) int64 {
	next, archive := im.passed.after(row, f.entry)
	if archive || f.taken.err != nil {
		return next
	}
	f.skipped = true
	if !f.isDone() {
		f.content.release()
		close(f.done)
	}
	return next
}

// pass counts an entry whose row is stored.
func (im *importer) pass() {
	im.batch.next++
	im.rows.value++
	if im.rows.value == im.passed.rows {
		im.rows.tell()
	}
}

// save keeps how far the import is, now and then.
func (im *importer) save() error {
	if im.batch.next-im.saved < im.every || len(im.archives) > maxArchives {
		return nil
	}
	c := checkpoint{Format: checkpointFormat, Rules: im.rules, Rows: im.batch.next, Bytes: im.rows.bytes}
	for at, rows := range im.archives {
		c.Archives = append(c.Archives, [3]int64{at.row, int64(at.depth), rows})
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := im.task.SaveCheckpoint(im.ctx, data); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	im.saved = im.batch.next
	return nil
}
