// Package lite is as much of SQLite's C interface as the stores need, over modernc.org/sqlite/lib. It
// stands in for database/sql, whose pool, reflection and per-value allocations cost several times what
// SQLite itself does for a write of one row.
package lite

import (
	"fmt"
	"time"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A Conn is one connection. It belongs to one goroutine at a time.
type Conn struct {
	tls      *libc.TLS
	db       uintptr
	out      uintptr // two words of C memory for results by pointer
	stmts    map[string]*Stmt
	prepared func(sql string)
}

// Open opens or creates the database file and waits up to busy for locks of other connections. prepared,
// when not nil, is told of each statement once; a test that reads query plans listens there.
func Open(path string, busy time.Duration, prepared func(sql string)) (*Conn, error) {
	c := &Conn{tls: libc.NewTLS(), stmts: map[string]*Stmt{}, prepared: prepared}
	c.out = libc.Xmalloc(c.tls, 16)
	name, err := libc.CString(path)
	if err != nil || c.out == 0 {
		return nil, fmt.Errorf("sqlite: no memory to open the database")
	}
	defer libc.Xfree(c.tls, name)
	const flags = sqlite3.SQLITE_OPEN_READWRITE | sqlite3.SQLITE_OPEN_CREATE | sqlite3.SQLITE_OPEN_NOMUTEX
	rc := sqlite3.Xsqlite3_open_v2(c.tls, name, c.out, flags, 0)
	c.db = *(*uintptr)(pointer(c.out))
	if rc != sqlite3.SQLITE_OK {
		err := c.error(rc)
		_ = c.Close()
		return nil, err
	}
	sqlite3.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	sqlite3.Xsqlite3_busy_timeout(c.tls, c.db, int32(busy.Milliseconds()))
	return c, nil
}

// Close ends the connection; an open transaction is rolled back.
func (c *Conn) Close() error {
	for _, s := range c.stmts {
		s.finalize()
	}
	rc := sqlite3.Xsqlite3_close_v2(c.tls, c.db)
	libc.Xfree(c.tls, c.out)
	c.tls.Close()
	if rc != sqlite3.SQLITE_OK {
		return &Error{Code: int(rc), Text: "close"}
	}
	return nil
}

// Exec runs a script of statements without arguments. It is for schemas and settings; what runs often
// goes through [Conn.Stmt].
func (c *Conn) Exec(script string) error {
	text, err := libc.CString(script)
	if err != nil {
		return fmt.Errorf("sqlite: no memory for a script")
	}
	defer libc.Xfree(c.tls, text)
	if rc := sqlite3.Xsqlite3_exec(c.tls, c.db, text, 0, 0, 0); rc != sqlite3.SQLITE_OK {
		return c.error(rc)
	}
	return nil
}

// Changed counts the rows that this connection has ever inserted, updated or deleted.
func (c *Conn) Changed() int64 { return sqlite3.Xsqlite3_total_changes64(c.tls, c.db) }

// LastRow is the row number of the last insert.
func (c *Conn) LastRow() int64 { return sqlite3.Xsqlite3_last_insert_rowid(c.tls, c.db) }

// InTransaction reports whether a transaction is open; some errors end one by themselves.
func (c *Conn) InTransaction() bool { return sqlite3.Xsqlite3_get_autocommit(c.tls, c.db) == 0 }

// Do runs a statement that needs no arguments and returns no rows.
func (c *Conn) Do(sql string) error { return c.Stmt(sql).Run() }

func (c *Conn) error(rc int32) error {
	text := "out of memory"
	if c.db != 0 {
		text = libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db))
	}
	return &Error{Code: int(rc), Text: text}
}

// pointer turns an address in C memory, which Go's collector neither moves nor frees, into a pointer.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }
