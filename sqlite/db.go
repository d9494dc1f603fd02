// Package sqlite keeps everything the desk knows in one file: tasks, the library, people. It needs
// nothing installed and is the default.
//
// Each write is one short transaction of one writer, which commits writes that wait at the same moment
// together, because the sync to disk costs far more than the writes; see [writer]. Reads go through a few
// connections of their own and see what was committed when they began. When a write has returned, it is
// on disk: synchronous is FULL.
//
// The file belongs to one server at a time, which holds a lock of its own on the data directory. The
// command line works beside it; see [Options].
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"filmroom/sqlite/internal/lite"
)

var (
	// ErrFull: the disk is full; nothing was written. It is also a [syscall.ENOSPC], so that callers who
	// do not know this package can tell.
	ErrFull = fmt.Errorf("the disk that holds the database is full: %w", syscall.ENOSPC)
	// ErrBusy: another program held the database's write lock for longer than [Options.BusyTimeout].
	ErrBusy = errors.New("another program is writing to the database")
	// ErrClosed: the database was closed.
	ErrClosed = errors.New("the database is closed")
)

// Options say how a database is used. The zero value is the server's.
type Options struct {
	// Beside opens the database for the command line beside a running server: accounts only, and no
	// change to the schema of a database that exists.
	Beside bool

	// BusyTimeout is how long to wait for another program's write; 0 means five seconds.
	BusyTimeout time.Duration

	// Readers is how many reads may run at once; 0 means two.
	Readers int

	tuning  tuning                       // for tests that make small lists large
	planned func(sql string, again bool) // for the test of query plans
}

// tuning says when a list is large.
type tuning struct {
	few   int   // so many series that match are fetched and sorted rather than looked for in the order of the list
	chunk int64 // rows of a chunk of sets, see [sets]; a file is always opened with the same
}

// A DB is an open database file.
type DB struct {
	path    string
	writer  *writer
	seal    *seal
	readers chan *lite.Conn
	opened  int // how many readers there are
	options Options
	once    sync.Once
	closed  error // what Close said
}

// Open opens the database at path, creates it if there is none, and brings its schema up to date. ctx
// bounds the opening only. Close ends it.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Readers == 0 {
		o.Readers = 2
	}
	if o.tuning == (tuning{}) {
		o.tuning = tuning{few: 2000, chunk: chunkSize}
	}
	db := &DB{path: path, readers: make(chan *lite.Conn, o.Readers), options: o}
	if err := db.open(); err != nil {
		return nil, fmt.Errorf("open the database %s: %w", path, errors.Join(explained(err), db.Close()))
	}
	return db, nil
}

func (db *DB) open() error {
	c, err := connect(db.path, db.options)
	if err != nil {
		return err
	}
	if err := migrate(c, db.options.Beside); err != nil {
		return errors.Join(err, c.Close())
	}
	if db.seal, err = newSeal(c); err != nil {
		return errors.Join(err, c.Close())
	}
	db.writer = startWriter(c, db.options.tuning.chunk)
	for range db.options.Readers {
		r, err := connect(db.path, db.options)
		if err != nil {
			return err
		}
		db.readers <- r
		db.opened++
	}
	return nil
}

// settings hold for every connection. WAL lets reads go on beside the writer. A checkpoint copies pages
// back and syncs twice, so it waits for 16 MB of them; journal_size_limit gives the room back after a burst.
const settings = `
	PRAGMA journal_mode = WAL;
	PRAGMA synchronous = FULL;
	PRAGMA wal_autocheckpoint = 4000;
	PRAGMA journal_size_limit = 67108864;
	PRAGMA cache_size = -16384;
	PRAGMA temp_store = MEMORY;
	PRAGMA trusted_schema = OFF;
	PRAGMA cell_size_check = ON;`

func connect(path string, o Options) (*lite.Conn, error) {
	c, err := lite.Open(path, o.BusyTimeout, o.planned)
	if err != nil {
		return nil, err
	}
	if err := c.Exec(settings); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close waits for reads and writes that have begun and closes the file. It may be called twice.
func (db *DB) Close() error {
	db.once.Do(func() {
		var errs []error
		if db.writer != nil {
			errs = append(errs, db.writer.close())
		}
		for range db.opened {
			errs = append(errs, (<-db.readers).Close())
		}
		db.closed = errors.Join(errs...)
	})
	return db.closed
}

// read runs a function on a reading connection, in one transaction, so that all its statements see the
// same moment.
func (db *DB) read(ctx context.Context, run func(c *lite.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var c *lite.Conn
	select {
	case c = <-db.readers:
	case <-ctx.Done():
		return ctx.Err()
	case <-db.writer.ended:
		return ErrClosed
	}
	defer func() { db.readers <- c }()
	if err := c.Do("BEGIN"); err != nil {
		return explained(err)
	}
	if err := run(c); err != nil {
		return explained(errors.Join(err, c.Do("ROLLBACK")))
	}
	return explained(c.Do("COMMIT"))
}

// write runs a function in the writer's transaction; when it returns nil, what it did is on disk.
func (db *DB) write(ctx context.Context, run func(*tx) error) error {
	return explained(db.writer.do(ctx, run, false))
}

// writeLate is write for what should see the writes that wait beside it.
func (db *DB) writeLate(ctx context.Context, run func(*tx) error) error {
	return explained(db.writer.do(ctx, run, true))
}

// explained adds to SQLite's error what callers act on, told by its code.
func explained(err error) error {
	switch lite.Code(err) {
	case lite.Full:
		return fmt.Errorf("%w (%w)", ErrFull, err)
	case lite.Busy:
		return fmt.Errorf("%w (%w)", ErrBusy, err)
	}
	return err
}
