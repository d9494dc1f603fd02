package lite

import (
	"encoding/json"
	"fmt"
	"time"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A Stmt is one prepared statement in use: arguments are bound and columns read one after another, in
// their order in the SQL. The first error sticks and comes out of [Stmt.Err] or [Stmt.Run]:
//
//	s := c.Stmt(`SELECT name FROM users WHERE userId = ?`).Text(id)
//	for s.Next() {
//		name = s.ReadText()
//	}
//	return s.Err()
type Stmt struct {
	c      *Conn
	p      uintptr
	params int32
	arg    int32 // the last argument bound
	col    int32 // the next column to read
	active bool  // between the first Next and the end
	err    error

	memory uintptr // holds bound bytes until the statement is used again
	size   int
	used   int
	extra  []uintptr // for what did not fit
}

// Stmt returns the statement, prepared once per connection and ready for its arguments. A statement
// that is still being read must not be asked for again.
func (c *Conn) Stmt(sql string) *Stmt {
	s := c.stmts[sql]
	if s == nil {
		s = c.prepare(sql)
		c.stmts[sql] = s
	}
	if s.active {
		panic("sqlite: a statement is used inside its own rows: " + sql)
	}
	s.arg, s.col, s.used = 0, 0, 0
	if s.p != 0 {
		s.err = nil
	}
	return s
}

func (c *Conn) prepare(sql string) *Stmt {
	s := &Stmt{c: c}
	text, err := libc.CString(sql)
	if err != nil {
		s.err = fmt.Errorf("sqlite: no memory for a statement")
		return s
	}
	defer libc.Xfree(c.tls, text)
	rc := sqlite3.Xsqlite3_prepare_v3(c.tls, c.db, text, -1, sqlite3.SQLITE_PREPARE_PERSISTENT, c.out, 0)
	if rc != sqlite3.SQLITE_OK {
		s.err = c.error(rc)
		return s
	}
	s.p = *(*uintptr)(pointer(c.out))
	s.params = sqlite3.Xsqlite3_bind_parameter_count(c.tls, s.p)
	if c.prepared != nil {
		c.prepared(sql)
	}
	return s
}

func (s *Stmt) finalize() {
	sqlite3.Xsqlite3_finalize(s.c.tls, s.p)
	s.freeExtra()
	libc.Xfree(s.c.tls, s.memory)
}

// Int binds an integer.
func (s *Stmt) Int(v int64) *Stmt {
	s.arg++
	return s.bound(sqlite3.Xsqlite3_bind_int64(s.c.tls, s.p, s.arg, v))
}

// Bool binds 1 or 0.
func (s *Stmt) Bool(v bool) *Stmt {
	if v {
		return s.Int(1)
	}
	return s.Int(0)
}

// Time binds whole milliseconds since 1970, or NULL for the zero time.
func (s *Stmt) Time(v time.Time) *Stmt {
	if v.IsZero() {
		return s.Null()
	}
	return s.Int(v.UnixMilli())
}

// Null binds NULL.
func (s *Stmt) Null() *Stmt {
	s.arg++
	return s.bound(sqlite3.Xsqlite3_bind_null(s.c.tls, s.p, s.arg))
}

// Text binds a string.
func (s *Stmt) Text(v string) *Stmt {
	s.arg++
	p := s.keep(unsafe.StringData(v), len(v))
	return s.bound(sqlite3.Xsqlite3_bind_text(s.c.tls, s.p, s.arg, p, int32(len(v)), 0))
}

// JSON binds bytes of UTF-8 as text, or NULL for nil.
func (s *Stmt) JSON(v []byte) *Stmt {
	if v == nil {
		return s.Null()
	}
	s.arg++
	p := s.keep(unsafe.SliceData(v), len(v))
	return s.bound(sqlite3.Xsqlite3_bind_text(s.c.tls, s.p, s.arg, p, int32(len(v)), 0))
}

// Blob binds bytes, or NULL for nil.
func (s *Stmt) Blob(v []byte) *Stmt {
	if v == nil {
		return s.Null()
	}
	s.arg++
	p := s.keep(unsafe.SliceData(v), len(v))
	return s.bound(sqlite3.Xsqlite3_bind_blob(s.c.tls, s.p, s.arg, p, int32(len(v)), 0))
}

// Encode binds v as JSON text.
func (s *Stmt) Encode(v any) *Stmt {
	text, err := json.Marshal(v)
	if err != nil && s.err == nil {
		s.err = err
	}
	return s.JSON(text)
}

func (s *Stmt) bound(rc int32) *Stmt {
	if rc != sqlite3.SQLITE_OK && s.err == nil {
		s.err = s.c.error(rc)
	}
	return s
}

// keep copies bytes into C memory: SQLite reads them while the statement runs, and Go may move or free
// its own copy meanwhile. The memory is used again at the statement's next use.
func (s *Stmt) keep(from *byte, n int) uintptr {
	if s.used+n+1 > s.size {
		s.grow(n)
	}
	p := s.memory + uintptr(s.used)
	copy(unsafe.Slice((*byte)(pointer(p)), n), unsafe.Slice(from, n))
	s.used += n + 1 // an empty value needs an address too
	return p
}

func (s *Stmt) grow(n int) {
	if s.memory != 0 {
		s.extra = append(s.extra, s.memory)
	}
	s.size = max(2*s.size, n+1, 256)
	s.memory = libc.Xmalloc(s.c.tls, libcSize(s.size))
	if s.memory == 0 {
		panic("sqlite: out of memory")
	}
	s.used = 0
}

func (s *Stmt) freeExtra() {
	for _, p := range s.extra {
		libc.Xfree(s.c.tls, p)
	}
	s.extra = s.extra[:0]
}

// Next moves to the next row; false at the end and on an error.
func (s *Stmt) Next() bool {
	if s.err != nil {
		s.Done()
		return false
	}
	if !s.active && s.arg != s.params {
		panic(fmt.Sprintf("sqlite: %d arguments for %d parameters", s.arg, s.params))
	}
	s.active, s.col = true, 0
	switch rc := sqlite3.Xsqlite3_step(s.c.tls, s.p); rc {
	case sqlite3.SQLITE_ROW:
		return true
	case sqlite3.SQLITE_DONE:
	default:
		s.err = s.c.error(rc)
	}
	s.Done()
	return false
}

// Done leaves the rows that have not been read.
func (s *Stmt) Done() {
	if s.active {
		sqlite3.Xsqlite3_reset(s.c.tls, s.p)
		s.active = false
	}
	s.freeExtra()
	if s.size > 1<<20 { // one large value must not stay for good
		libc.Xfree(s.c.tls, s.memory)
		s.memory, s.size = 0, 0
	}
}

// Err ends the statement's use and returns what went wrong.
func (s *Stmt) Err() error {
	s.Done()
	return s.err
}

// Run runs the statement to its end.
func (s *Stmt) Run() error {
	for s.Next() {
	}
	return s.err
}

// Changes runs the statement and returns how many rows it changed.
func (s *Stmt) Changes() (int, error) {
	if err := s.Run(); err != nil {
		return 0, err
	}
	return int(sqlite3.Xsqlite3_changes64(s.c.tls, s.c.db)), nil
}
