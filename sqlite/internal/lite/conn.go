// Package lite lets the stores say a statement in one line: arguments are bound and columns read one after
// another, and the first error sticks. SQLite itself is zombiezen.com/go/sqlite, which stands in for
// database/sql, whose pool, reflection and per-value allocations cost several times what SQLite
// does for a write of one row.
package lite

import (
	"errors"
	"strings"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
)

// A Conn is one connection. It belongs to one goroutine at a time.
type Conn struct {
	db      *sqlite.Conn
	stmts   map[string]*Stmt
	planned func(sql string, again bool)
	plans   int // parts of plans so far, counted when there is somebody to tell
}

// opening orders opening and closing. The library forgets what belongs to a connection after it has closed it, by
// its address, which a connection that is opened meanwhile may have been given.
var opening sync.Mutex

// Open opens or creates the database file and waits up to busy for locks of other connections. planned,
// when not nil, is told of each statement when SQLite plans it: once, and again when it does so again. A test of
// query plans listens there.
func Open(path string, busy time.Duration, planned func(sql string, again bool)) (*Conn, error) {
	opening.Lock()
	defer opening.Unlock()
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	db.SetBusyTimeout(busy)
	c := &Conn{db: db, stmts: map[string]*Stmt{}, planned: planned}
	if planned == nil {
		return c, nil
	}
	return c, db.SetAuthorizer(sqlite.AuthorizeFunc(func(sqlite.Action) sqlite.AuthResult {
		c.plans++
		return sqlite.AuthResultOK
	}))
}

// Close ends the connection; an open transaction is rolled back.
func (c *Conn) Close() error {
	opening.Lock()
	defer opening.Unlock()
	return c.db.Close()
}

// Interrupt ends what runs on the connection, now or later, with an error once done is closed.
func (c *Conn) Interrupt(done <-chan struct{}) { c.db.SetInterrupt(done) }

// Exec runs a script of statements without arguments. It is for schemas and settings; what runs often
// goes through [Conn.Stmt].
func (c *Conn) Exec(script string) error {
	for script = strings.TrimSpace(script); script != ""; {
		s, trailing, err := c.db.PrepareTransient(script)
		if err != nil {
			return err
		}
		script = strings.TrimSpace(script[len(script)-trailing:])
		if err := errors.Join(drain(s), s.Finalize()); err != nil {
			return err
		}
	}
	return nil
}

func drain(s *sqlite.Stmt) error {
	for {
		if row, err := s.Step(); !row {
			return err
		}
	}
}

// Changed counts the rows that this connection has ever inserted, updated or deleted.
func (c *Conn) Changed() int64 {
	s := c.Stmt("SELECT total_changes()")
	defer s.Done()
	if !s.Next() {
		return -1
	}
	return s.ReadInt()
}

// LastRow is the row number of the last insert.
func (c *Conn) LastRow() int64 { return c.db.LastInsertRowID() }

// InTransaction reports whether a transaction is open; some errors end one by themselves.
func (c *Conn) InTransaction() bool { return !c.db.AutocommitEnabled() }

// Do runs a statement that needs no arguments and returns no rows.
func (c *Conn) Do(sql string) error { return c.Stmt(sql).Run() }
