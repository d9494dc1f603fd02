package imaging

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"sync"

	"filmroom/tasks"
)

// An importer is one attempt of an import. Entries go to workers in order, are worked on in parallel, and
// come back in order to the one goroutine that opens archives and commits.
type importer struct {
	intake
	store   Store
	task    *tasks.Run
	library string
	stop    context.CancelFunc

	work    chan *future
	workers sync.WaitGroup

	batch batch
	rows  progress

	rules    rules
	every    int64           // rows between two checkpoints
	passed   passed          // by the attempt before
	archives map[place]int64 // opened so far, with their rows
	saved    int64           // rows of the last checkpoint
}

// A future is an entry on its way through the workers.
type future struct {
	entry   entry
	content content // fetched by the walk itself, of an entry that passes by
	fetched bool
	taken   taken
	skipped bool          // its row is stored already; it was not looked at
	done    chan struct{} // closed when taken is set
}

// window is how many entries may be ahead of the one that is committed next.
const window = 256

func newImporter(ctx context.Context, d *Desk, r *tasks.Run, library string) *importer {
	ctx, stop := context.WithCancel(ctx)
	im := &importer{intake: intake{ctx, d.files, d.log}, store: d.cfg.Store, task: r, library: library, stop: stop, work: make(chan *future)}
	im.batch.now = d.cfg.Now
	im.rows.run, im.every = r, d.checkpointEvery
	for range d.cfg.Workers {
		im.workers.Go(func() {
			for f := range im.work {
				im.serve(f)
			}
		})
	}
	return im
}

// run brings in everything that was staged. It returns when all it started has ended.
func (im *importer) run(in *input, l Limits) (err error) {
	defer func() {
		im.stop()
		close(im.work)
		im.workers.Wait()
		im.batch.drop(im.files)
	}()
	if err := im.task.Phase(im.ctx, "unpacking"); err != nil {
		return err
	}
	if err := im.goOn(l); err != nil {
		return err
	}
	im.rows.total, im.rows.known = in.count(l.MaxEntries)
	im.task.Log(slog.LevelInfo, "%d files of %d bytes were sent", in.end.Files, in.end.Bytes)
	left := budgetOf(l, in.end.Bytes)
	err = im.drain(in.entries(), func(a *archive, _ budget) (budget, error) {
		used, err := im.expand(a, left)
		left = left.minus(used)
		return used, err
	})
	if err != nil {
		return err
	}
	if err := im.task.Phase(im.ctx, "storing"); err != nil {
		return err
	}
	return im.flush()
}

// entries are what was sent, as entries.
func (in *input) entries() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for f, bytes := range in.files() {
			e := entry{name: f.Name, size: f.Size, at: bytes}
			e.open = func() (io.ReadCloser, error) {
				return io.NopCloser(io.NewSectionReader(bytes, 0, bytes.Size())), nil
			}
			if !yield(e) {
				return
			}
		}
	}
}

// expand brings in what is in an archive and returns what that took of left.
func (im *importer) expand(a *archive, left budget) (used budget, err error) {
	defer a.drop()
	if n, known := a.files(left.files); a.depth > 0 {
		im.rows.grow(n, known)
	}
	remaining, nested := left, budget{}
	err = im.drain(a.entries(&remaining), func(inner *archive, at budget) (budget, error) {
		used, err := im.expand(inner, at.minus(nested))
		nested = nested.plus(used)
		return used, err
	})
	return left.minus(remaining).plus(nested), err
}

// drain takes entries in, in their order; open is called for each archive among them with what is left at
// that place.
func (im *importer) drain(entries iter.Seq[entry], open func(*archive, budget) (budget, error)) (err error) {
	ordered := make(chan *future, window)
	go im.walk(entries, im.batch.next, ordered)
	for f := range ordered {
		<-f.done
		if err != nil {
			f.taken.drop(im.files)
			continue
		}
		switch t := f.taken; {
		case f.skipped:
			im.pass()
		case t.err != nil:
			err = t.err
		case t.archive != nil:
			err = im.unpack(t, open)
		default:
			err = im.commit(t)
		}
		if err != nil {
			im.stop()
		}
	}
	if err == nil {
		err = context.Cause(im.ctx)
	}
	return err
}

// unpack opens an archive and notes how many rows it had.
func (im *importer) unpack(t taken, open func(*archive, budget) (budget, error)) error {
	at := place{im.batch.next, t.entry.depth}
	im.archives[at] = 0
	_, err := open(t.archive, t.entry.left)
	if err == nil {
		im.archives[at] = im.batch.next - at.row
	}
	return err
}

// walk sends entries to the workers and, in the same order, to the one that commits; the first has the given
// row. It closes ordered when there are no more, or the work has stopped.
func (im *importer) walk(entries iter.Seq[entry], row int64, ordered chan<- *future) {
	defer close(ordered)
	for e := range entries {
		f := &future{entry: e, done: make(chan struct{})}
		if e.stream {
			f.fetched = true
			var done bool
			if f.content, f.taken, done = im.fetch(e); done {
				close(f.done)
			}
		}
		if row < im.passed.rows {
			row = im.overtake(f, row)
		}
		select {
		case ordered <- f:
		case <-im.ctx.Done():
			im.discard(f)
			return
		}
		if f.isDone() {
			continue
		}
		select {
		case im.work <- f:
		case <-im.ctx.Done():
			f.content.release()
			f.taken = taken{entry: e, err: context.Cause(im.ctx)}
			close(f.done)
			return
		}
	}
}

// discard drops a future that nobody waits for.
func (im *importer) discard(f *future) {
	if f.isDone() {
		f.taken.drop(im.files)
	} else {
		f.content.release()
	}
}

func (f *future) isDone() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// serve is a worker's turn.
func (im *importer) serve(f *future) {
	defer close(f.done)
	if f.fetched {
		f.taken = im.understand(f.entry, f.content)
		return
	}
	f.taken = im.take(f.entry)
}

// commit puts a file into the batch, under the next index.
func (im *importer) commit(t taken) error {
	im.batch.add(t, im.task.TaskID())
	im.rows.one(t.size)
	if im.batch.isFull() {
		return im.flush()
	}
	return nil
}

// flush makes the batch durable: first the files, then the rows that refer to them.
func (im *importer) flush() error {
	b := &im.batch
	if len(b.arrivals) == 0 && len(b.others) == 0 {
		return nil
	}
	if err := im.files.settle(b.files); err != nil {
		return fmt.Errorf("store files: %w", err)
	}
	if _, err := im.store.Arrive(im.ctx, im.library, im.task.TaskID(), b.arrivals, b.others, tasks.NewID, b.now()); err != nil {
		return fmt.Errorf("store rows: %w", err)
	}
	b.clear()
	return im.save()
}
