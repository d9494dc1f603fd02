package sqlite

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"filmroom/sqlite/internal/lite"
)

const (
	batchWrites = 256                  // writes in one commit at most
	batchTime   = 2 * time.Millisecond // and how long it may take them in
)

// A writer owns the one connection that writes. Writes that wait at the same moment share a transaction
// and with it the sync to disk; a lone write never waits for company. A caller's context counts until its
// write joins a batch; from then on the caller gets the commit's result.
//
// Each write has its own outcome. One that refuses before it changed anything simply leaves the batch. One
// that fails half way takes the batch back, and every write of it runs again in a transaction of its own:
// rare, so that the common batch needs no savepoints. A write may thus run more than once and must set
// its results each time.
type writer struct {
	conn  *lite.Conn
	queue chan *write
	last  int   // size of the last batch
	chunk int64 // see [tuning]

	stop  chan struct{} // closed by close
	ended chan struct{} // closed when nothing will be written any more
	once  sync.Once
	err   error // of closing the connection
}

// A write is one caller's function and what became of it.
type write struct {
	run     func(*tx) error
	late    bool        // after the others of its batch
	joined  atomic.Bool // by the batch, or by the caller that gave up: whoever is first
	err     error
	settled chan struct{}
}

// A tx is the writer's transaction while a write runs.
type tx struct {
	*lite.Conn
	counts counts // what the writes of this transaction change in task_counts
	lines  lines  // where they changed what waits
	sets   sets   // and what in task_sets
}

func startWriter(c *lite.Conn, chunk int64) *writer {
	w := &writer{
		conn: c, chunk: chunk, queue: make(chan *write, batchWrites),
		stop: make(chan struct{}), ended: make(chan struct{}),
	}
	go w.work()
	return w
}

func (w *writer) close() error {
	w.once.Do(func() { close(w.stop) })
	<-w.ended
	return w.err
}

// do runs a function in a transaction and returns after the commit. After ctx has ended nothing is begun. What
// is late runs after the other writes of its batch.
func (w *writer) do(ctx context.Context, run func(*tx) error, late bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	one := &write{run: run, late: late, settled: make(chan struct{})}
	select {
	case w.queue <- one:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ended:
		return ErrClosed
	}
	select {
	case <-one.settled:
	case <-ctx.Done():
		if one.joined.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-one.settled
	case <-w.ended:
		if one.joined.CompareAndSwap(false, true) {
			return ErrClosed
		}
	}
	return one.err
}

func (w *writer) work() {
	defer close(w.ended)
	defer func() { w.err = w.conn.Close() }()
	for {
		select {
		case first := <-w.queue:
			w.batch(first)
		case <-w.stop:
			w.drain()
			return
		}
	}
}

// drain settles what was queued before the close.
func (w *writer) drain() {
	for {
		select {
		case one := <-w.queue:
			w.batch(one)
		default:
			return
		}
	}
}

// batch commits first and what waits beside it.
func (w *writer) batch(first *write) {
	batch, err := w.together(first)
	if err != nil && len(batch) > 1 && again(err) {
		for _, one := range batch {
			one.err = w.alone(one)
		}
	} else if err != nil {
		for _, one := range batch {
			one.err = err
		}
	}
	w.last = len(batch)
	for _, one := range batch {
		close(one.settled)
	}
}

// errSpoiled: a write failed after it had changed something, so the transaction cannot be kept.
type errSpoiled struct{ error }

func (e errSpoiled) Unwrap() error { return e.error }

// again reports whether after a batch's failure its writes may each be tried alone: nothing of it was
// committed, for certain. Any other error of a commit leaves that open.
func again(err error) bool {
	var spoiled errSpoiled
	return errors.As(err, &spoiled) || lite.Code(err) == lite.Full
}

// together runs writes in one transaction for as long as some wait. On an error nothing was committed.
func (w *writer) together(first *write) (batch []*write, err error) {
	t := &tx{Conn: w.conn, sets: sets{rows: w.chunk}}
	began := time.Now()
	var late []*write
	for one := first; one != nil; one = w.next(len(batch), began) {
		if !one.joined.CompareAndSwap(false, true) {
			continue // its caller gave up
		}
		if len(batch) == 0 {
			err = w.conn.Do("BEGIN IMMEDIATE")
		}
		batch = append(batch, one)
		if one.late {
			late = append(late, one)
		} else if err == nil {
			err = t.step(one)
		}
		if err != nil {
			break
		}
	}
	if len(batch) == 0 {
		return nil, nil
	}
	for _, one := range late {
		if err == nil {
			err = t.step(one)
		}
	}
	return batch, w.end(t, err)
}

// step runs one write; its refusal is its own, a failure half way is the transaction's.
func (t *tx) step(one *write) error {
	before := t.Changed()
	one.err = one.run(t)
	if one.err != nil && (t.Changed() != before || !t.InTransaction()) {
		return errSpoiled{one.err}
	}
	return nil
}

// end commits, or takes everything back when err says so or the commit fails.
func (w *writer) end(t *tx, err error) error {
	if err == nil {
		err = t.lines.store(t)
	}
	if err == nil {
		err = t.counts.store(t)
	}
	if err == nil {
		err = t.sets.store(t.Conn)
	}
	if err == nil {
		err = w.conn.Do("COMMIT")
	}
	if err != nil && w.conn.InTransaction() {
		err = errors.Join(err, w.conn.Do("ROLLBACK"))
	}
	return err
}

// alone runs one write in a transaction of its own.
func (w *writer) alone(one *write) error {
	t := &tx{Conn: w.conn, sets: sets{rows: w.chunk}}
	if err := w.conn.Do("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	return w.end(t, one.run(t))
}

// next is another write for the batch, or nil when it is time to commit. When writers came together last
// time, they are about to come again: it lets them run instead of syncing the disk for the first of them.
func (w *writer) next(have int, began time.Time) *write {
	if have >= batchWrites || have%16 == 15 && time.Since(began) > batchTime {
		return nil
	}
	for range 1 + min(max(w.last-have, 0), 8) {
		select {
		case one := <-w.queue:
			return one
		default:
			if have >= w.last {
				return nil
			}
			runtime.Gosched()
		}
	}
	return nil
}
